"""weeks/week tells a week of nightly runs and checks it as it goes; what it leaves is looked at here once more."""
import os
import subprocess

import pytest

import rsdump
from dumps import Dumps
from git import Repository

SCRIPT = rsdump.REPOSITORY / "Tests/Integration/weeks/week"


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    folder = tmp_path_factory.mktemp("week")
    finished = subprocess.run(
        [SCRIPT, folder / "it"], capture_output=True, text=True, timeout=2 * rsdump.TIMEOUT,
        env=rsdump.environment({"RSDUMP": str(rsdump.BINARY)}))
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout, folder / "it"


def test_it_is_told(week):
    told, _ = week
    for day in ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"):
        assert f"== {day}: " in told, told
    for words in ("pinned", "asked clients to wait", "Killed (SIGKILL", "Nothing has changed.", "Seven nights, 5 commits"):
        assert words in told, told


def test_each_commit_of_the_week_verifies(week, tmp_path):
    _, folder = week
    origin = Repository(folder / "origin.git")
    nights = [each for each in origin.commits() if "rsdump nightly" in origin("log", "-1", "--format=%an", each)]
    dates = [origin("log", "-1", "--format=%cs", each) for each in nights]
    assert len(nights) == 5 and len(set(dates)) == 5
    bundles = []
    for number, commit in enumerate(nights):
        target = tmp_path / str(number)
        origin("worktree", "add", "-q", "--detach", target, commit)
        dumps = Dumps(target / "dumps")
        assert dumps.verify("--locked").code == rsdump.DONE
        bundles.append(dumps.bundle_path("main/search-hints").read_bytes())
        changed = origin.changed_files(commit)
        assert "dumps/dumps.lock.json" in changed and all(path.startswith("dumps/") for path in changed)
        # A bundle of a commit has other records than the night before, or is not in the commit.
        if number:
            before = Dumps(tmp_path / str(number - 1) / "dumps")
            for name in dumps.names:
                differs = before.bundle(name).payload != dumps.bundle(name).payload
                assert differs == (f"dumps/{name}.zip" in changed), (name, changed)
    assert len(set(bundles)) == 1, "the pinned collection moved"


def test_a_directory_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "precious").write_text("x")
    finished = subprocess.run(
        [SCRIPT, tmp_path], capture_output=True, text=True, env=rsdump.environment({"RSDUMP": str(rsdump.BINARY)}))
    assert finished.returncode == 1 and "expected an empty directory" in finished.stderr
    assert os.listdir(tmp_path) == ["precious"]
