"""Several processes of an app that share a storage directory, against a real server. Tests/LibraryTests/RemoteSettings has the
same test with an in-memory server."""
import subprocess

import rsdump

PROGRAM = rsdump.REPOSITORY / ".build/debug/test-process"
ROUNDS = 15


def test_two_processes_sync_while_the_server_changes(sample, tmp_path):
    name = "main/shared-storage"
    sample.put_collection(name)
    sample.put_record(name, {"id": "r0"})
    storage = tmp_path / "storage"
    processes = [
        subprocess.Popen(
            [PROGRAM, "storage", storage, sample.url, sample.root, "shared-storage", str(ROUNDS)], stdout=subprocess.PIPE,
            text=True, env=rsdump.environment())
        for _ in range(2)
    ]
    number = 0
    while any(process.poll() is None for process in processes):
        number += 1
        sample.put_record(name, {"id": f"r{number}", "number": number})
        if number % 5 == 0:
            sample.delete_record(name, f"r{number - 2}")
    for process in processes:
        printed = process.communicate()[0]
        assert process.returncode == 0, printed
        lines = [line.split() for line in printed.splitlines()]
        assert len(lines) == ROUNDS, printed
        timestamps = [int(timestamp) for timestamp, _ in lines]
        assert timestamps == sorted(timestamps)
    # After the last change, one more sync gets the server's state.
    last = subprocess.run(
        [PROGRAM, "storage", storage, sample.url, sample.root, "shared-storage", "1"], capture_output=True, text=True,
        env=rsdump.environment())
    changeset = sample.changeset(name)
    assert last.stdout.split() == [str(changeset["timestamp"]), str(len(changeset["changes"]))], last.stdout
    assert len(list((storage / "states").iterdir())) == 1
