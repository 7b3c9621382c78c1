"""Data that is correctly signed and makes no sense. That guards stop it, and --accept takes it once, is in CollectionRefreshTests;
what a publisher sees of that is in commands/guards.txt."""
import json

import pytest

import rsdump
from git import GitTree
from test_changes import MARKETS, SETTINGS
from test_pins import history  # noqa: F401 (a fixture)


def configure(dumps, text):
    dumps.config.write_text(dumps.config.read_text() + text)


def test_verify_looks_at_the_state_before_in_git(history):
    assert history.verify("--guards").code == rsdump.DONE
    configure(history, "guards: {max-changed: 0, max-removed: 0}\n")
    outcome = history.verify("--guards", "--format", "json")
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    found = {each["collection"]: each["violations"] for each in outcome.json()["guards"]}
    assert found[SETTINGS][0]["ids"] == ["telemetry"] and found[MARKETS][0]["ids"] == ["nowhere"]
    assert history.verify().code == rsdump.DONE


@pytest.fixture
def bad(team):
    """A team that has published, committed and published a value that nobody wanted."""
    team.tree = GitTree(team.path)
    (team.path / ".gitignore").write_text("keys/\n")
    team.tree.commit("good")
    team.good = team.timestamps["main/one"]
    team.values["one"] = 0
    team.publish()
    team.tree.commit("bad")
    return team


def test_a_rollback_takes_only_what_is_vouched_for(bad):
    bad.tree.git("checkout", "--quiet", "HEAD~1")
    bad.dumps.edit_bundle("main/one", "records.json", b'"value":1', b'"value":7')
    bad.tree.git("checkout", "--quiet", "-b", "forged")
    bad.tree.commit("forged")
    (bad.path / "keep").write_text("")
    bad.values["one"] = 2
    bad.dumps.bundle_path("main/one").unlink()
    lock = bad.dumps.lock
    bad.tree.git("checkout", "main", "--", "dumps")
    bad.tree.commit("bad again")
    outcome = rsdump.run(*bad.arguments("main/one", "--rollback", "--to", str(bad.good)))
    assert outcome.code == rsdump.VERIFICATION and outcome.says("does not verify against a root"), str(outcome)
    assert json.dumps(lock) != json.dumps(bad.dumps.lock)
