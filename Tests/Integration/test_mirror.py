"""`rsdump export --to mirror`, served by real nginx with Examples/nginx/mirror.conf."""
import gzip
import hashlib
import json
import os
import pathlib
import shutil

import pytest
import requests

import toolchain
import rsdump
from dumps import Dumps
from json_shape import lock_entries
from mirror import Mirror
from publishing import LargeFiles


@pytest.fixture(scope="module")
def real_mirror(refreshed_real, tmp_path_factory):
    mirror = Mirror(tmp_path_factory.mktemp("mirror"))
    outcome = mirror.publish(refreshed_real)
    assert outcome.code == rsdump.DONE, str(outcome)
    # Next to the trees, where no request may reach it.
    (mirror.output / "letter.txt").write_text("dear")
    with mirror:
        yield mirror


def test_refresh_from_mirror_has_same_content(
        real_mirror, refreshed_real, real_server, real_names, tmp_path):
    """Over v2; a test below refreshes over v1 with a delta."""
    dumps = Dumps(tmp_path / "dumps")
    assert dumps.add(real_server, *real_names, url=f"{real_mirror.origin}/v2").code == rsdump.DONE
    outcome = dumps.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    assert {name: entry["content"] for name, entry in lock_entries(dumps.lock).items()} == {
        name: entry["content"] for name, entry in lock_entries(refreshed_real.lock).items()}


def test_mirror_headers_and_compression(real_mirror, refreshed_real):
    plain = real_mirror.changeset("security-state/onecrl", headers=None)
    assert plain.headers["Content-Type"] == "application/json"
    assert plain.headers["Cache-Control"] == "public, max-age=60"
    assert plain.headers["X-Content-Type-Options"] == "nosniff"
    # Pages of other sites may read it, as with the real server.
    attachment = next(each for each in refreshed_real.bundle("main/search-config-icons").records if each.get("attachment"))
    chain = json.loads(plain.content)["metadata"]["signature"]["x5u"].removeprefix(real_mirror.origin)
    for path in ("/v1/", "/v1/buckets/main/collections/markets/changeset?_expected=0&_since=1", chain,
                 f"/attachments/{attachment['attachment']['location']}"):
        answer = real_mirror.get(path)
        assert answer.status_code in (200, 307) and answer.headers["Access-Control-Allow-Origin"] == "*", path
    # requests accepts gzip: nginx sends the precompressed file and does not compress on the fly.
    assert plain.headers["Content-Encoding"] == "gzip" and plain.headers["Vary"] == "Accept-Encoding"
    packed = real_mirror.output / "current/v1/buckets/security-state/collections/onecrl/changeset.gz"
    assert int(plain.headers["Content-Length"]) == packed.stat().st_size
    assert gzip.decompress(packed.read_bytes()) == packed.with_suffix("").read_bytes() == plain.content
    # If nothing changed, nothing is sent.
    url = "/v1/buckets/security-state/collections/onecrl/changeset?_expected=0"
    assert real_mirror.get(url, headers={"If-None-Match": plain.headers["ETag"]}).status_code == 304
    signature = plain.json()["metadata"]["signatures"][0]
    chain = requests.get(signature["x5u"], timeout=30)
    assert chain.status_code == 200 and chain.headers["Content-Type"] == "application/x-pem-file"
    assert chain.headers["Cache-Control"].endswith("immutable")
    location = next(
        each for each in refreshed_real.bundle("main/search-config-icons").records if each.get("attachment")
    )["attachment"]["location"]
    icon = real_mirror.get(f"/attachments/{location}")
    assert icon.headers["Content-Type"] == "application/octet-stream"
    assert icon.headers["Content-Security-Policy"].startswith("sandbox")


@pytest.mark.parametrize("path", [
    "/", "/objects.json", "/on-change.json", "/v1/buckets/", "/v1/buckets/main/", "/attachments/", "/chains/",
    "/v1/buckets/main/collections/none/changeset?_expected=0", "/v1/index.json", "/v3/", "/attachments/none",
    "/attachments/../objects.json", "/attachments/%2e%2e/%2e%2e/letter.txt", "/attachments/..%2f..%2fletter.txt",
    "/v1/buckets/main/collections/markets/since/1", "/v1/buckets/..%2f..%2fx/collections/y/changeset?_expected=0",
    # A trailing line feed, which $ in a regular expression allows, could get into a Location header.
    "/v1%0a", "/v1/%0a", "/v1%0d%0aX-A:b", "/v1/buckets/main/collections/markets/changeset%0a?_expected=0",
    "/v1/buckets/main/collections/markets/changeset%0a?_expected=X-A:b&_since=1",
    "/v1/buckets/main/collections/markets/changeset%00?_expected=0&_since=1", "/chains/%0a", "/attachments/%0a",
])
def test_mirror_serves_no_other_path(real_mirror, path):
    request = requests.Request("GET", real_mirror.origin).prepare()
    request.url = real_mirror.origin + path    # unmodified: requests would normalize it
    with requests.Session() as session:
        answer = session.send(request, allow_redirects=False, timeout=30)
    assert answer.status_code in (400, 404), f"{path}: {answer.status_code}"
    assert "Location" not in answer.headers and "X-A" not in answer.headers


@pytest.fixture
def mirror(tmp_path):
    return Mirror(tmp_path / "nginx")


def test_mirror_delta_for_known_since_else_redirect(mirror, dumps, sample, tmp_path):
    """A record was deleted: clients with the previous bundle and with an even older state must remove it."""
    name = "main/markets"
    old = dumps.bundle(name)
    older = dumps.copy(tmp_path / "older")
    gone = old.records[0]["id"]
    sample.delete_record(name, gone)
    assert dumps.refresh().code == rsdump.DONE
    new = dumps.bundle(name)
    outcome = mirror.publish(dumps, history=[older.path])
    assert outcome.code == rsdump.DONE, str(outcome)
    with mirror:
        for version in ("v1", "v2"):
            delta = mirror.changeset(name, version, since=old.timestamp)
            assert delta.status_code == 200
            assert [(each["id"], each.get("deleted")) for each in delta.json()["changes"]] == [(gone, True)]
            same = mirror.changeset(name, version, since=new.timestamp)
            assert same.status_code == 200 and same.json()["changes"] == []
            for unknown in (old.timestamp - 1, "x", "1%0d%0aX:1", "../../changeset"):
                answer = mirror.changeset(name, version, expected=7, since=unknown)
                assert answer.status_code == 307, unknown
                assert answer.headers["Location"] == (
                    f"/{version}/buckets/main/collections/markets/changeset?_expected=7")
            assert mirror.changeset("monitor/changes", version, since=1).status_code == 307
            changes = mirror.changeset("monitor/changes", version, since=old.timestamp).json()["changes"]
            assert any(each["collection"] == "markets" for each in changes)
        assert mirror.changeset(name, since=f'"{old.timestamp}"').status_code == 200
        # rsdump uses the delta, and after a redirect replaces its state.
        for state in (older, old_state(older, tmp_path)):
            assert rsdump.run("verify", "--dumps", state.path).code == rsdump.DONE
            point_to(state, mirror)
            assert state.refresh().code == rsdump.DONE
            assert state.bundle(name).payload == new.payload


def old_state(dumps, tmp_path):
    return dumps.copy(tmp_path / "oldest")


def point_to(dumps, mirror):
    lines = dumps.config.read_text().splitlines()
    dumps.config.write_text("".join(
        f"server: {mirror.origin}/v1\n" if line.startswith("server:") else f"{line}\n" for line in lines))


def test_mirror_export_is_reproducible(mirror, dumps, tmp_path):
    first = mirror.publish(dumps)
    assert first.code == rsdump.DONE, str(first)
    tree, link = mirror.tree(), os.readlink(mirror.output / "current")
    stats = {path: path.stat().st_ino for path in mirror.output.rglob("*")}
    again = mirror.publish(dumps)
    assert again.json()["unchanged"] is True
    assert {path: path.stat().st_ino for path in mirror.output.rglob("*")} == stats
    shutil.rmtree(mirror.output)
    assert mirror.publish(dumps).json()["tree"] == first.json()["tree"] == link
    assert mirror.tree() == tree


def test_mirror_tree_is_replaced_atomically(mirror, dumps, sample):
    assert mirror.publish(dumps).code == rsdump.DONE
    before = os.readlink(mirror.output / "current")
    # Leftovers of killed runs.
    (mirror.output / ".new-tree.left-over").mkdir()
    (mirror.output / "current.00c0ffee00c0ffee").symlink_to(before)
    (mirror.output / "on-change.json.tmp").write_text("{")
    with mirror:
        timestamp = mirror.changeset("main/markets").json()["timestamp"]
        sample.delete_record("main/markets", dumps.bundle("main/markets").records[0]["id"])
        assert dumps.refresh().code == rsdump.DONE
        assert mirror.publish(dumps).json()["unchanged"] is False
        assert mirror.changeset("main/markets").json()["timestamp"] > timestamp
    after = os.readlink(mirror.output / "current")
    assert after != before
    assert sorted(path.name for path in mirror.output.iterdir()) == sorted(["current", after])


def test_objects_json_describes_every_file(mirror, dumps):
    assert mirror.publish(dumps).code == rsdump.DONE
    root = mirror.output / "current"
    objects = json.loads((root / "objects.json").read_bytes())
    for each in objects:
        content = (root / each["file"]).read_bytes()
        assert (len(content), hashlib.sha256(content).hexdigest()) == (each["size"], each["sha256"])
        assert each["contentType"] and each["cacheControl"]
        assert ("gzipSize" in each) == pathlib.Path(f"{root / each['file']}.gz").exists()
    with mirror:
        for each in objects:
            path = each["path"]
            if "/since/" in path:
                path = path.replace("/since/", "/changeset?_expected=0&_since=")
            elif path.endswith("/changeset"):
                path += "?_expected=0"
            answer = mirror.get(path)
            assert answer.status_code == 200, path
            assert hashlib.sha256(answer.content).hexdigest() == each["sha256"], path


def test_bundle_truncated_during_mirror_export(tmp_path):
    """For such a write, the system reports only a bad address."""
    large = LargeFiles(tmp_path)
    library, bundle = toolchain.preloadable("Servers/disk/cut_short.c", tmp_path), large.dumps.bundle_path("main/files")
    outcome = rsdump.run(
        "export", "--to", "mirror", "--output", tmp_path / "mirror", "--url", "https://settings.example.org", "--dumps",
        large.dumps.path, env={"LD_PRELOAD": str(library), "CUT_SHORT": str(bundle)})
    assert outcome.code == rsdump.SOME_FAILED, str(outcome)
    assert outcome.says(str(bundle)) and not outcome.says("Bad address"), str(outcome)
    assert not (tmp_path / "mirror/current").exists()
