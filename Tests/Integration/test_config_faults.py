"""Remote config's index under machine faults: while an app fetches and activates, a file operation fails, the process is killed,
or the machine crashes. The next start must have a complete published state, and the start after that the newest one.
Tests/LibraryTests/RemoteConfiguration kills the process at random moments."""
import itertools
import json
import os
import shutil
import subprocess

import pytest

import rsdump
import toolchain
from serve import Serving
from test_real_time import APP, made_origin

KINDS = ("EIO", "ENOSPC", "full", "kill", "lost", "torn", "mixed")
STORAGE = rsdump.BINARY.with_name("test-process")
# scripts/test sets 17 in its stage for faults.
EVERY = int(os.environ.get("CONFIG_FAULTS_EVERY", "151"))
STEP = max(EVERY // 17, 1)


def kept(storage):
    """The index entry of the collection."""
    index = json.loads((storage / "index.json").read_bytes())
    entry = next((entry for name, entry in index["collections"].items() if name.startswith("main/app-config@")), {})
    return {"config": index.get("configs", {}).get("main/app-config"), **entry}


@pytest.fixture
def library(tmp_path):
    return toolchain.preloadable("Faults/faults.c", tmp_path)


@pytest.mark.parametrize("safe_start", [False, True])
def test_the_next_start_has_a_published_state_and_the_one_after_it_the_newest(tmp_path, library, safe_start):
    origin = made_origin(tmp_path / "origin")
    before, storage, stash, log = (tmp_path / name for name in ("before", "storage", "stash", "log"))

    def app(server, storage, rounds, kind=None, at=None):
        shutil.rmtree(stash, ignore_errors=True)
        stash.mkdir()
        faults = {
            "LD_PRELOAD": library, "FAULTS_BELOW": storage, "FAULTS_PROGRAM": APP.name, "FAULTS_LOG": log,
            "FAULTS_STASH": stash, "FAULTS_AT": at, **({"FAULTS_KIND": kind} if kind else {})}
        variables = ({"SAFE_START": "1"} if safe_start else {}) | ({} if at is None else faults)
        return subprocess.run(
            [APP, "config", storage, f"{server.url}/v1", origin.root, "app-config", str(rounds)], capture_output=True, text=True,
            timeout=60,
            env=rsdump.environment({name: str(value) for name, value in variables.items()})).stdout

    with Serving("--dumps", origin.dumps) as server:
        # With the second start, this state counts as good.
        for _ in range(2):
            assert app(server, before, 1) == "first 1\n"
    origin.publish("second")
    hits = 0
    # A state belongs to a server, identified by its URL including the port.
    with Serving("--dumps", origin.dumps, "--port", server.port) as server:
        shutil.copytree(before, storage)
        assert app(server, storage, 1, at=0) == "second 1\n"
        operations = log.read_text().splitlines()
        assert len(operations) > 30 and sum("index.json" in line for line in operations) > 5, operations
        for number, kind in enumerate(KINDS):
            for at in range(1 + number * EVERY // len(KINDS), len(operations) + 1, EVERY):
                what = f"{kind} at {operations[at - 1]}"
                shutil.rmtree(storage)
                shutil.copytree(before, storage)
                log.unlink()
                app(server, storage, 1, kind, at)
                hits += any(line.startswith("!") for line in log.read_text().splitlines())
                # The first app only reads the active state; the second one repairs what is necessary.
                assert app(server, storage, 0) in ("first 1\n", "second 1\n"), what
                assert kept(storage)["config"]["signals"] == {"round": 0}, what
                assert app(server, storage, 1) == "second 1\n", what
                assert app(server, storage, 0) == "second 1\n", what
                states = {state["file"] for slot in ("synced", "activated") for state in
                          (kept(storage)[slot].get("current"), kept(storage)[slot].get("previous")) if state}
                assert {path.name for path in (storage / "states").iterdir()} == states, what
                if not safe_start:
                    continue
                # A state with which the app started successfully is never lost: it is the newest or the previous one.
                trial, previous = kept(storage)["activated"]["trial"], kept(storage)["activated"]["previous"]
                assert trial["failedStarts"] <= 1 and not trial["rejected"], what
                # A machine crash may lose the start counts, and so the mark of a good state, but not the state itself.
                assert kind in ("lost", "torn", "mixed") or previous["timestamp"] in [state["timestamp"] for state in trial["good"]], what
    assert hits >= len(KINDS), hits


def test_starts_with_a_bad_state_when_the_machine_fails(tmp_path, library):
    """The newest state crashes the app, and in one of the starts the machine also fails, at any file operation. The app must read
    that state in at most three starts, then return to the good one, and lose nothing."""
    origin = made_origin(tmp_path / "origin")
    before, storage, stash, log = (tmp_path / name for name in ("before", "storage", "stash", "log"))

    def start(rounds, storage, server="http://127.0.0.1:9", kind=None, at=None):
        shutil.rmtree(stash, ignore_errors=True)
        stash.mkdir()
        faults = {} if at is None else {
            "LD_PRELOAD": library, "FAULTS_BELOW": storage, "FAULTS_PROGRAM": STORAGE.name, "FAULTS_LOG": log,
            "FAULTS_STASH": stash, "FAULTS_AT": at, **({"FAULTS_KIND": kind} if kind else {})}
        ran = subprocess.run(
            [STORAGE, "storage", storage, f"{server}/v1", origin.root, "app-config", str(rounds)], capture_output=True, text=True,
            timeout=60, env=rsdump.environment({name: str(value) for name, value in faults.items()} | {"SAFE_START": "1"}))
        # If nothing could be read, the app got no records and did not crash.
        timestamp, records = (ran.stdout.split() + ["", "0"])[:2]
        return timestamp if records != "0" else None

    with Serving("--dumps", origin.dumps) as server:
        url, port = server.url, server.port
        good = start(1, before, url)
        assert start(1, before, url) == good
    origin.publish("second")
    with Serving("--dumps", origin.dumps, "--port", port) as server:
        # A sync with a machine fault never loses the good state.
        shutil.copytree(before, storage)
        bad = start(1, storage, url, at=0)
        assert good < bad, (good, bad)
        operations = log.read_text().splitlines()
        for at, kind in zip(range(1, len(operations) + 1), itertools.cycle(KINDS)):
            what = f"{kind} at {operations[at - 1]}"
            shutil.rmtree(storage)
            shutil.copytree(before, storage)
            log.unlink()
            start(1, storage, url, kind, at)
            states = [json.loads(path.read_bytes().split(b"\n")[0])["timestamp"]
                      for path in (storage / "states").iterdir() if not path.suffix]
            assert int(good) in states, what
        assert start(1, before, url) == bad
    shutil.rmtree(storage)
    shutil.copytree(before, storage)
    log.unlink()
    assert start(0, storage, url, at=0) == bad
    operations = log.read_text().splitlines()
    assert len(operations) > 5, operations
    for number, kind in enumerate(KINDS):
        for at in range(1 + number % STEP, len(operations) + 1, STEP):
            what = f"{kind} at {operations[at - 1]}"
            shutil.rmtree(storage)
            shutil.copytree(before, storage)
            log.unlink()
            read = [start(0, storage, url, kind, at), *(start(0, storage, url) for _ in range(4))]
            # A machine crash may lose the count of the latest start.
            assert sum(each == bad for each in read) <= (4 if kind in ("lost", "torn", "mixed") else 3), (what, read)
            assert all(each in (good, bad) for each in read[1:]) and read[-1] == good, (what, read)
    explained = rsdump.run(
        "get", "main/app-config", "--storage", storage, "--server", f"{url}/v1", "--trust-root", origin.root,
        "--explain")
    assert f"timestamp   {good}" in explained.err, explained.err
    assert "was rejected: the app failed to start with it (3 attempts)" in explained.err, explained.err
