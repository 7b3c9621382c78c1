"""A sample of the faults of the machine that scripts/faults runs in full: at some operations of every command."""
import os
import re
import subprocess

import rsdump

SCRIPT = rsdump.REPOSITORY / "scripts/faults"
EVERY = int(os.environ.get("FAULTS_EVERY", "173"))


def faults(*arguments):
    return subprocess.run(
        [SCRIPT, *map(str, arguments)], capture_output=True, text=True, timeout=10 * rsdump.TIMEOUT,
        env=rsdump.environment({"RSDUMP": str(rsdump.BINARY)}))


def test_nothing_good_is_lost_and_the_next_run_mends():
    done = faults("--every", EVERY)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 15 and all(row.endswith("| 0 |") for row in rows), done.stdout
    runs = int(re.search(r"^(\d+) runs, 0 findings", done.stdout, re.MULTILINE)[1])
    assert runs > 10_000 // EVERY, done.stdout


def test_the_faults_are_those_that_are_asked_for():
    """What the library does is seen in what becomes of a command, so that its silence means something."""
    done = faults("unpin", "--kind", "EIO", "--kind", "kill")
    assert done.returncode == 0, done.stdout + done.stderr
    row = next(line for line in done.stdout.splitlines() if line.startswith("| unpin"))
    _, _, operations, runs, eio, *others, killed, _, _, _, findings, _ = (each.strip() for each in row.split("|"))
    assert int(operations) == int(eio) > int(killed) > 3, row
    assert int(runs) == int(eio) + int(killed) and set(others) == {"0"} and findings == "0", row


def test_a_bundle_whose_pages_cannot_be_read_is_named():
    """Where a mapped file cannot be read, the system sends a signal, and no call fails."""
    done = faults("export to an archive", "--kind", "page")
    assert done.returncode == 0, done.stdout + done.stderr
    runs = int(re.search(r"^(\d+) runs, 0 findings", done.stdout, re.MULTILINE)[1])
    assert runs >= 3, done.stdout
