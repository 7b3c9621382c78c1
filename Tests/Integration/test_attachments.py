"""Three ways to get attachments: one by one, from the server's zip, and from the existing bundle."""

import pytest

import rsdump
from test_changes import ICONS

ZIP = "/attachments/bundles/main--icons.zip"


def attachment_requests(server, position):
    return [each for each in server.requests(position) if "/attachments/" in each["path"]]


def test_many_missing_attachments_use_server_zip(sample, empty):
    sample.build_zip(ICONS)
    assert empty.add(sample, ICONS).code == rsdump.DONE
    position = sample.log_position()
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert [each["path"] for each in attachment_requests(sample, position)] == ["/v1" + ZIP]
    assert len(empty.bundle(ICONS).attachments) == 20


def test_incomplete_server_zip_is_supplemented(sample, empty):
    sample.build_zip(ICONS, omit=["petals-07"], corrupt=["petals-08", "petals-09"])
    assert empty.add(sample, ICONS).code == rsdump.DONE
    position = sample.log_position()
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    paths = sorted(each["path"].rsplit("/", 1)[1] for each in attachment_requests(sample, position))
    assert paths == ["main--icons.zip", "petals-07.svg", "petals-08.svg", "petals-09.svg"]
    assert empty.verify().code == rsdump.DONE


@pytest.mark.parametrize("fault", [
    {"status": 404}, {"truncate": 3000}, {"body": "no zip"}, {"endless": True},
], ids=lambda fault: next(iter(fault)))
def test_unusable_server_zip_is_skipped(sample, empty, fault):
    sample.build_zip(ICONS)
    sample.faults({"path": "bundles/main--icons.zip", **fault})
    assert empty.add(sample, ICONS).code == rsdump.DONE
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert len(empty.bundle(ICONS).attachments) == 20
    assert empty.verify().code == rsdump.DONE


def test_attachment_rule_decides_what_is_packed(dumps, sample):
    """For a collection with a bundle, a changed rule repacks the bundle without downloads. Other rules are tested in
    AttachmentSelectorTests."""
    everything = dumps.bundle(ICONS)
    edit_rule(dumps, ICONS, "{include: \"petals > 12\"}")
    position = sample.log_position()
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    bundle = dumps.bundle(ICONS)
    assert bundle.records == everything.records
    expected = {record["attachment"]["hash"] for record in bundle.records if record["petals"] > 12}
    assert set(bundle.attachments) == expected
    assert 0 < len(expected) < 20
    assert attachment_requests(sample, position) == []
    assert dumps.verify().code == rsdump.DONE


def test_attachment_rule_without_match_is_noted(dumps):
    edit_rule(dumps, ICONS, "{include: \"petal > 12\"}")
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE and outcome.says("note: ", "matches none of the attachments (20)"), str(outcome)


def edit_rule(dumps, name, rule):
    lines = dumps.config.read_text().splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip() == f"{name}:")
    assert "attachments:" in lines[first + 1]
    lines[first + 1] = lines[first + 1].split("attachments:")[0] + f"attachments: {rule}"
    dumps.config.write_text("\n".join(lines) + "\n")


def test_attachments_none_fetches_none_and_says_so(sample, empty):
    assert empty.add(sample, ICONS, attachments="none").code == rsdump.DONE
    position = sample.log_position()
    assert empty.refresh().code == rsdump.DONE
    assert attachment_requests(sample, position) == []
    bundle = empty.bundle(ICONS)
    assert len(bundle.records) == 20 and bundle.attachments == {}
    assert empty.verify().code == rsdump.DONE
