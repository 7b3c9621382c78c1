"""A sample of the machine faults in Tests/Faults/faults: at some file operations of every command."""
import json
import os
import re
import shutil
import subprocess

import pytest

import rsdump
import toolchain
from git import GitTree
from serve import Serving

SCRIPT = rsdump.REPOSITORY / "Tests/Faults/faults"
EVERY = int(os.environ.get("FAULTS_EVERY", "1801"))


def faults(*arguments):
    return subprocess.run(
        [SCRIPT, *map(str, arguments)], capture_output=True, text=True, timeout=10 * rsdump.TIMEOUT,
        env=rsdump.environment({"RSDUMP": str(rsdump.BINARY)}))


def fault(folder, below, kind, at):
    """The environment in which one file operation fails."""
    library, stash = toolchain.preloadable("Faults/faults.c", folder), folder / "stash"
    stash.mkdir(exist_ok=True)
    return {
        "LD_PRELOAD": str(library), "FAULTS_BELOW": str(below), "FAULTS_PROGRAM": rsdump.BINARY.name,
        "FAULTS_LOG": str(folder / "log"), "FAULTS_STASH": str(stash), "FAULTS_KIND": kind, "FAULTS_AT": str(at)}


def test_disk_faults_lose_no_state():
    done = faults("--every", EVERY)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")][2:]
    assert len(rows) > 15 and all(row.endswith("| 0 |") for row in rows), done.stdout
    runs = int(re.search(r"^(\d+) runs, 0 findings", done.stdout, re.MULTILINE)[1])
    assert runs > 10_000 // EVERY, done.stdout


def test_full_disk_in_refresh_says_try_again(dumps, sample, tmp_path):
    sample.patch_record("main/settings", "telemetry", {"value": True})
    outcome = dumps.refresh("main/settings", env=fault(tmp_path, dumps.path, "full", at=1))
    assert outcome.code == rsdump.TRY_AGAIN and outcome.says("No space left"), str(outcome)
    # Also when other collections are unchanged, so nothing is written for them.
    everything = dumps.refresh(env=fault(tmp_path, dumps.path, "full", at=1))
    assert everything.code == rsdump.TRY_AGAIN and everything.says("No space left"), str(everything)


@pytest.fixture
def full_disk(tmp_path):
    return {"LD_PRELOAD": str(toolchain.preloadable("Servers/disk/full_disk.c", tmp_path)), "FULL_DISK_AFTER": "0"}


def test_full_disk_is_named_by_every_command(dumps, tmp_path, full_disk):
    tree = GitTree(dumps.path.parent)
    tree.commit("first")
    older = dumps.copy(tmp_path / "older")
    commands = {
        "embed": ("embed", "--dumps", f"git:HEAD:{dumps.path}", "--output", tmp_path / "Embedded"),
        "rebuild": ("verify", "--rebuild", "--dumps", dumps.path),
        "pin": ("pin", "main/settings", "--from", older.path, "--at", older.bundle("main/settings").timestamp,
                "--dumps", dumps.path),
        "import": ("import", "--from", "dumps", older.path, "--dumps", tmp_path / "new"),
    }
    for name, arguments in commands.items():
        # Not with `rsdump.run`, whose measurement also writes a file.
        done = subprocess.run(
            [rsdump.BINARY, *map(str, arguments)], capture_output=True, text=True, env=rsdump.environment(full_disk))
        output = done.stdout + done.stderr
        assert done.returncode == rsdump.TRY_AGAIN and "No space left" in output, f"{name}: {done.returncode} {output}"


def test_unreadable_mapped_bundle_is_reported():
    """If a mapped file cannot be read, the system sends a signal instead of failing a call."""
    done = faults("export to an archive", "--kind", "page")
    assert done.returncode == 0, done.stdout + done.stderr
    runs = int(re.search(r"^(\d+) runs, 0 findings", done.stdout, re.MULTILINE)[1])
    assert runs >= 3, done.stdout


def test_unreadable_stored_state_allows_no_rollback(team, tmp_path):
    older, storage, trial = (tmp_path / name for name in ("older", "storage", "trial"))
    shutil.copytree(team.dumps.path, older)
    team.change("one")
    team.publish()
    root = json.loads(rsdump.run("keys", "status", "--format", "json", tmp_path / "keys").out)["root"]

    def sync(server, storage, at=None):
        return rsdump.run(
            "get", "main/one", "--sync", "--storage", storage, "--server", f"{server.url}/v1", "--trust-root", root,
            env={} if at is None else fault(tmp_path, storage, "EIO", at))

    with Serving("--dumps", team.dumps.path) as server:
        assert sync(server, storage).code == rsdump.DONE
        port = server.port
    kept, = (storage / "states").iterdir()
    with Serving("--dumps", older, "--port", port) as server:
        shutil.copytree(storage, trial)
        sync(server, trial, at=0)
        looks = [line for line in (tmp_path / "log").read_text().splitlines() if line.endswith("/index.json") or "/states/" in line]
        assert len(looks) > 2
        for number in (line.split()[0] for line in looks):
            shutil.rmtree(trial)
            shutil.copytree(storage, trial)
            outcome = sync(server, trial, at=number)
            assert (trial / "states" / kept.name).read_bytes() == kept.read_bytes(), str(outcome)
