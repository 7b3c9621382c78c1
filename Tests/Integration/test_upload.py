"""Examples/object-store/upload: a mirror in a real object store, read directly from the bucket, without CDN rules."""
import json
import os
import secrets
import subprocess
import threading

import pytest
import requests
from kinto_http import Client

import rsdump
from store import Bucket, Store
from store_proxy import StoreProxy

SCRIPT = rsdump.REPOSITORY / "Examples/object-store/upload"
CLIENTS = ["rclone", pytest.param("aws", marks=pytest.mark.nightly)]


LIST = "buckets/monitor/collections/changes/changeset"


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture
def bucket(store):
    return store.bucket(f"settings-{secrets.token_hex(6)}")


@pytest.fixture
def site(bucket):
    """The site for readers: the bucket under its own host name, with index documents."""
    with StoreProxy(bucket.store, below=f"/settings/{bucket.prefix}") as site:
        yield site


def export(dumps, mirror, url="http://settings.example.org", *options):
    return rsdump.run("export", "--to", "mirror", "--dumps", dumps.path, "--url", url, "--output", mirror, *options)


def exported(*arguments):
    outcome = export(*arguments)
    assert outcome.code == rsdump.DONE, str(outcome)


def start(mirror, bucket, client, **options):
    place = bucket.at_aws if client == "aws" else bucket.at_rclone
    return subprocess.Popen(
        [SCRIPT, mirror, place], env=rsdump.environment(bucket.environment), stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def upload(mirror, bucket, client, fails=False):
    process = start(mirror, bucket, client)
    out, errors = process.communicate(timeout=120)
    assert not out and (process.returncode != 0) == fails and bool(errors) == fails, f"{process.returncode}: {out}{errors}"
    return errors


def listed(bucket):
    changes = bucket.get(f"v1/{LIST}").json()["changes"]
    return {f"{each['bucket']}/{each['collection']}": each["last_modified"] for each in changes}


def wanted(mirror):
    return {each["file"]: each for each in json.loads((mirror / "current/objects.json").read_bytes())
            if each.get("collection") != "monitor/changes" or "since" not in each}


@pytest.mark.parametrize("client", CLIENTS)
def test_export_upload_and_read_from_bucket(client, dumps, bucket, site, tmp_path):
    """Export, upload and read, including attachments, with rsdump and with Kinto's client."""
    mirror = tmp_path / "mirror"
    exported(dumps, mirror, site.url)
    # A record may choose any location for its attachment.
    current = mirror / "current"
    objects = json.loads((current / "objects.json").read_bytes())
    strange = "attachments/-a b/[it's] \"\u00fc\" $(x)*.bin"
    (current / strange).parent.mkdir(parents=True)
    (current / strange).write_bytes(b"strange")
    (current / "objects.json").write_text(json.dumps([*objects, {
        "file": strange, "contentType": "application/octet-stream", "cacheControl": "public, max-age=86400"}]))
    upload(mirror, bucket, client)
    objects = wanted(mirror)
    assert bucket.keys() == sorted(objects)
    for key, each in objects.items():
        answer = bucket.get(requests.utils.quote(key))
        assert (answer.headers["Content-Type"], answer.headers["Cache-Control"]) == (each["contentType"], each["cacheControl"]), key
        assert answer.content == (mirror / "current" / key).read_bytes(), key
    reader = dumps.copy(tmp_path / "reader")
    lines = reader.config.read_text().splitlines()
    reader.config.write_text("".join(f"server: {site.url}/v1\n" if line.startswith("server:") else f"{line}\n" for line in lines))
    for path in [*reader.path.glob("*/*.zip"), reader.path / "dumps.lock.json"]:
        path.unlink()
    outcome = reader.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert {path.name: path.read_bytes() for path in reader.path.glob("*/*.zip")} == {
        path.name: path.read_bytes() for path in dumps.path.glob("*/*.zip")}
    kinto = Client(server_url=f"{site.url}/v1")
    for name in dumps.names:
        found = kinto.get_changeset(bucket=name.split("/")[0], collection=name.split("/")[1])
        assert sorted(found["changes"], key=lambda each: each["id"]) == dumps.bundle(name).records, name


@pytest.mark.parametrize("client", CLIENTS)
def test_upload_writes_only_changed_objects(client, dumps, sample, bucket, tmp_path):
    mirror, written = tmp_path / "mirror", []

    def note(method, path):
        if method in ("PUT", "POST", "DELETE"):
            written.append((method, path.split("?")[0].split(f"/{bucket.prefix}/")[1]))

    with StoreProxy(bucket.store, after=note) as proxy:
        through = Bucket(bucket.store, bucket.prefix, proxy.url)
        exported(dumps, mirror)
        upload(mirror, through, client)
        written.clear()
        upload(mirror, through, client)
        assert written == []
        # A collection changes, and the mirror has a delta from the previous state.
        old = dumps.bundle("main/markets").timestamp
        before, there = dumps.copy(tmp_path / "before"), wanted(mirror)
        sample.delete_record("main/markets", dumps.bundle("main/markets").records[0]["id"])
        assert dumps.refresh().code == rsdump.DONE
        exported(dumps, mirror, "http://settings.example.org", "--history", before.path)
        upload(mirror, through, client)
        new = wanted(mirror)
        assert f"v1/buckets/main/collections/markets/since/{old}" in new
        differing = [key for key, each in new.items() if there.get(key, {}).get("sha256") != each["sha256"]]
        assert sorted(written) == sorted([
            *(("PUT", key) for key in differing), *(("DELETE", key) for key in there.keys() - new.keys())])
        assert all("/markets/" in key or LIST in key for key in differing if "/collections/" in key), differing
        assert sorted(written[-2:]) == [("PUT", f"v1/{LIST}"), ("PUT", f"v2/{LIST}")]
        # A delta that the mirror no longer has is removed, since it leads to an outdated state. Foreign objects remain.
        bucket.put("somebody/since/1", "else's")
        exported(dumps, mirror)
        written.clear()
        upload(mirror, through, client)
        assert sorted(written) == sorted(("DELETE", key) for key in new.keys() - wanted(mirror).keys()) != []
        assert bucket.keys() == sorted([*wanted(mirror), "somebody/since/1"])
        # Objects changed by others are repaired.
        good = bucket.get(f"v2/{LIST}").content
        bucket.put(f"v2/{LIST}", "x" * len(good))
        bucket.rclone("deletefile", f"{bucket.at_rclone}/v1/index.json")
        upload(mirror, through, client)
        assert bucket.get(f"v2/{LIST}").content == good and bucket.get("v1/index.json").json()["capabilities"]


def whole_state(bucket):
    """Checks what a new reader finds: the list, each listed collection in that state or a later one, and its chain."""
    with requests.Session() as session:
        def get(key):
            answer = session.get(f"{bucket.url}/{key}", timeout=30)
            return answer if answer.status_code == 404 else answer.json() if "/chains/" not in f"/{key}" else answer.text

        for version in ("v1", "v2"):
            monitor = get(f"{version}/{LIST}")
            for each in monitor["changes"] if isinstance(monitor, dict) else []:
                changeset = get(f"{version}/buckets/{each['bucket']}/collections/{each['collection']}/changeset")
                assert changeset["timestamp"] >= each["last_modified"], each
                chain = changeset["metadata"]["signatures"][0]["x5u"].split("/chains/")[1]
                assert get(f"chains/{chain}").startswith("-----BEGIN"), chain
                assert get(f"{version}/index.json")["capabilities"]


def test_upload_is_consistent_after_each_request(team, bucket, tmp_path):
    """Checks the store after each uploaded object. An export during the upload is refused."""
    failures, written, refused = [], [], []
    lock = threading.Lock()

    def look(method, path):
        with lock:
            try:
                if method == "PUT":
                    written.append(path)
                    whole_state(bucket)
                    if not refused:
                        refused.append(export(team.dumps, tmp_path / "mirror"))
            except Exception as error:
                failures.append(error)

    with StoreProxy(bucket.store, after=look) as proxy:
        through = Bucket(bucket.store, bucket.prefix, proxy.url)
        for what in ("first", "changed", "signed again"):
            if what == "changed":
                team.change("one")
                team.publish()
            if what == "signed again":
                # The same states with a new chain, which must be uploaded first.
                assert rsdump.run("keys", "renew", team.path / "keys").code == rsdump.DONE
                team.publish("--resign")
            exported(team.dumps, tmp_path / "mirror")
            written.clear()
            upload(tmp_path / "mirror", through, "rclone")
            assert not failures, f"{what}: {failures[0]!r}"
            if what != "signed again":
                assert all(LIST in path for path in written[-2:]) and not any(LIST in path for path in written[:-2]), written
    assert refused[0].code == rsdump.TRY_AGAIN and refused[0].says("another process is writing there")


@pytest.mark.parametrize("limit", [0, 3])
def test_failed_upload_keeps_old_state(limit, team, bucket, tmp_path):
    """If any request fails, readers keep the old state, and the next run completes the upload."""
    mirror, seen = tmp_path / "mirror", []
    exported(team.dumps, mirror)
    upload(mirror, bucket, "rclone")

    def before(method, path):
        if method == "PUT":
            seen.append(path)
            if len(seen) > limit:
                return 403    # clients do not retry it
        return None

    old = team.timestamps
    team.change("one")
    team.publish()
    exported(team.dumps, mirror)
    with StoreProxy(bucket.store, before=before) as proxy:
        through = Bucket(bucket.store, bucket.prefix, proxy.url)
        assert "403" in upload(mirror, through, "rclone", fails=True) and len(seen) > limit
    assert listed(bucket) == old
    whole_state(bucket)
    upload(mirror, bucket, "rclone")
    assert listed(bucket) == team.timestamps
    whole_state(bucket)


def test_upload_refuses_bad_input(team, bucket, tmp_path):
    mirror = tmp_path / "mirror"
    exported(team.dumps, mirror)
    for arguments in ((), (mirror,), (mirror, "bucket"), (mirror, "store:"), (mirror, bucket.at_rclone, "more")):
        ended = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True, env=rsdump.environment(bucket.environment))
        assert ended.returncode == 2 and ended.stderr.startswith("usage: "), arguments
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "none", tmp_path / "empty"):
        assert upload(folder, bucket, "rclone", fails=True)
    for client in ["rclone", "aws"]:
        class Nobody(Bucket):
            environment = bucket.environment | {"RCLONE_CONFIG_STORE_SECRET_ACCESS_KEY": "wrong", "AWS_SECRET_ACCESS_KEY": "wrong"}

        assert "403" in upload(mirror, Nobody(bucket.store, bucket.prefix), client, fails=True) or client == "aws"
    assert bucket.keys() == [] and sorted(path.name for path in mirror.iterdir()) == ["current", os.readlink(mirror / "current")]


def test_sync_from_bucket_that_ignores_since(team, bucket, tmp_path):
    """A bucket ignores _since: the library detects the wrong merge by the signature, and requests the full list."""
    root = rsdump.run("keys", "status", team.path / "keys", "--format", "json").json()["root"]
    asked = []
    below = f"/settings/{bucket.prefix}"
    with StoreProxy(bucket.store, before=lambda method, path: asked.append(path), below=below) as site:
        for values, requests_made in (({"a": 1, "b": 2}, 1), ({"a": 1, "b": 3}, 1), ({"a": 1}, 2)):
            (team.path / "sources/main/one.yaml").write_text(
                "records:\n" + "".join(f"  - {{id: {key}, value: {value}}}\n" for key, value in values.items()))
            published = rsdump.run(
                "publish", "--sources", team.path / "sources", "--keys", team.path / "keys", "--dumps", team.dumps.path)
            assert published.code == rsdump.DONE, str(published)
            exported(team.dumps, tmp_path / "mirror", site.url)
            upload(tmp_path / "mirror", bucket, "rclone")
            asked.clear()
            trust = ("--storage", tmp_path / "app", "--server", f"{site.url}/v2", "--trust-root", root)
            outcome = rsdump.run("get", "--sync", "main/one", *trust)
            assert outcome.code == rsdump.DONE, str(outcome)
            got = [json.loads(line) for line in rsdump.run("get", "main/one", *trust).out.splitlines()]
            assert {each["id"]: each["value"] for each in got} == values
            assert sum("/one/changeset" in path for path in asked) == requests_made, asked
