"""Collections in Mozilla's review flow (Kinto with kinto-signer)."""
import hashlib

import canonicaljson
import pytest

import rsdump
from dumps import Dumps
from rs_server.client import PREVIEW, PUBLISHED, REVIEWER, WORKSPACE, Server

COLLECTION = "reviewed"
SOURCE, SHOWN, NAME = (f"{bucket}/{COLLECTION}" for bucket in (WORKSPACE, PREVIEW, PUBLISHED))


NUMBERS = {
    "id": "numbers", "ratio": 0.1, "small": 1e-7, "large": 1.5e300, "whole": 2.0, "negative": -0.25, "long": 1234567.0625,
    "exact": 9007199254740993, "unsigned": 18446744073709551615, "lowest": -9223372036854775808, "zero": 0,
    "text": "Grüße \u2028 \U0001f600 \x7f \"\\/", "nested": {"z": [1.25, {"é": None}], "a": []},
}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A collection reviewed twice: attachments were added, changed and removed, and a record was deleted."""
    with Server.start(tmp_path_factory.mktemp("review-server"), review=True) as server:
        server.put_collection(SOURCE, {"attachment": {"bundle": True, "enabled": True}, "displayFields": ["title"]})
        for number in range(24):
            server.put_attachment(SOURCE, f"file-{number:02}", f"{number}.txt", f"file {number} ".encode() * 50, "text/plain")
        for number in range(3):
            server.put_record(SOURCE, {"id": f"plain-{number}", "title": f"title {number}"})
        server.put_record(SOURCE, NUMBERS)
        server.put_record(SOURCE, {"id": "not-deleted", "deleted": False, "title": "deleted: false"})
        server.publish(SOURCE)
        server.remove_attachment(SOURCE, "file-03")
        server.put_attachment(SOURCE, "file-04", "4.txt", b"another text", "text/plain")
        server.delete_record(SOURCE, "plain-1")
        server.publish(SOURCE)
        server.save("published")
        yield server


@pytest.fixture
def review(published):
    published.restore("published")
    published.publish_with()
    return published


@pytest.fixture
def reviewed(review, tmp_path):
    dumps = Dumps(tmp_path / "dumps")
    assert dumps.add(review, NAME, SHOWN).code == rsdump.DONE
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE and outcome.says("2 created"), str(outcome)
    return dumps


def is_as_published(dumps, review, *names):
    """Checks that each bundle has exactly the signed bytes and all attachments, and verifies."""
    for name in names:
        changeset = review.changeset(name)
        records = sorted(changeset["changes"], key=lambda record: record["id"])
        bundle = dumps.bundle(name)
        payload = {"data": records, "last_modified": str(changeset["timestamp"])}
        assert bundle.payload == canonicaljson.dumps(payload).encode(), name
        files = [record["attachment"]["hash"] for record in records if record.get("attachment")]
        assert set(bundle.attachments) == set(files), name
        for digest, data in bundle.attachments.items():
            assert hashlib.sha256(data).hexdigest() == digest
    verified = dumps.verify()
    assert verified.code == rsdump.DONE, str(verified)


def test_reviewed_collection_is_packaged(reviewed, review):
    is_as_published(reviewed, review, NAME, SHOWN)
    records = {record["id"]: record for record in reviewed.bundle(NAME).records}
    assert records["file-03"]["attachment"] is None and records["not-deleted"]["deleted"] is False
    assert "plain-1" not in records
    assert {k: v for k, v in records["numbers"].items() if k != "last_modified"} == NUMBERS
    assert reviewed.bundle(NAME).metadata["displayFields"] == ["title"]
    # Work in progress is private: the monitor does not list it.
    assert {each["bucket"] for each in review.monitor()["changes"]} == {PUBLISHED, PREVIEW}


def test_review_is_published_on_approval(reviewed, review):
    before = reviewed.files()
    review.put_record(SOURCE, {"id": "plain-0", "title": "another title"})
    review.put_attachment(SOURCE, "file-20", "20.txt", b"a new file", "text/plain")
    review.delete_record(SOURCE, "file-05")
    outcome = reviewed.refresh()
    assert outcome.code == rsdump.DONE and reviewed.files() == before, "work in progress was published"
    review.set_status(SOURCE, "to-review")
    outcome = reviewed.refresh()
    assert outcome.code == rsdump.DONE and outcome.says("1 unchanged, 1 updated"), str(outcome)
    assert reviewed.files()[f"{NAME}.zip"] == before[f"{NAME}.zip"]
    is_as_published(reviewed, review, NAME, SHOWN)
    review.set_status(SOURCE, "to-sign", user=REVIEWER)
    position = review.log_position()
    outcome = reviewed.refresh()
    assert outcome.code == rsdump.DONE and outcome.says("updated"), str(outcome)
    paths = [each["path"] for each in review.requests(position)]
    assert any(f"{NAME.replace('/', '/collections/')}/changeset" in path and "_since=" in path for path in paths), paths
    is_as_published(reviewed, review, NAME, SHOWN)


def test_declined_review_publishes_nothing(reviewed, review):
    before = reviewed.bundle_path(NAME).read_bytes()
    review.put_record(SOURCE, {"id": "plain-0", "title": "not to be"})
    review.set_status(SOURCE, "to-review")
    review.set_status(SOURCE, "work-in-progress", user=REVIEWER)
    assert reviewed.refresh().code == rsdump.DONE
    review.set_status(SOURCE, "to-rollback")
    assert reviewed.refresh().code == rsdump.DONE
    assert reviewed.bundle_path(NAME).read_bytes() == before
    is_as_published(reviewed, review, NAME)
    # A rollback restores older records in the preview but keeps its timestamp: two states have the same timestamp, and the monitor
    # shows no change. A full refresh detects and reports this, and the current state remains.
    shown = reviewed.bundle_path(SHOWN).read_bytes()
    outcome = reviewed.refresh("--full")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says(SHOWN, "different records with the same timestamp"), str(outcome)
    assert reviewed.bundle_path(SHOWN).read_bytes() == shown
    # The next review is a normal change.
    review.put_record(SOURCE, {"id": "plain-0", "title": "to be"})
    review.publish(SOURCE)
    assert reviewed.refresh().code == rsdump.DONE
    is_as_published(reviewed, review, NAME, SHOWN)


def test_purged_tombstones_lead_to_full_fetch(reviewed, review):
    review.delete_record(SOURCE, "plain-2")
    review.publish(SOURCE)
    review.forget(NAME)
    review.forget(SHOWN)
    outcome = reviewed.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    is_as_published(reviewed, review, NAME, SHOWN)
    assert "plain-2" not in {record["id"] for record in reviewed.bundle(NAME).records}


def test_deleted_and_recreated_collection(reviewed, review):
    storage = ["--storage", reviewed.path.parent / "storage", "--packaged", reviewed.path]
    review.delete_collection(SOURCE)
    review.delete_collection(NAME)
    review.delete_collection(SHOWN)
    outcome = reviewed.refresh()
    assert outcome.says(NAME), str(outcome)
    assert reviewed.bundle_path(NAME).is_file()
    review.put_collection(SOURCE, {"attachment": {"bundle": False}})
    review.put_record(SOURCE, {"id": "plain-0", "title": "made again"})
    review.put_attachment(SOURCE, "file-00", "0.txt", b"made again", "text/plain")
    review.publish(SOURCE)
    synced = rsdump.run("get", "--sync", NAME, *storage)
    assert synced.code == rsdump.DONE, str(synced)
    outcome = reviewed.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    is_as_published(reviewed, review, NAME, SHOWN)
    assert sorted(record["id"] for record in reviewed.bundle(NAME).records) == ["file-00", "plain-0"]
