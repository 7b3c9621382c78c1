"""The history of a collection, of a record and of a field, from the commits of a dumps directory or from copies."""
import rsdump
from test_changes import REGIONS, SETTINGS
from test_pins import history, pinned, refreshed, timestamp  # noqa: F401 (history is a fixture)


def log(dumps, *arguments):
    return rsdump.run("log", *arguments, "--dumps", dumps.path)


def entries(dumps, *arguments):
    outcome = log(dumps, *arguments, "--format", "json")
    assert outcome.code == rsdump.DONE, str(outcome)
    return outcome.json()


def test_each_change_names_its_commit_and_its_records(history):
    second, first = entries(history, SETTINGS)
    commits = history.tree.git("log", "--format=%H").split()
    assert [second["commit"], first["commit"]] == commits
    assert [second["timestamp"], first["timestamp"]] == [timestamp(history, SETTINGS), timestamp(history.first, SETTINGS)]
    [record] = second["records"]
    assert (record["id"], record["change"]) == ("telemetry", "updated")
    assert {"path": ["value"], "old": False, "new": True} in record["fields"]
    assert all(record["change"] == "created" for record in first["records"])
    text = log(history, REGIONS).out
    lines = text.splitlines()
    assert lines[0].startswith(commits[0][:12]) and "1 record deleted" in lines[0] and lines[1] == "  - nowhere", text
    markdown = log(history, REGIONS, "--format", "markdown").out
    assert f"- `{commits[0][:12]}`" in markdown and "  - deleted `nowhere`" in markdown, markdown


def test_tags_say_which_releases_have_which_version_of_a_record(history, sample):
    tree = history.tree
    tree.git("tag", "v1", "HEAD~1")
    # Another record changes: this release still has the second version.
    sample.put_record(SETTINGS, {"id": "another", "value": 1})
    refreshed(history)
    tree.commit("third")
    tree.git("tag", "-a", "v2", "-m", "annotated")
    sample.delete_record(SETTINGS, "telemetry")
    refreshed(history)
    tree.commit("fourth")
    tree.git("tag", "v3")
    found = entries(history, SETTINGS, "--id", "telemetry", "--tags")
    assert [(entry["records"][0]["change"], entry["tags"]) for entry in found] == [
        ("deleted", ["v3"]), ("updated", ["v2"]), ("created", ["v1"])]
    assert "(v2)" in log(history, SETTINGS, "--id", "telemetry", "--tags").out
    deleted = log(history, SETTINGS, "--id", "telemetry", "--blame")
    assert deleted.code == rsdump.SOME_FAILED and deleted.says("there is no change in"), str(deleted)


def test_a_record_is_found_in_the_tags_without_its_collection(history, sample):
    tree = history.tree
    tree.git("tag", "v1", "HEAD~1")
    tree.git("tag", "v1.1", "HEAD~1")
    tree.git("tag", "-a", "v2", "-m", "annotated")
    tree.git("checkout", "-q", "--orphan", "empty")
    tree.git("rm", "-rfq", ".")
    tree.git("commit", "-q", "--allow-empty", "-m", "without dumps")
    tree.git("tag", "v0")
    tree.git("checkout", "-q", "-f", "v2")
    found = rsdump.run("log", "--id", "telemetry", "--format", "json", "--dumps", history.path).json()
    assert [(each["collection"], each["tags"], each["record"]["value"]) for each in found] == [
        (SETTINGS, ["v1", "v1.1"], False), (SETTINGS, ["v2"], True)]
    lines = rsdump.run("log", "--id", "nowhere", "--dumps", history.path).out.splitlines()
    assert len(lines) == 1 and lines[0].startswith(f'{REGIONS}  (v1, v1.1)  {{'), lines
    nobody = rsdump.run("log", "--id", "nobody", "--dumps", history.path)
    assert nobody.code == rsdump.SOME_FAILED and nobody.says("no tag has a record nobody"), str(nobody)
    for arguments in ([], ["--id", "de", "--blame"], ["--id", "de", "--from", "."], ["--id", "de", "--format", "markdown"]):
        assert rsdump.run("log", *arguments, "--dumps", history.path).code == rsdump.USAGE


def test_blame_names_the_last_change_of_each_field(history, sample):
    sample.patch_record(SETTINGS, "telemetry", {"note": "new"})
    refreshed(history)
    history.tree.commit("third")
    commits = [commit[:12] for commit in history.tree.git("log", "--format=%H").split()]
    lines = log(history, SETTINGS, "--id", "telemetry", "--blame").out.splitlines()
    blamed = {line.split("  ")[2].split(":")[0]: line.split("  ")[0] for line in lines}
    assert (blamed["note"], blamed["value"], blamed["id"]) == tuple(commits), lines
    assert blamed["last_modified"] == commits[0]
    assert "  value: true" in "\n".join(lines)


def test_blame_with_tags_says_which_releases_have_the_value(history, sample):
    tree = history.tree
    tree.git("tag", "v1", "HEAD~1")
    tree.git("tag", "v2")
    sample.patch_record(SETTINGS, "telemetry", {"note": "new"})
    refreshed(history)
    tree.commit("third")
    tree.git("tag", "v3")
    lines = log(history, SETTINGS, "--id", "telemetry", "--blame", "--tags").out.splitlines()
    tagged = {line.split("  ")[2].split(":")[0]: line.split("  ")[3] for line in lines}
    assert (tagged["note"], tagged["value"], tagged["id"]) == ("(v3)", "(v2, v3)", "(v1, v2, v3)"), lines


def test_a_state_that_comes_back_is_a_change(history):
    pinned(history, SETTINGS, "--at", timestamp(history.first, SETTINGS))
    history.tree.commit("back")
    values = [
        [field["new"] for field in entry["records"][0]["fields"] if field["path"] == ["value"]]
        for entry in entries(history, SETTINGS, "--id", "telemetry", "--field", "value")[:2]]
    assert values == [[False], [True]]


def test_copies_have_a_history_without_git(history):
    found = entries(history, SETTINGS, "--from", history.path, "--from", history.first.path)
    assert [len(entry["records"]) for entry in found][0] == 1 and len(found) == 2
    assert "commit" not in found[0] and found[0]["file"].endswith("settings.zip")


def test_what_is_not_there_is_said(history, tmp_path_factory):
    nothing = log(history, SETTINGS, "--id", "nobody")
    assert nothing.code == rsdump.SOME_FAILED and nothing.says("there is no change in", "record nobody"), str(nothing)
    assert log(history, SETTINGS, "--id", "nobody", "--format", "json").out == "[]\n"
    assert log(history, SETTINGS, "--field", "nothing").code == rsdump.SOME_FAILED
    copied = history.copy(tmp_path_factory.mktemp("outside") / "copied")
    alone = rsdump.run("log", SETTINGS, "--dumps", copied.path)
    assert alone.code == rsdump.USAGE and alone.says("git"), str(alone)
    for arguments in (["--blame"], ["--tags", "--from", "."]):
        assert log(history, SETTINGS, *arguments).code == rsdump.USAGE


def test_a_damaged_bundle_in_a_commit_is_left_out(history):
    good = history.bundle_path(SETTINGS).read_bytes()
    history.bundle_path(SETTINGS).write_bytes(b"PK damaged")
    history.tree.commit("damaged")
    history.bundle_path(SETTINGS).write_bytes(good)
    history.tree.commit("mended")
    outcome = log(history, SETTINGS, "--format", "json")
    assert outcome.code == rsdump.DONE and outcome.err.count("left out") == 1, str(outcome)
    assert [entry["records"][0]["change"] for entry in outcome.json()] == ["updated", "created"]
