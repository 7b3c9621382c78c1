"""`kill -9` at random moments of refreshes.

KILL_ROUNDS sets the number of rounds (10), KILL_SEED reproduces a run; failure messages contain both.
"""
import os
import random
import secrets
import subprocess
import time

import pytest

import rsdump
import samples
from dumps import Dumps
from test_budgets import budget
from test_changes import ICONS, MARKETS, SETTINGS

ROUNDS = int(os.environ.get("KILL_ROUNDS", "10"))
SEED = os.environ.get("KILL_SEED") or secrets.token_hex(4)
NEW_ICONS = 30


@pytest.fixture
def states(dumps, sample, tmp_path):
    """The directory before and after the refresh that will be killed; the server has the new data."""
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    sample.delete_record(MARKETS, "nowhere")
    sample.delete_record("main/large", sample.changeset("main/large")["changes"][0]["id"])
    for number in range(23, 23 + NEW_ICONS):
        name = f"petals-{number}"
        sample.put_attachment(ICONS, name, f"{name}.svg", samples.svg(number), "image/svg+xml")
    # Without the zip, every new attachment is a separate request, at which the run can be killed.
    sample.patch_metadata(ICONS, {"attachment": {"bundle": False}})
    after = dumps.copy(tmp_path / "after")
    outcome = after.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    nothing = Dumps(tmp_path / "nothing")
    nothing.path.mkdir()
    nothing.config.write_bytes(dumps.config.read_bytes())
    return {"before": dumps, "nothing": nothing, "after": after, "seconds": outcome.wall}


def test_killed_refresh_is_completed(states, sample, tmp_path):
    chance = random.Random(SEED)
    after = states["after"].files()
    interrupted = 0
    for number in range(ROUNDS):
        where = f"round {number} of KILL_SEED={SEED} KILL_ROUNDS={ROUNDS}"
        start = states["nothing" if chance.random() < 0.3 else "before"]
        before = start.files()
        dumps = start.copy(tmp_path / f"round-{number}")
        interrupted += kill_a_refresh(dumps, states, chance)

        found = dumps.files()
        for path, content in found.items():
            if path.endswith(".zip"):
                assert content in (before.get(path), after[path]), f"{where}: {path} is neither old nor new"
        verified = dumps.verify()
        # If the run was killed before it wrote anything, there is nothing to report.
        assert found == before or verified.code == rsdump.DONE or verified.says("interrupted"), f"{where}: {verified}"

        sample.wait_for_ended_clients()
        position = sample.log_position()
        mended = dumps.refresh()
        assert mended.code == rsdump.DONE, f"{where}: {mended}"
        assert bundles(dumps.files()) == bundles(after), where
        assert dumps.files().keys() == after.keys(), where
        check_nothing_fetched_twice(sample.requests(position), found, before, after, where)
        assert dumps.verify().code == rsdump.DONE, where
        assert leftovers(dumps) == leftovers(states["after"]), where
    assert interrupted > ROUNDS / 3, f"{interrupted} of {ROUNDS} refreshes were killed before their end, KILL_SEED={SEED}"


@pytest.mark.parametrize("fits", [True, False])
def test_killed_refresh_with_total_budget(states, sample, tmp_path, fits):
    """Over the budget nothing may change, whenever the run is killed; within it everything is refreshed."""
    rounds, chance = max(ROUNDS // 16, 4), random.Random(f"{SEED} {fits}")
    total = sum(each["bundle"]["size"] for each in states["after"].lock["collections"].values())
    after = bundles(states["after"].files())
    interrupted = 0
    for number in range(rounds):
        where = f"round {number}, fits={fits}, of KILL_SEED={SEED} KILL_ROUNDS={ROUNDS}"
        dumps = states["nothing" if chance.random() < 0.3 else "before"].copy(tmp_path / f"round-{fits}-{number}")
        budget(dumps, f"  total: {total if fits else total - 1}\n")
        before = dumps.files()
        interrupted += kill_a_refresh(dumps, states, chance)

        found = dumps.files()
        for path, content in bundles(found).items():
            assert content in (before.get(path), after[path] if fits else None), f"{where}: {path}"
        verified = dumps.verify()
        assert found == before or verified.code == rsdump.DONE or verified.says("interrupted"), f"{where}: {verified}"

        sample.wait_for_ended_clients()
        position = sample.log_position()
        if not fits:
            refused = dumps.refresh("--format", "json")
            assert refused.code == rsdump.SOME_FAILED, f"{where}: {refused}"
            assert refused.json()["overBudget"]["limit"] == total - 1, f"{where}: {refused}"
            assert dumps.files() == before, where
            budget(dumps, f"  total: {total}\n")
        mended = dumps.refresh()
        assert mended.code == rsdump.DONE, f"{where}: {mended}"
        assert bundles(dumps.files()) == after, where
        fetched = [each["path"] for each in sample.requests(position) if "/attachments/" in each["path"]]
        assert len(fetched) == len(set(fetched)), f"{where}: {fetched}"
        assert dumps.verify("--locked").code == rsdump.DONE, where
        assert leftovers(dumps) == leftovers(states["after"]), where
    assert interrupted > 0, f"none of {rounds} refreshes was killed before its end, KILL_SEED={SEED}"


def kill_a_refresh(dumps, states, chance):
    """Kills a refresh at a random moment of its usual duration. Returns whether it was still running."""
    began = time.monotonic()
    process = rsdump.start("refresh", "--dumps", dumps.path)
    try:
        process.wait(timeout=chance.uniform(0, states["seconds"] * 1.2))
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        states["seconds"] *= 1.05
        return True
    states["seconds"] = time.monotonic() - began
    return False


def bundles(files):
    return {path: content for path, content in files.items() if path.endswith(".zip")}


def leftovers(dumps):
    """Hidden files that a killed run may have left."""
    return sorted(p.relative_to(dumps.path).as_posix() for p in dumps.path.rglob(".*") if p.is_file())


def check_nothing_fetched_twice(requests, found, before, after, where):
    """Bundles that the killed run finished, and attachments in any bundle, are not fetched again."""
    paths = [each["path"] for each in requests]
    finished = [path for path in found if path.endswith(".zip") and found[path] == after[path]]
    for path in finished:
        collection = path.removesuffix(".zip").split("/")[1]
        if before.get(path) != after[path]:
            assert not any(f"/attachments/main-workspace/{collection}/" in each for each in paths), f"{where}: {path}"
    fetched = [path for path in paths if "/attachments/" in path]
    assert len(fetched) == len(set(fetched)), f"{where}: {fetched}"
    if "main/icons.zip" in found:
        assert len(fetched) <= NEW_ICONS, f"{where}: {fetched}"
