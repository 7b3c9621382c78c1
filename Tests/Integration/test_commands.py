"""Commands that use a server. Commands without one are in commands/show.txt, usage.txt and others."""
import re


import rsdump
from test_changes import SETTINGS


def test_add_refuses_another_server(dumps, sample):
    before = dumps.config.read_text()
    outcome = rsdump.run("add", "main/x", "--dumps", dumps.path, "--server", "https://other.example.org/v2")
    assert outcome.code == rsdump.USAGE and outcome.says("--dumps", "5 collections", sample.url), str(outcome)
    assert dumps.config.read_text() == before
    # Its own server is accepted, with either version of the protocol.
    assert dumps.add(sample, "main/x").code == rsdump.DONE


def test_the_summary_is_markdown(dumps, sample, tmp_path):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    summary = tmp_path / "summary.md"
    assert dumps.refresh("--summary", summary).code == rsdump.DONE
    assert SETTINGS in summary.read_text()
    # The summary fits into a pull request's body, even with many failures.
    assert dumps.add(sample, *(f"main/absent-{number}" for number in range(700))).code == rsdump.DONE
    assert dumps.refresh("--summary", summary).code == rsdump.SOME_FAILED
    assert len(summary.read_bytes()) <= 50_000 and re.search(r"^… and \d+ more lines$", summary.read_text(), re.MULTILINE)


# add and remove


def test_add_and_remove_keep_comments(dumps, sample):
    text = dumps.config.read_text()
    dumps.config.write_text("# why this file is here\n" + text + "# the end\n")
    sample.put_collection("main/another")
    added = dumps.add(sample, "main/another")
    assert added.code == rsdump.DONE, str(added)
    text = dumps.config.read_text()
    assert text.startswith("# why this file is here\n") and "# the end" in text and "main/another" in text
    assert dumps.refresh().code == rsdump.DONE
    removed = dumps.remove("main/another")
    assert removed.code == rsdump.DONE, str(removed)
    text = dumps.config.read_text()
    assert text.startswith("# why this file is here\n") and "# the end" in text and "main/another" not in text


# status and verify


def test_status_predicts_refresh(dumps, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    before = dumps.stats()
    outcome = dumps.status()
    assert outcome.says(SETTINGS, "would be updated", "nothing to do"), str(outcome)
    outcome = dumps.status("--format", "json")
    assert str(sample.changeset(SETTINGS)["timestamp"]) in outcome.out, str(outcome)
    assert dumps.stats() == before


def test_max_age_ignores_unchanged_collections(dumps, sample):
    """A release gate: with the server's answer, a collection unchanged for half a year passes if it is up to date."""
    lock = dumps.path / "dumps.lock.json"
    lock.write_text(re.sub(r'"verifiedAt": "20\d\d', '"verifiedAt": "2020', lock.read_text()))
    for arguments in (("status",), ("status", "--max-age", "90d"), ("status", "--offline"), ("refresh", "--locked")):
        outcome = rsdump.run(*arguments, "--dumps", dumps.path)
        assert outcome.code == rsdump.DONE and "error" not in outcome.out, str(outcome)
    # Without the server, the age since the last change counts, and the error says so.
    bound = dumps.status("--offline", "--max-age", "90d")
    assert bound.code == rsdump.SOME_FAILED and bound.says("older than --max-age; only the server knows"), str(bound)
    # A change missed for that long is reported.
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    missed = dumps.status("--max-age", "90d")
    assert missed.code == rsdump.SOME_FAILED and missed.says("too old"), str(missed)
    assert len([line for line in missed.out.splitlines() if "error" in line]) == 1, str(missed)
    assert dumps.refresh("--locked").code == rsdump.WOULD_CHANGE
