"""Collections that went through Mozilla's review flow (Kinto with kinto-signer), and what Mozilla's scheduled jobs do to them:
signatures made anew, another chain, a monitor behind its changesets, zips that are stale, cut, or of another collection."""
import datetime
import hashlib
import json
import pathlib
import shutil
import urllib.request

import canonicaljson
import kinto_http
import pytest

import rsdump
from dumps import Dumps
from rs_server.client import PREVIEW, PUBLISHED, REVIEWER, WORKSPACE, Server
from serve import Serving

COLLECTION = "reviewed"
SOURCE, SHOWN, NAME = (f"{bucket}/{COLLECTION}" for bucket in (WORKSPACE, PREVIEW, PUBLISHED))
OTHER = "other"
NUMBERS = {
    "id": "numbers", "ratio": 0.1, "small": 1e-7, "large": 1.5e300, "whole": 2.0, "negative": -0.25, "long": 1234567.0625,
    "exact": 9007199254740993, "unsigned": 18446744073709551615, "lowest": -9223372036854775808, "zero": 0,
    "text": "Grüße \u2028 \U0001f600 \x7f \"\\/", "nested": {"z": [1.25, {"é": None}], "a": []},
}


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Two collections, reviewed twice: attachments were added, changed and removed, a record was deleted."""
    with Server.start(tmp_path_factory.mktemp("review-server"), review=True) as server:
        for name in (COLLECTION, OTHER):
            source = f"{WORKSPACE}/{name}"
            server.put_collection(source, {"attachment": {"bundle": True, "enabled": True}, "displayFields": ["title"]})
            for number in range(24):
                server.put_attachment(source, f"file-{number:02}", f"{number}.txt", f"{name} {number} ".encode() * 50, "text/plain")
        for number in range(3):
            server.put_record(SOURCE, {"id": f"plain-{number}", "title": f"title {number}"})
        server.put_record(SOURCE, NUMBERS)
        server.put_record(SOURCE, {"id": "not-deleted", "deleted": False, "title": "deleted: false"})
        for name in (COLLECTION, OTHER):
            server.publish(f"{WORKSPACE}/{name}")
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
    yield published
    shutil.rmtree(published.data / "attachments/bundles", ignore_errors=True)


@pytest.fixture
def reviewed(review, tmp_path):
    dumps = Dumps(tmp_path / "dumps")
    assert dumps.add(review, NAME, SHOWN).code == rsdump.DONE
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE and outcome.says("2 created"), str(outcome)
    return dumps


def is_as_published(dumps, review, *names):
    """Each bundle has the bytes that the server has signed, each attachment, and verifies."""
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


def test_what_was_reviewed_is_packaged_as_it_was_signed(reviewed, review):
    is_as_published(reviewed, review, NAME, SHOWN)
    records = {record["id"]: record for record in reviewed.bundle(NAME).records}
    assert records["file-03"]["attachment"] is None and records["not-deleted"]["deleted"] is False
    assert "plain-1" not in records
    assert {k: v for k, v in records["numbers"].items() if k != "last_modified"} == NUMBERS
    assert reviewed.bundle(NAME).metadata["displayFields"] == ["title"]
    # What is in work is nobody's to read: the monitor does not list it.
    assert {each["bucket"] for each in review.monitor()["changes"]} == {PUBLISHED, PREVIEW}


def test_a_review_shows_first_and_publishes_when_it_is_approved(reviewed, review):
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


def test_a_review_that_was_declined_or_rolled_back_changes_nothing_published(reviewed, review):
    before = reviewed.bundle_path(NAME).read_bytes()
    review.put_record(SOURCE, {"id": "plain-0", "title": "not to be"})
    review.set_status(SOURCE, "to-review")
    review.set_status(SOURCE, "work-in-progress", user=REVIEWER)
    assert reviewed.refresh().code == rsdump.DONE
    review.set_status(SOURCE, "to-rollback")
    assert reviewed.refresh().code == rsdump.DONE
    assert reviewed.bundle_path(NAME).read_bytes() == before
    is_as_published(reviewed, review, NAME)
    # A rollback puts older records back into the preview and keeps its timestamp: two states under one time, of which no
    # monitor tells. It is told where it is seen, and what is held stays.
    shown = reviewed.bundle_path(SHOWN).read_bytes()
    outcome = reviewed.refresh("--full")
    assert outcome.code == rsdump.SOME_FAILED and outcome.says(SHOWN, "different records with the same timestamp"), str(outcome)
    assert reviewed.bundle_path(SHOWN).read_bytes() == shown
    # The next review is a change like any other.
    review.put_record(SOURCE, {"id": "plain-0", "title": "to be"})
    review.publish(SOURCE)
    assert reviewed.refresh().code == rsdump.DONE
    is_as_published(reviewed, review, NAME, SHOWN)


def test_purged_tombstones_cost_a_full_fetch_and_nothing_else(reviewed, review):
    review.delete_record(SOURCE, "plain-2")
    review.publish(SOURCE)
    review.forget(NAME)
    review.forget(SHOWN)
    outcome = reviewed.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    is_as_published(reviewed, review, NAME, SHOWN)
    assert "plain-2" not in {record["id"] for record in reviewed.bundle(NAME).records}


def test_a_collection_that_was_deleted_and_made_again(reviewed, review):
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


def refresh_signatures(url):
    """Mozilla's job `refresh_signature`: what the monitor lists is signed anew, by way of its source, where it is old."""
    reader = kinto_http.Client(server_url=url, bucket="monitor", collection="changes")
    resources = reader.server_info()["capabilities"]["signer"]["resources"]
    signed = []
    for change in reader.get_records():
        source = next((each["source"] for each in resources if each["destination"]["bucket"] == change["bucket"]), None)
        if source is None:
            continue
        client = kinto_http.Client(
            server_url=url, bucket=source["bucket"], collection=change["collection"], auth=("admin", "secret"))
        metadata = client.get_collection()["data"]
        age = datetime.datetime.now(datetime.timezone.utc) - datetime.datetime.fromisoformat(metadata["last_signature_date"])
        if age.days < 0:
            continue
        client.patch_collection(data={"status": "to-resign"})
        signed.append(change["collection"])
    return signed


def test_refreshed_signatures_change_no_byte(reviewed, review):
    before = reviewed.files()
    old = review.changeset(NAME)
    assert sorted(refresh_signatures(review.url)) == [OTHER, COLLECTION]
    new = review.changeset(NAME)
    assert old["metadata"]["signature"] != new["metadata"]["signature"] and old["timestamp"] == new["timestamp"]
    for arguments in ([], ["--full"]):
        outcome = reviewed.refresh(*arguments)
        assert outcome.code == rsdump.DONE and outcome.says("2 unchanged"), str(outcome)
        assert reviewed.files() == before
    synced = rsdump.run("get", "--sync", NAME, "--storage", reviewed.path.parent / "storage", "--packaged", reviewed.path)
    assert synced.code == rsdump.DONE, str(synced)


def test_a_rotated_chain_comes_with_the_next_change(reviewed, review, tmp_path):
    before, chain = reviewed.files(), reviewed.bundle(NAME).chain
    review.publish_with(key="next")
    refresh_signatures(review.url)
    assert reviewed.refresh().code == rsdump.DONE and reviewed.files() == before
    fresh = Dumps(tmp_path / "fresh")
    assert fresh.add(review, NAME, SHOWN).code == rsdump.DONE and fresh.refresh().code == rsdump.DONE
    assert fresh.bundle(NAME).payload == reviewed.bundle(NAME).payload and fresh.bundle(NAME).chain != chain
    is_as_published(fresh, review, NAME, SHOWN)
    review.put_record(SOURCE, {"id": "plain-0", "title": "after the rotation"})
    review.publish(SOURCE)
    outcome = reviewed.refresh()
    assert outcome.code == rsdump.DONE and outcome.says("2 updated"), str(outcome)
    assert reviewed.bundle(NAME).chain == fresh.bundle(NAME).chain
    is_as_published(reviewed, review, NAME, SHOWN)


def test_a_monitor_older_than_its_changesets(reviewed, review):
    """The export to v2 reads the monitor first: for as long as it lasts, the changesets that it lists are newer."""
    monitor = json.dumps(review.monitor())
    review.put_record(SOURCE, {"id": "plain-0", "title": "published during the export"})
    review.publish(SOURCE)
    assert reviewed.refresh().code == rsdump.DONE
    newest = reviewed.files()
    storage = ["--storage", reviewed.path.parent / "storage", "--packaged", reviewed.path]
    assert rsdump.run("get", "--sync", NAME, *storage).code == rsdump.DONE
    review.faults({"path": "collections/changes/changeset", "body": monitor})
    for arguments in ([], ["--full"]):
        outcome = reviewed.refresh(*arguments)
        assert outcome.code == rsdump.DONE and not outcome.says("rollback"), str(outcome)
        assert reviewed.files() == newest
    outcome = rsdump.run("get", "--sync", NAME, *storage)
    assert outcome.code == rsdump.DONE, str(outcome)
    outcome = rsdump.run("diff", reviewed.path, "server", "--dumps", reviewed.path, "--exit-code")
    assert outcome.code == rsdump.DONE, str(outcome)


def write_zip(review, how):
    """What Mozilla's job `build_bundles` has left behind, once it is late, was cut off, or has mixed something up."""
    path = pathlib.Path(review.build_zip(NAME)["path"])
    if how == "stale":
        for number in (1, 2, 6):
            review.put_attachment(SOURCE, f"file-{number:02}", f"{number}.txt", f"newer {number}".encode() * 40, "text/plain")
        review.delete_record(SOURCE, "file-07")
        review.publish(SOURCE)
    elif how == "cut":
        path.write_bytes(path.read_bytes()[:-200])
    elif how == "cut early":
        path.write_bytes(path.read_bytes()[:100])
    elif how == "foreign":
        shutil.copy(review.build_zip(f"{PUBLISHED}/{OTHER}")["path"], path)
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "no zip":
        path.write_text("<html>404</html>")
    else:
        path.unlink()


@pytest.mark.parametrize("how", ["stale", "cut", "cut early", "foreign", "empty", "no zip", "missing"])
def test_a_servers_zip_that_is_not_as_it_should_be(review, empty, how):
    write_zip(review, how)
    assert empty.add(review, NAME).code == rsdump.DONE
    position = review.log_position()
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    is_as_published(empty, review, NAME)
    paths = [each["path"] for each in review.requests(position)]
    assert sum("bundles/main--reviewed.zip" in path for path in paths) >= 1
    assert sum("/attachments/" in path for path in paths) > 1, "everything came from the zip"
    # It is a temporary file, which no version control has.
    assert not outcome.says("version control")


@pytest.mark.parametrize("how", ["right", "stale", "cut", "foreign", "damaged"])
def test_a_list_of_changesets_that_is_not_as_it_should_be(reviewed, review, tmp_path, how):
    """It is imported as what it is: signed states that verify, or nothing."""
    changesets = [review.changeset(name) for name in (NAME, SHOWN)]
    for changeset, bucket in zip(changesets, (PUBLISHED, PREVIEW)):
        changeset["metadata"].update(bucket=bucket)
    if how != "right":
        review.put_record(SOURCE, {"id": "plain-0", "title": "newer"})
        review.publish(SOURCE)
        assert reviewed.refresh().code == rsdump.DONE
    if how == "damaged":
        changesets[0]["changes"][0]["title"] = "not what was signed"
    data = json.dumps(changesets).encode()
    if how == "cut":
        data = data[:len(data) // 2]
    if how == "foreign":
        data = json.dumps([{"metadata": {"id": "x", "bucket": "y"}}]).encode()
    bundle = tmp_path / "changesets.json"
    bundle.write_bytes(data)
    target = Dumps(tmp_path / "imported")
    outcome = rsdump.run("import", "--from", "changesets", bundle, "--dumps", target.path)
    if how in ("cut", "foreign"):
        assert outcome.code != rsdump.DONE and not target.names, str(outcome)
    before = reviewed.files()
    outcome = rsdump.run("import", "--from", "changesets", bundle, "--dumps", reviewed.path)
    assert reviewed.files() == before, f"older or damaged data was taken: {outcome}"


def test_an_app_and_a_mirror_follow(reviewed, review):
    """The same states by way of the library, and of a server of the bundles, on both versions of the API."""
    storage = reviewed.path.parent / "storage"
    arguments = ["--storage", storage, "--packaged", reviewed.path]
    review.put_record(SOURCE, {"id": "plain-0", "title": "for the app"})
    review.remove_attachment(SOURCE, "file-00")
    review.publish(SOURCE)
    synced = rsdump.run("get", "--sync", NAME, SHOWN, *arguments)
    assert synced.code == rsdump.DONE, str(synced)
    assert reviewed.refresh().code == rsdump.DONE
    with Serving("--dumps", reviewed.path) as serving:
        for version in ("v1", "v2"):
            for name in (NAME, SHOWN):
                mine, theirs = serving.changeset(name, version).json(), review.changeset(name)
                assert {r["id"]: r for r in mine["changes"]} == {r["id"]: r for r in theirs["changes"]}
        mirrored = Dumps(reviewed.path.parent / "mirrored")
        added = mirrored.add(review, NAME, SHOWN, url=f"{serving.url}/v2")
        assert added.code == rsdump.DONE and mirrored.refresh().code == rsdump.DONE
        is_as_published(mirrored, review, NAME, SHOWN)


def export_to_git(url, wanted):
    """What Mozilla's job `git_export` reads of a server, and what it would store: by the same calls of kinto-http."""
    client = kinto_http.Client(server_url=url)
    info = client.server_info()
    monitor = client.get_changeset(bucket="monitor", collection="changes", bust_cache=True)
    entries = [(each["bucket"], each["collection"]) for each in monitor["changes"] if each["collection"] in wanted]
    stored = {"monitor": sorted(entries)}
    base = info["capabilities"]["attachments"]["base_url"].rstrip("/")
    for bucket, collection in entries:
        changeset = client.get_changeset(bucket=bucket, collection=collection, _since='"0"', bust_cache=True)
        name = f"{changeset['metadata']['bucket']}/{changeset['metadata']['id']}"
        stored[f"{name}/timestamp"] = changeset["timestamp"]
        with urllib.request.urlopen(changeset["metadata"]["signature"]["x5u"]) as chain:
            stored[f"{name}/chain"] = chain.read()
        for record in changeset["changes"]:
            # Tombstones go to a ledger of their own.
            if record.get("deleted"):
                continue
            stored[f"{name}/{record['id']}"] = record
            if record.get("attachment"):
                with urllib.request.urlopen(f"{base}/{record['attachment']['location'].lstrip('/')}") as file:
                    stored[record["attachment"]["location"]] = hashlib.sha256(file.read()).hexdigest()
        # The next run asks for what came after the monitor's time, which need not be a time of this collection.
        later = client.get_changeset(
            bucket=bucket, collection=collection, _since=f'"{monitor["timestamp"]}"', bust_cache=True)
        stored[f"{name}/later"] = later["changes"]
    return stored, info


def test_mozillas_jobs_read_a_mirror_as_they_read_the_server(reviewed, review):
    with Serving("--dumps", reviewed.path) as serving:
        mine, info = export_to_git(f"{serving.url}/v1", [COLLECTION])
        theirs, _ = export_to_git(review.url, [COLLECTION])
        assert mine == theirs and len(mine) > 50
        # The job takes this out of what it stores.
        info["config"].pop("modified")
        # The job `build_bundles` begins anew where the collection is newer than the zip says that it is.
        zipped = serving.ask("/attachments/bundles/main--reviewed.zip")
        assert zipped.status == 200 and zipped.headers["last-modified"]
        # The job `refresh_signature` finds nothing here that it could have signed.
        assert refresh_signatures(f"{serving.url}/v1") == []
