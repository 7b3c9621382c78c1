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


def test_the_next_start_has_a_published_state_and_the_one_after_it_the_newest(tmp_path, library):
    origin = Origin(tmp_path / "origin")
    before, storage, stash, log = (tmp_path / name for name in ("before", "storage", "stash", "log"))

    def app(server, storage, rounds, kind=None, at=None):
        shutil.rmtree(stash, ignore_errors=True)
        stash.mkdir()
        faults = {
            "LD_PRELOAD": library, "FAULTS_BELOW": storage, "FAULTS_PROGRAM": APP.name, "FAULTS_LOG": log,
            "FAULTS_STASH": stash, "FAULTS_AT": at, **({"FAULTS_KIND": kind} if kind else {})}
        return subprocess.run(
            [APP, storage, f"{server.url}/v1", origin.root, "app-config", str(rounds)], capture_output=True, text=True,
            timeout=60,
            env=rsdump.environment({} if at is None else {name: str(value) for name, value in faults.items()})).stdout

    with Serving("--dumps", origin.dumps) as server:
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
                left = sorted(path.name for path in (storage / "main").iterdir())
                assert left == ["app-config.config", "app-config.snapshot"], what
    assert hits >= len(KINDS), hits
