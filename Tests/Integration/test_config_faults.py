"""Remote config's state file when the machine fails: an app fetches and activates while an operation on a file fails, the
process is killed there, or the machine crashes. The next start has a state that was published, whole, and the one after that
has the newest. Tests/Library/RemoteConfigurationTests kills the process at random moments."""
import json
import os
import shutil
import subprocess

import pytest

import rsdump
import toolchain
from serve import Serving
from test_real_time import APP, Origin

KINDS = ("EIO", "ENOSPC", "full", "kill", "lost", "torn", "mixed")
EVERY = int(os.environ.get("CONFIG_FAULTS_EVERY", "17"))


@pytest.fixture
def library(tmp_path):
    path = tmp_path / "faults.so"
    subprocess.run(
        [toolchain.clang(), "-std=gnu17", "-shared", "-fPIC", "-o", path, rsdump.REPOSITORY / "Tests/Faults/faults.c",
         "-ldl", "-lpthread"], check=True)
    return path


@pytest.mark.parametrize("safe_start", [False, True])
def test_the_next_start_has_a_published_state_and_the_one_after_it_the_newest(tmp_path, library, safe_start):
    origin = Origin(tmp_path / "origin")
    before, storage, stash, log = (tmp_path / name for name in ("before", "storage", "stash", "log"))

    def app(server, storage, rounds, kind=None, at=None):
        shutil.rmtree(stash, ignore_errors=True)
        stash.mkdir()
        faults = {
            "LD_PRELOAD": library, "FAULTS_BELOW": storage, "FAULTS_PROGRAM": APP.name, "FAULTS_LOG": log,
            "FAULTS_STASH": stash, "FAULTS_AT": at, **({"FAULTS_KIND": kind} if kind else {})}
        variables = ({"SAFE_START": "1"} if safe_start else {}) | ({} if at is None else faults)
        return subprocess.run(
            [APP, storage, f"{server.url}/v1", origin.root, "app-config", str(rounds)], capture_output=True, text=True,
            timeout=60,
            env=rsdump.environment({name: str(value) for name, value in variables.items()})).stdout

    with Serving("--dumps", origin.dumps) as server:
        # The second start gets well with it.
        for _ in range(2):
            assert app(server, before, 1) == "first 1\n"
    origin.publish("second")
    hits = 0
    # A state is of its server, whose name includes the port.
    with Serving("--dumps", origin.dumps, "--port", server.port) as server:
        shutil.copytree(before, storage)
        assert app(server, storage, 1, at=0) == "second 1\n"
        operations = log.read_text().splitlines()
        assert len(operations) > 30 and sum(".config" in line for line in operations) > 5, operations
        for number, kind in enumerate(KINDS):
            for at in range(1 + number * EVERY // len(KINDS), len(operations) + 1, EVERY):
                what = f"{kind} at {operations[at - 1]}"
                shutil.rmtree(storage)
                shutil.copytree(before, storage)
                log.unlink()
                app(server, storage, 1, kind, at)
                hits += any(line.startswith("!") for line in log.read_text().splitlines())
                # A start reads what is active; then a second app repairs what has to be.
                assert app(server, storage, 0) in ("first 1\n", "second 1\n"), what
                head = json.loads((storage / "main/app-config.config").read_bytes().split(b"\n")[0])
                assert head["signals"] == {"round": 0}, what
                assert app(server, storage, 1) == "second 1\n", what
                assert app(server, storage, 0) == "second 1\n", what
                left = {path.name for path in (storage / "main").iterdir()}
                kept = {"app-config.config.previous", "app-config.config.trial", "app-config.previous"} if safe_start else set()
                assert left == {"app-config.config", "app-config.snapshot"} | kept, what
                if not safe_start:
                    continue
                # What the app started well with is never lost: the newest state, or the one before it.
                trial = json.loads((storage / "main/app-config.config.trial").read_bytes())
                previous = json.loads((storage / "main/app-config.config.previous").read_bytes().split(b"\n")[0])
                assert trial["failedStarts"] <= 1 and not trial["setAside"], what
                # A crash of the machine may lose what was counted, and so which state is good, but not the state.
                assert kind in ("lost", "torn", "mixed") or previous["timestamp"] in [state["timestamp"] for state in trial["good"]], what
    assert hits >= len(KINDS), hits
