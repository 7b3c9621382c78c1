"""The command line: help, and what commands do with a server. What needs none is in commands/show.txt, usage.txt and others."""
import fcntl
import os
import re
import shlex

import pytest

import rsdump
import samples
from test_changes import SETTINGS


def overview(*command):
    outcome = rsdump.run(*command, "--help")
    assert outcome.code == rsdump.DONE, str(outcome)
    return outcome.out.split("\nUSAGE:")[0]


def commands():
    return re.findall(r"^  ([a-z]+) +[A-Z]", rsdump.run("--help").out.split("SUBCOMMANDS:", 1)[1], re.MULTILINE)


def test_help_has_examples_that_are_right(tmp_path):
    """Each is taken by the parser, in an empty directory, where what follows has nothing to work on."""
    names = commands()
    assert len(names) >= 15
    examples = 0
    for name in names:
        text = overview(name)
        lines = re.findall(r"^  (rsdump (?:.*\\\n)*.*)", text, re.MULTILINE)
        examples += len(lines)
        for number, line in enumerate(lines):
            words = shlex.split(re.split(r"   | \|| && ", re.sub(r"\\\n +", "", line), maxsplit=1)[0])
            folder = tmp_path / f"{name}-{number}"
            folder.mkdir()
            if name == "serve" or "--sync" in words:    # These would go on the network; the others stop before.
                words.append("--help")
            outcome = rsdump.run(*words[1:], cwd=folder)
            assert "Usage:" not in outcome.err, str(outcome)
    # The pages of refresh, publish and import have no room for one.
    assert examples >= 30


def test_help_breaks_no_line_of_a_list():
    for command in [(), *((name,) for name in commands())]:
        lines = overview(*command).splitlines()
        broken = [line for line, after in zip(lines, lines[1:])
                  if line.startswith("  ") and after and after[0] != " " and not after.startswith("For details, see ")]
        assert not broken, f"rsdump {' '.join(command)}: {broken}"


def test_add_refuses_another_server(dumps, sample):
    before = dumps.config.read_text()
    outcome = rsdump.run("add", "main/x", "--dumps", dumps.path, "--server", "https://other.example.org/v2")
    assert outcome.code == rsdump.USAGE and outcome.says("--dumps", "5 collections", sample.url), str(outcome)
    assert dumps.config.read_text() == before
    # Its own server may be named, in either version of the protocol.
    assert dumps.add(sample, "main/x").code == rsdump.DONE


def test_locked_dumps_directory_says_try_again(dumps):
    descriptor = os.open(dumps.path, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    for outcome in (dumps.refresh(), dumps.remove(SETTINGS)):
        assert outcome.code == rsdump.TRY_AGAIN and outcome.says("another rsdump"), str(outcome)
    os.close(descriptor)


def test_dry_run_writes_nothing(dumps, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    before = dumps.stats()
    outcome = dumps.refresh("--dry-run")
    assert outcome.code == rsdump.DONE, str(outcome)
    assert outcome.says(SETTINGS), str(outcome)
    assert dumps.stats() == before


def test_the_summary_is_markdown(dumps, sample, tmp_path):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    summary = tmp_path / "summary.md"
    assert dumps.refresh("--summary", summary).code == rsdump.DONE
    assert SETTINGS in summary.read_text()
    # However much fails, a pull request's body has room for it.
    assert dumps.add(sample, *(f"main/absent-{number}" for number in range(700))).code == rsdump.DONE
    assert dumps.refresh("--summary", summary).code == rsdump.SOME_FAILED
    assert len(summary.read_bytes()) <= 50_000 and re.search(r"^… and \d+ more lines$", summary.read_text(), re.MULTILINE)


@pytest.mark.parametrize("command", ["refresh", "status", "verify"])
def test_json_is_one_document_on_standard_output(dumps, sample, command):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    outcome = getattr(dumps, command)("--format", "json")
    assert outcome.code == rsdump.DONE, str(outcome)
    assert isinstance(outcome.json(), dict)


def test_no_control_characters_where_there_is_no_terminal(dumps, sample):
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    outcome = dumps.refresh()
    assert "\x1b" not in outcome.out + outcome.err and "\r" not in outcome.out + outcome.err


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


def test_status_offline_makes_no_request(dumps, sample):
    position = sample.log_position()
    outcome = dumps.status("--offline")
    assert outcome.code == rsdump.DONE and outcome.says(*samples.NAMES), str(outcome)
    assert sample.requests(position) == []


def test_max_age_ignores_unchanged_collections(dumps, sample):
    """The gate of a release: the server says whether half a year without a change is half a year without a refresh."""
    lock = dumps.path / "dumps.lock.json"
    lock.write_text(re.sub(r'"verifiedAt": "20\d\d', '"verifiedAt": "2020', lock.read_text()))
    for arguments in (("status",), ("status", "--max-age", "90d"), ("status", "--offline"), ("refresh", "--locked")):
        outcome = rsdump.run(*arguments, "--dumps", dumps.path)
        assert outcome.code == rsdump.DONE and "error" not in outcome.out, str(outcome)
    # Who counts from the last change is told what that means.
    bound = dumps.status("--offline", "--max-age", "90d")
    assert bound.code == rsdump.SOME_FAILED and bound.says("older than --max-age; only the server knows"), str(bound)
    # A change that was missed for so long is found.
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    missed = dumps.status("--max-age", "90d")
    assert missed.code == rsdump.SOME_FAILED and missed.says("too old"), str(missed)
    assert len([line for line in missed.out.splitlines() if "error" in line]) == 1, str(missed)
    assert dumps.refresh("--locked").code == rsdump.WOULD_CHANGE


def test_verify_makes_no_request_and_writes_nothing(dumps, sample):
    before, position = dumps.stats(), sample.log_position()
    assert dumps.verify().code == rsdump.DONE
    assert sample.requests(position) == [] and dumps.stats() == before


def test_verify_with_another_root_fails(dumps, sample):
    text = dumps.config.read_text()
    if sample.root in text:
        text = text.replace(sample.root, sample.other_root)
    else:
        plain, other = (each.replace(":", "").lower() for each in (sample.root, sample.other_root))
        assert plain in text
        text = text.replace(plain, other)
    dumps.config.write_text(text)
    outcome = dumps.verify()
    assert outcome.code == rsdump.VERIFICATION, str(outcome)
