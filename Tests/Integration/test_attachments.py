"""The ways attachments come: singly, resumed, from the server's zip, from the bundle that is there."""
import hashlib
import random

import pytest

import rsdump
from test_changes import ICONS, SETTINGS

ZIP = "/attachments/bundles/main--icons.zip"


def attachment_requests(server, position):
    return [each for each in server.requests(position) if "/attachments/" in each["path"]]


def pseudorandom(size, seed=1):
    return random.Random(seed).randbytes(size)


def test_the_servers_zip_is_used_where_many_are_missing(sample, empty):
    sample.build_zip(ICONS)
    assert empty.add(sample, ICONS).code == rsdump.DONE
    position = sample.log_position()
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert [each["path"] for each in attachment_requests(sample, position)] == ["/v1" + ZIP]
    assert len(empty.bundle(ICONS).attachments) == 20


def test_what_the_zip_lacks_or_has_wrong_is_fetched_singly(sample, empty):
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
def test_without_a_usable_zip_all_are_fetched_singly(sample, empty, fault):
    sample.build_zip(ICONS)
    sample.faults({"path": "bundles/main--icons.zip", **fault})
    assert empty.add(sample, ICONS).code == rsdump.DONE
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert len(empty.bundle(ICONS).attachments) == 20
    assert empty.verify().code == rsdump.DONE


def test_no_zip_where_the_collection_has_none(sample, empty):
    sample.patch_metadata(ICONS, {"attachment": {"bundle": False}})
    assert empty.add(sample, ICONS).code == rsdump.DONE
    position = sample.log_position()
    assert empty.refresh().code == rsdump.DONE
    paths = [each["path"] for each in attachment_requests(sample, position)]
    assert len(paths) == 20 and not any("bundles" in path for path in paths)


def test_a_broken_download_is_resumed(sample, empty):
    size, first = 4_000_000, 1_500_000
    content = pseudorandom(size)
    sample.put_attachment(SETTINGS, "film", "film.bin", content)
    record = next(each for each in sample.changeset(SETTINGS)["changes"] if each["id"] == "film")
    sample.faults({"path": record["attachment"]["location"], "truncate": first, "times": 1})
    assert empty.add(sample, SETTINGS).code == rsdump.DONE
    position = sample.log_position()
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    requests = attachment_requests(sample, position)
    assert len(requests) == 2, requests
    # What was under way when the connection broke may be lost; what had arrived before that is not fetched again.
    start = int(requests[1]["range"].removeprefix("bytes=").removesuffix("-"))
    assert 0 < start <= first
    assert (requests[1]["status"], requests[1]["bytes"]) == (206, size - start)
    assert empty.bundle(SETTINGS).attachments[hashlib.sha256(content).hexdigest()] == content


def test_two_records_may_share_an_attachment(sample, empty):
    content = b"the same bytes twice"
    for identifier in ("one", "two"):
        sample.put_attachment(SETTINGS, identifier, "same.txt", content, "text/plain")
    assert empty.add(sample, SETTINGS).code == rsdump.DONE
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert list(empty.bundle(SETTINGS).attachments.values()) == [content]
    assert empty.verify().code == rsdump.DONE


def test_an_empty_attachment(sample, empty):
    sample.put_attachment(SETTINGS, "nothing", "empty.bin", b"")
    assert empty.add(sample, SETTINGS).code == rsdump.DONE
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert list(empty.bundle(SETTINGS).attachments.values()) == [b""]


@pytest.mark.parametrize("rule, kept", [
    ("{max-size: 1000}", lambda record: record["attachment"]["size"] <= 1000),
    ("{include: \"petals > 12\"}", lambda record: record["petals"] > 12),
    ("none", lambda record: False),
], ids=["max-size", "include", "none"])
def test_a_rule_decides_which_attachments_are_packed(dumps, sample, rule, kept):
    """The rule of a collection that has its bundle already: the bundle is packed again, and nothing is fetched."""
    everything = dumps.bundle(ICONS)
    edit_rule(dumps, ICONS, rule)
    position = sample.log_position()
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    bundle = dumps.bundle(ICONS)
    assert bundle.records == everything.records
    expected = {record["attachment"]["hash"] for record in bundle.records if kept(record)}
    assert set(bundle.attachments) == expected
    assert 0 <= len(expected) < 20
    assert attachment_requests(sample, position) == []
    assert dumps.verify().code == rsdump.DONE


def test_a_filter_that_keeps_no_attachment_is_noted(dumps):
    edit_rule(dumps, ICONS, "{include: \"petal > 12\"}")
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE and outcome.says("note: ", "keeps none of 20"), str(outcome)


def test_max_total_takes_what_fits(dumps):
    edit_rule(dumps, ICONS, "{max-total: 5000}")
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    packed = dumps.bundle(ICONS).attachments.values()
    assert 0 < sum(len(content) for content in packed) <= 5000


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
