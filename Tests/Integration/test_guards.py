"""Data that is correctly signed and makes no sense: guards stop it, --accept takes it once, --rollback takes it back."""
import json

import pytest

import rsdump
from git_tree import GitTree
from test_changes import REGIONS, SETTINGS
from test_pins import history, of, refreshed, timestamp  # noqa: F401 (history is a fixture)


def configure(dumps, text):
    dumps.config.write_text(dumps.config.read_text() + text)


def ids(dumps, name):
    return [record["id"] for record in dumps.bundle(name).records]


def empty_collection(server, dumps, name):
    for identifier in ids(dumps, name):
        server.delete_record(name, identifier)


def test_a_collection_is_not_emptied_unless_somebody_says_so(dumps, sample, tmp_path):
    before, count = dumps.bundle_path(REGIONS).read_bytes(), len(ids(dumps, REGIONS))
    empty_collection(sample, dumps, REGIONS)
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    summary = tmp_path / "summary.md"
    outcome = dumps.refresh("--format", "json", "--summary", summary)
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    error = of(outcome.json(), REGIONS)["error"]
    assert error["code"] == "guard" and error["guards"] == [
        {"guard": "not-emptied", "found": f"all {count} records are gone", "limit": "expected at least 1", "records": 0,
         "ids": []}]
    assert of(outcome.json(), SETTINGS)["status"] == "updated"
    assert dumps.bundle_path(REGIONS).read_bytes() == before
    assert "### Configuration failures" in summary.read_text() and "rsdump refresh --accept main/regions" in summary.read_text()
    # Night after night, until somebody decides.
    assert dumps.refresh().code == rsdump.SOME_FAILED
    outcome = dumps.refresh("--accept", REGIONS, "--summary", summary)
    assert outcome.code == rsdump.DONE and outcome.says("accepted despite a guard: not-emptied"), str(outcome)
    assert "accepted despite a guard" in summary.read_text()
    assert ids(dumps, REGIONS) == []
    assert dumps.lock["collections"][REGIONS]["accepted"] == [
        f"not-emptied: all {count} records are gone, expected at least 1"]
    assert dumps.verify("--locked").code == rsdump.DONE


def test_every_guard_stops_what_it_is_for(dumps, sample):
    configure(dumps, """guards:
  max-removed: 0
  required-ids: [telemetry]
  schema: {properties: {value: {not: {type: array}}}}
""")
    assert dumps.refresh().code == rsdump.DONE, "the ids of other collections are not asked for: nothing changed"
    sample.patch_record(SETTINGS, "telemetry", {"value": ["a list"]})
    outcome = dumps.refresh("--format", "json")
    [found] = of(outcome.json(), SETTINGS)["error"]["guards"]
    assert (found["guard"], found["ids"]) == ("schema", ["telemetry"]), str(outcome)
    sample.delete_record(SETTINGS, "telemetry")
    outcome = dumps.refresh("--format", "json")
    found = of(outcome.json(), SETTINGS)["error"]["guards"]
    assert [(each["guard"], each["ids"]) for each in found][:2] == [
        ("max-removed", ["telemetry"]), ("required-ids", ["telemetry"])]


def test_a_guard_that_is_wrong_is_refused(dumps):
    configure(dumps, "guards: {max-removed: many}\n")
    outcome = dumps.refresh()
    assert outcome.code == rsdump.USAGE and outcome.says("dumps.yaml:", 'max-removed is "many"'), str(outcome)
    outcome = dumps.refresh("--accept", "main/unknown")
    assert outcome.code == rsdump.USAGE, str(outcome)


def test_verify_looks_at_the_state_before_in_git(history):
    assert history.verify("--guards").code == rsdump.DONE
    configure(history, "guards: {max-changed: 0, max-removed: 0}\n")
    outcome = history.verify("--guards", "--format", "json")
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    found = {each["collection"]: each["violations"] for each in outcome.json()["guards"]}
    assert found[SETTINGS][0]["ids"] == ["telemetry"] and found[REGIONS][0]["ids"] == ["nowhere"]
    assert history.verify().code == rsdump.DONE


def test_what_was_accepted_is_not_found_again(history, sample):
    configure(history, "guards: {max-changed: 0}\n")
    sample.patch_record(SETTINGS, "telemetry", {"value": False, "more": 1})
    assert history.refresh().code == rsdump.SOME_FAILED
    assert history.refresh("--accept", SETTINGS).code == rsdump.DONE
    outcome = history.verify(SETTINGS, "--guards")
    assert outcome.code == rsdump.DONE, str(outcome)
    outcome = rsdump.run("diff", "git:HEAD", history.path, "--dumps", history.path)
    assert outcome.says("accepted despite a guard: max-changed: 1 records changed"), str(outcome)
    [diff] = [
        each for each in rsdump.run(
            "diff", "git:HEAD", history.path, "--dumps", history.path, "--format", "json").json()["collections"]
        if each["collection"] == SETTINGS]
    assert diff["new"]["accepted"][0].startswith("max-changed")


@pytest.mark.parametrize("guard, remedy", [
    ("field-types: same", "schema: {properties:"), ("schema: metadata", "copy the schema")])
def test_a_guard_that_no_longer_exists_names_its_replacement(dumps, guard, remedy):
    configure(dumps, f"guards: {{{guard}}}\n")
    outcome = dumps.refresh()
    assert outcome.code == rsdump.USAGE and outcome.says("dumps.yaml:", "no longer exists", remedy), str(outcome)


def test_status_shows_them(dumps):
    head, collections = dumps.config.read_text().split("collections:")
    dumps.config.write_text(f"{head}guards: {{max-removed: 10%}}\ncollections:{collections}")
    outcome = rsdump.run("status", "--offline", "--dumps", dumps.path)
    assert outcome.says("guards: not-emptied true, max-removed 10%"), str(outcome)
    found = rsdump.run("status", "--offline", "--dumps", dumps.path, "--format", "json").json()["collections"]
    assert found[0]["guards"] == {"not-emptied": "true", "max-removed": "10%"}


def test_publish_asks_them_before_it_signs(team):
    configure(team.dumps, "guards: {schema: {properties: {value: {maximum: 100}}}}\n")
    team.values["one"] = 1000
    before = team.dumps.files()
    for options in ((), ("--dry-run",)):
        outcome = rsdump.run(*team.arguments(*options))
        assert outcome.code == rsdump.SOME_FAILED, str(outcome)
        assert outcome.says("schema", "found 1000, expected at most 100", "rsdump publish --accept main/one"), str(outcome)
    assert team.dumps.files() == before
    team.publish("--accept", "main/one")
    assert "found 1000" in team.dumps.lock["collections"]["main/one"]["accepted"][0]
    assert team.dumps.lock["collections"]["main/two"].get("accepted") is None


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


def rollback(team, *options):
    arguments = list(team.arguments("main/one", "--rollback", *options))
    return rsdump.run(*arguments)


def value(team):
    return team.dumps.bundle("main/one").records[0]["value"]


def test_a_rollback_publishes_an_earlier_state_as_a_new_one(bad):
    worst, two = bad.timestamps["main/one"], bad.timestamps["main/two"]
    outcome = rollback(bad)
    assert outcome.code == rsdump.DONE and outcome.says("rolled back to its state of"), str(outcome)
    assert value(bad) == 1 and bad.timestamps["main/one"] > worst and bad.timestamps["main/two"] == two
    assert bad.dumps.verify("--locked").code == rsdump.DONE
    # Whoever repeats it does not get the bad state back, committed or not.
    bad.tree.commit("rolled back")
    outcome = rollback(bad)
    assert outcome.code == rsdump.USAGE and outcome.says("rolled back before"), str(outcome)
    assert value(bad) == 1
    # Another state has to be named.
    assert rollback(bad, "--to", str(worst)).code == rsdump.DONE
    assert value(bad) == 0


def test_a_rollback_of_what_is_not_committed(bad):
    bad.values["one"] = -1
    bad.publish()
    assert rollback(bad, "--to", str(bad.good)).code == rsdump.DONE
    assert value(bad) == 1


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
    outcome = rollback(bad, "--to", str(bad.good))
    assert outcome.code == rsdump.VERIFICATION and outcome.says("expected a state with a signature"), str(outcome)
    assert json.dumps(lock) != json.dumps(bad.dumps.lock)


def test_a_rollback_of_nothing(team):
    GitTree(team.path).commit("first")
    outcome = rollback(team)
    assert outcome.code == rsdump.USAGE and outcome.says("there is no state before the current one", "rsdump log main/one"), str(outcome)
