"""`rsdump upload`: a mirror in a real object store, read through the rules of every kind of edge."""
import gzip
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import threading
import time

import pytest
import requests
from kinto_http import Client

import rsdump
import toolchain
from edges import NginxEdge, NodeEdge, VarnishEdge, write_rules
from endpoint import Endpoint
from publishing import Team
from store import Bucket, Store
from store_proxy import StoreProxy
from test_updates_nchan import UpdatesMirror
from watching import Watching

EDGES = ["nginx", "varnish", "cloudfront", "cloudflare"]
ROUNDS = max(int(os.environ.get("KILL_ROUNDS", "200")) // 50, 4)
SEED = os.environ.get("KILL_SEED") or secrets.token_hex(4)
DAY = 86_400_000


@pytest.fixture(scope="session")
def store(tmp_path_factory):
    with Store(tmp_path_factory.mktemp("store")) as store:
        yield store


@pytest.fixture
def bucket(store):
    return store.bucket(f"settings-{secrets.token_hex(6)}")


def edge(kind, folder, url):
    if kind == "nginx":
        return NginxEdge(folder, url)
    return VarnishEdge(folder, url) if kind == "varnish" else NodeEdge(kind, folder, url)


def export(dumps, mirror, url, *options):
    outcome = rsdump.run("export", "--to", "mirror", "--dumps", dumps.path, "--url", url, "--output", mirror, *options)
    assert outcome.code == rsdump.DONE, str(outcome)


def upload(mirror, bucket, *options, place=None, code=rsdump.DONE, cwd=None):
    outcome = rsdump.run(
        "upload", mirror, place or bucket.at_rclone, "--format", "json", *options, env=bucket.environment, cwd=cwd)
    assert outcome.code == code, str(outcome)
    return outcome.json() if code == rsdump.DONE else outcome


def changeset(origin, name, version="v1", **query):
    bucket, collection = name.split("/")
    text = "&".join(f"_{key}={value}" for key, value in query.items())
    return requests.get(
        f"{origin}/{version}/buckets/{bucket}/collections/{collection}/changeset?{text}", timeout=30, allow_redirects=False)


def monitor(origin, expected=0):
    answer = changeset(origin, "monitor/changes", expected=expected)
    assert answer.status_code == 200, answer.text
    return {f"{each['bucket']}/{each['collection']}": each["last_modified"] for each in answer.json()["changes"]}


def old_dumps(team, path):
    """A copy of the team's directory before its next change."""
    return team.dumps.copy(path)


@pytest.fixture(scope="module")
def published(store, tmp_path_factory):
    """Two states of a team's collections in a bucket; the second one came over the first. Tests only read."""
    path = tmp_path_factory.mktemp("published")
    team, bucket = Team(path), store.bucket("published")
    team.publish()
    first = old_dumps(team, path / "first")
    before = dict(team.timestamps)
    export(team.dumps, path / "mirror", "http://settings.example.org")
    upload(path / "mirror", bucket)
    team.change("one")
    team.publish()
    export(team.dumps, path / "mirror", "http://settings.example.org", "--history", first.path)
    upload(path / "mirror", bucket)
    return team, bucket, before, team.timestamps


# What readers see.

@pytest.mark.parametrize("kind", EDGES)
def test_every_edge_maps_queries_alike(published, kind, tmp_path):
    _, bucket, before, after = published
    with edge(kind, tmp_path, bucket.url) as running:
        origin = running.origin
        assert monitor(origin) == monitor(origin, after["main/one"]) == after
        # A list that is asked for what is new has everything in it: every entry says its own time.
        assert len(changeset(origin, "monitor/changes", expected=1, since=before["main/one"]).json()["changes"]) == 2
        for version in ("v1", "v2"):
            def ask(**query):
                return changeset(origin, "main/one", version, **query)

            # The state that the list named, whichever it was, and the present one for those who name none.
            for timestamp in (before["main/one"], after["main/one"]):
                for named in (timestamp, f"%22{timestamp}%22"):
                    assert ask(expected=named).json()["timestamp"] == timestamp
            for answer in (ask(expected=0), ask(), ask(expected="x")):
                assert answer.status_code == 200 and answer.json()["timestamp"] == after["main/one"]
            # What has changed since.
            for query in ({"expected": after["main/one"]}, {"expected": 0}, {}):
                for since in (before["main/one"], f"%22{before['main/one']}%22"):
                    delta = ask(**query, since=since)
                    assert delta.status_code == 200, f"{query} {since}"
                    assert [each["id"] for each in delta.json()["changes"]] == ["a"]
                    assert delta.json()["timestamp"] == after["main/one"]
                assert ask(**query, since=after["main/one"]).json()["changes"] == []
                # What nobody knows leads to the whole collection, which replaces what a client has.
                for since in (1, "x", "9" * 20, "1%0d%0aX:1", "../../changeset", before["main/one"] - 1):
                    answer = ask(**query, since=since)
                    assert answer.status_code == 307, f"{query} {since}: {answer.status_code}"
                    assert answer.headers["Location"].endswith(
                        f"/{version}/buckets/main/collections/one/changeset?_expected=0")
            assert ask(expected=1).status_code == 307
            assert requests.get(f"{origin}/{version}/buckets/main/collections/one/changeset?_expected=1", timeout=30
                                ).json()["timestamp"] == after["main/one"]
            root = requests.get(f"{origin}/{version}", timeout=30)
            assert root.status_code == 200 and root.history[0].status_code == 307 and "capabilities" in root.json()


@pytest.mark.parametrize("kind", EDGES)
def test_types_encodings_and_nothing_else(published, kind, tmp_path):
    _, bucket, _, after = published
    with edge(kind, tmp_path, bucket.url) as running:
        path = f"{running.origin}/v1/buckets/main/collections/one/changeset?_expected="
        for expected, seconds in ((0, 60), (after["main/one"], 3600)):
            plain = requests.get(f"{path}{expected}", headers={"Accept-Encoding": "identity"}, timeout=30)
            assert plain.headers["Content-Type"] == "application/json" and "Content-Encoding" not in plain.headers
            assert plain.headers["Cache-Control"] == f"public, max-age={seconds}"
            assert plain.headers["X-Content-Type-Options"] == "nosniff"
            assert plain.headers["Access-Control-Allow-Origin"] == "*"
            for accepted in ("gzip", "br, gzip;q=0.8", "gzip, deflate"):
                packed = requests.get(
                    f"{path}{expected}", headers={"Accept-Encoding": accepted}, timeout=30, stream=True)
                body = packed.raw.read(decode_content=False)
                if kind != "cloudflare":    # whose runtime packs and unpacks by itself
                    assert packed.headers["Content-Encoding"] == "gzip" and packed.headers["Vary"] == "Accept-Encoding"
                    body = gzip.decompress(body)
                assert body == plain.content
            refused = requests.get(f"{path}{expected}", headers={"Accept-Encoding": "br, gzip;q=0"}, timeout=30)
            assert "Content-Encoding" not in refused.headers and refused.content == plain.content
        chain = plain.json()["metadata"]["signatures"][0]["x5u"].split("/chains/")[1]
        answer = requests.get(f"{running.origin}/chains/{chain}", timeout=30)
        assert answer.headers["Content-Type"] == "application/x-pem-file"
        assert answer.headers["Cache-Control"].endswith("immutable") and answer.text.startswith("-----BEGIN")
        bundle = requests.get(f"{running.origin}/attachments/bundles/startup.json.mozlz4", timeout=30)
        assert bundle.content.startswith(b"mozLz40") and bundle.headers["Content-Security-Policy"].startswith("sandbox")
        assert requests.get(
            f"{running.origin}/attachments/bundles/startup.json.mozlz4", headers={"Range": "bytes=3-"}, timeout=30
        ).content == bundle.content[3:]
        for path in ("/", "/.rsdump/state.json", "/v3/", "/objects.json", "/v1/index.json", "/v1/buckets/", "/attachments/",
                     "/attachments/none", "/chains/none.pem", "/v1/buckets/main/collections/none/changeset?_expected=0",
                     f"/v1/buckets/main/collections/one/at/{after['main/one']}/changeset", "/v1%0a", "/v1/%0a",
                     "/v1/buckets/main/collections/one/changeset%0a?_since=1", "/attachments/..%2f.rsdump/state.json",
                     "/attachments/../.rsdump/state.json", "/chains/..%2f.rsdump%2fstate.json"):
            request = requests.Request("GET", running.origin).prepare()
            request.url = running.origin + path    # as it is: requests would tidy it
            with requests.Session() as session:
                answer = session.send(request, allow_redirects=False, timeout=30)
            assert answer.status_code in (400, 404), f"{path}: {answer.status_code}"
            assert "Location" not in answer.headers and "pending" not in answer.text, path
        for method in ("POST", "PUT", "DELETE"):
            assert requests.request(method, f"{running.origin}/v1/", timeout=30).status_code == 405


def test_every_edge_is_written_from_the_same_description(tmp_path):
    """What cannot be run here, Fastly's, has the patterns of those that are run; addresses with a meaning are refused."""
    write_rules(tmp_path / "edge", "https://settings.example.org/a-b", "https://bucket.example.com/prefix")
    texts = {path.name: path.read_text() for path in (tmp_path / "edge").iterdir()}
    assert sorted(texts) == ["cloudflare.js", "cloudfront-request.js", "cloudfront-response.js", "fastly.vcl", "nginx.conf",
                             "varnish.vcl"]
    rules = [line for line in texts["varnish.vcl"].splitlines() if "X-RS" in line and "X-RS-Location;" not in line]
    assert len(rules) > 20
    for line in rules:
        assert line in texts["fastly.vcl"], line
    for url in ("https://x.example/'+a+'", "https://x.example/$a", "https://x.example/a%20b", "https://x.example/{a}"):
        for flags in (("--url", url, "--bucket-url", "https://b.example"), ("--url", "https://b.example", "--bucket-url", url)):
            outcome = rsdump.run("export", "--to", "edge", *flags, "--output", tmp_path / "none")
            assert outcome.code == rsdump.USAGE, str(outcome)
    assert not (tmp_path / "none").exists()
    (tmp_path / "edge/nginx.conf").write_text("mine")
    again = rsdump.run("export", "--to", "edge", "--url", "https://settings.example.org/a-b", "--bucket-url",
                       "https://bucket.example.com/prefix", "--output", tmp_path / "edge")
    assert again.code == rsdump.USAGE and "nginx.conf" in again.err
    assert (tmp_path / "edge/nginx.conf").read_text() == "mine"


def test_from_dumps_to_readers_in_three_commands(dumps, bucket, tmp_path):
    """Export, upload, sync: with attachments, read by this package, Kinto's client and curl through an edge."""
    place = f"{bucket.at_rclone}/some/prefix"
    with NginxEdge(tmp_path / "edge", f"{bucket.url}/some/prefix") as running:
        export(dumps, tmp_path / "mirror", running.origin)
        assert upload(tmp_path / "mirror", bucket, place=place)["written"] > 50
        reader = dumps.copy(tmp_path / "reader")
        config = reader.config.read_text()
        server = next(line for line in config.splitlines() if line.startswith("server:"))
        reader.config.write_text(config.replace(server, f"server: {running.origin}/v1"))
        for path in reader.path.glob("*/*.zip"):
            path.unlink()
        (reader.path / "dumps.lock.json").unlink()
        outcome = reader.refresh()
        assert outcome.code == rsdump.DONE, str(outcome)
        assert {path.name: path.read_bytes() for path in reader.path.glob("*/*.zip")} == {
            path.name: path.read_bytes() for path in dumps.path.glob("*/*.zip")}
        kinto = Client(server_url=f"{running.origin}/v1")
        for name in dumps.names:
            found = kinto.get_changeset(bucket=name.split("/")[0], collection=name.split("/")[1])
            assert sorted(found["changes"], key=lambda each: each["id"]) == dumps.bundle(name).records, name
        record = next(each for each in dumps.bundle("main/icons").records if each.get("attachment"))
        base = kinto.server_info()["capabilities"]["attachments"]["base_url"]
        got = subprocess.run(
            [toolchain.curl(), "--silent", "--fail", "--max-time", "30", base + record["attachment"]["location"]],
            capture_output=True, check=True).stdout
        assert len(got) == record["attachment"]["size"]


def test_without_rules_the_library_still_gets_there(team, bucket, tmp_path):
    """A bare bucket ignores queries: the library notices by the signature what it merged wrongly, and asks once more."""
    root = rsdump.run("keys", "status", team.path / "keys").out.split("trust-root ")[1].split()[0]
    source = team.path / "sources/main/one.yaml"
    asked = []
    below = bucket.url.removeprefix(bucket.store.url)
    with StoreProxy(bucket.store, before=lambda method, path: asked.append(path), below=below) as proxy:
        origin = proxy.url

        def sync():
            asked.clear()
            trust = ("--storage", tmp_path / "app", "--server", f"{origin}/v2", "--trust-root", root)
            outcome = rsdump.run("sync", "main/one", *trust)
            assert outcome.code == rsdump.DONE, str(outcome)
            got = rsdump.run("get", "main/one", *trust)
            assert got.code == rsdump.DONE, str(got)
            return got.out, sum("/one/changeset" in path for path in asked)

        for values, requests_made in (({"a": 1, "b": 2}, 1), ({"a": 1, "b": 3}, 1), ({"a": 1}, 2)):
            source.write_text("records:\n" + "".join(f"  - {{id: {key}, value: {value}}}\n" for key, value in values.items()))
            arguments = ("publish", "--sources", team.path / "sources", "--keys", team.path / "keys", "--dumps", team.dumps.path)
            assert rsdump.run(*arguments).code == rsdump.DONE
            export(team.dumps, tmp_path / "mirror", origin)
            upload(tmp_path / "mirror", bucket)
            text, count = sync()
            records = [json.loads(line) for line in text.splitlines()]
            assert {each["id"]: each["value"] for each in records} == values
            assert count == requests_made, asked


# What uploads do.

def test_only_what_changed_is_written_and_what_is_unnamed_goes_later(team, bucket, tmp_path):
    mirror = tmp_path / "mirror"
    export(team.dumps, mirror, "http://settings.example.org")
    first = upload(mirror, bucket)
    before = {key: bucket.get(key).content for key in bucket.keys()}
    assert upload(mirror, bucket) | {"unchanged": True} == upload(mirror, bucket)
    old = team.timestamps["main/one"]
    kept = old_dumps(team, tmp_path / "kept")
    team.change("one")
    team.publish()
    export(team.dumps, mirror, "http://settings.example.org", "--history", kept.path)
    second = upload(mirror, bucket)
    assert second["written"] < first["written"] and second["removed"] == 0 and second["kept"] > 0
    # Nothing of the other collection was written again, and readers of the old list still find what it named.
    assert bucket.get(f"v1/buckets/main/collections/one/at/{old}/changeset").content == before[
        f"v1/buckets/main/collections/one/at/{old}/changeset"]
    state = bucket.state()
    assert f"v1/buckets/main/collections/one/at/{old}/changeset" in state["superseded"] and state["pending"] == []
    # A month later.
    state["superseded"] = {key: value - 31 * DAY for key, value in state["superseded"].items()}
    bucket.put(".rsdump/state.json", json.dumps(state))
    bucket.put("somebody/elses", "file")
    third = upload(mirror, bucket)
    assert third["removed"] == second["kept"] and third["written"] == 0
    assert f"v1/buckets/main/collections/one/at/{old}/changeset" not in bucket.keys()
    assert "somebody/elses" in bucket.keys() and bucket.state()["superseded"] == {}
    assert upload(mirror, bucket)["unchanged"] is True
    # A state whose deltas are outdated: nobody may be led to it.
    export(team.dumps, mirror, "http://settings.example.org")
    assert upload(mirror, bucket)["removed"] > 0
    assert not any("/one/since/" in key and str(old) in key for key in bucket.keys())


def test_what_others_changed_in_the_store_is_mended(team, bucket, tmp_path):
    mirror = tmp_path / "mirror"
    export(team.dumps, mirror, "http://settings.example.org")
    upload(mirror, bucket)
    keys = ["v1/buckets/monitor/collections/changes/changeset", "v2/buckets/main/collections/one/changeset.gz", "v1/index.json"]
    good = {key: bucket.get(key, stream=True).raw.read() for key in keys}
    bucket.put(keys[0], "x" * len(good[keys[0]]))
    bucket.put(keys[1], "y" * len(good[keys[1]]))
    bucket.rclone("deletefile", f"{bucket.at_rclone}/{keys[2]}")
    assert upload(mirror, bucket)["written"] == 3
    for key in keys:
        assert bucket.get(key, stream=True).raw.read() == good[key], key
    answer = bucket.get(keys[1])
    assert answer.headers["Content-Encoding"] == "gzip" and answer.json()["timestamp"] == team.timestamps["main/one"]


def test_an_older_state_does_not_come_over_a_newer_one(team, bucket, tmp_path):
    export(team.dumps, tmp_path / "old", "http://settings.example.org")
    team.change("two")
    team.publish()
    export(team.dumps, tmp_path / "new", "http://settings.example.org")
    upload(tmp_path / "new", bucket)
    refused = upload(tmp_path / "old", bucket, code=rsdump.USAGE)
    assert refused.says("main/two", "--allow-older")
    assert monitor_in(bucket) == team.timestamps
    upload(tmp_path / "old", bucket, "--allow-older")
    assert monitor_in(bucket)["main/two"] < team.timestamps["main/two"]


def monitor_in(bucket):
    found = bucket.get("v1/buckets/monitor/collections/changes/changeset").json()["changes"]
    return {f"{each['bucket']}/{each['collection']}": each["last_modified"] for each in found}


def test_bad_input_changes_nothing(team, bucket, tmp_path):
    mirror = tmp_path / "mirror"
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "none", tmp_path / "empty"):
        assert upload(folder, bucket, code=rsdump.USAGE).says("rsdump export --to mirror")
    export(team.dumps, mirror, "http://settings.example.org")
    for place in ("bucket", "https://x", "s3://", "store:", "-x:y", "store:a/../b"):
        assert rsdump.run("upload", mirror, place, env=bucket.environment).code == rsdump.USAGE, place
    for keep in ("x", "1", "-1d", "1w", "99999999999999999999d", "3599s"):
        assert upload(mirror, bucket, "--keep", keep, code=rsdump.USAGE).says("--keep"), keep
    assert upload(mirror, bucket, "--notify", "http://127.0.0.1:9/x", code=rsdump.USAGE).says("--url")
    missing = rsdump.run("upload", mirror, bucket.at_rclone, env={"PATH": "/nowhere"})
    assert missing.code == rsdump.USAGE and missing.says("rclone", "PATH")
    nobody = rsdump.run("upload", mirror, "store:no-such-bucket-anywhere", env={**bucket.environment,
                        "RCLONE_CONFIG_STORE_SECRET_ACCESS_KEY": "wrong"})
    assert nobody.code == rsdump.SOME_FAILED, str(nobody)
    assert bucket.keys() == []
    # What somebody else has put there stays.
    bucket.put("v1/index.json", "mine")
    assert upload(mirror, bucket, code=rsdump.USAGE).says("v1/index.json", "--adopt")
    assert bucket.keys() == ["v1/index.json"] and bucket.get("v1/index.json").text == "mine"
    upload(mirror, bucket, "--adopt")
    assert "capabilities" in bucket.get("v1/index.json").json()
    # A damaged mirror reaches no reader.
    team.change("one")
    team.publish()
    export(team.dumps, mirror, "http://settings.example.org")
    before = monitor_in(bucket)
    damaged = mirror / "current/v1/buckets/main/collections/one/changeset"
    damaged.write_bytes(damaged.read_bytes().replace(b'"a"', b'"b"'))
    assert upload(mirror, bucket, code=rsdump.SOME_FAILED).says("changeset", "SHA-256")
    assert monitor_in(bucket) == before
    # Nor does a state object that cannot be read.
    state = bucket.rclone("cat", f"{bucket.at_rclone}/.rsdump/state.json").stdout
    for text in ("{", "[]", state.replace('"version": 1', '"version": 2')):
        bucket.put(".rsdump/state.json", text)
        assert upload(mirror, bucket, code=rsdump.USAGE).says(".rsdump/state.json")


def whole_state(url):
    """What a reader finds who begins now: the list, each state that it names, and the chain of each."""
    with requests.Session() as session:
        check_whole_state(url, session)


def check_whole_state(url, session):
    for version in ("v1", "v2"):
        listed = session.get(f"{url}/{version}/buckets/monitor/collections/changes/changeset", timeout=30)
        if listed.status_code == 404:
            continue    # before the first upload has ended
        for each in listed.json()["changes"]:
            path = f"{url}/{version}/buckets/{each['bucket']}/collections/{each['collection']}"
            for key in (f"{path}/at/{each['last_modified']}/changeset", f"{path}/changeset"):
                for suffix in ("", ".gz"):
                    found = session.get(key + suffix, timeout=30)
                    assert found.status_code == 200, key
                    changeset = found.json()
                    assert changeset["timestamp"] == each["last_modified"] or (
                        "/at/" not in key and changeset["timestamp"] > each["last_modified"]), key
                    chain = changeset["metadata"]["signatures"][0]["x5u"].split("/chains/")[1]
                    assert session.get(f"{url}/chains/{chain}", timeout=30).status_code == 200, chain
        assert session.get(f"{url}/{version}/index.json", timeout=30).status_code == 200


def test_after_each_request_the_store_has_one_state(team, bucket, tmp_path):
    """The order of an upload, looked at after each object that comes into the store or leaves it."""
    looks = []

    def look(method, path):
        if method in ("PUT", "POST", "DELETE"):
            with lock:
                whole_state(bucket.url)
                looks.append(path)

    lock, failures = threading.Lock(), []

    def after(method, path):
        try:
            look(method, path)
        except Exception as error:
            failures.append(error)

    ends = []
    with StoreProxy(bucket.store, after=after) as proxy:
        through = Bucket(bucket.store, bucket.prefix, proxy.url)
        for what in ("first", "changed", "signed again"):
            if what == "changed":
                team.change("one")
                team.publish()
            if what == "signed again":
                # The same states with another chain, which has to be there before them.
                assert rsdump.run("keys", "renew", team.path / "keys").code == rsdump.DONE
                team.publish("--resign")
            export(team.dumps, tmp_path / "mirror", "http://settings.example.org")
            assert upload(tmp_path / "mirror", through)["written"] > 10, what
            ends.append(len(looks))
    assert not failures, failures[0]
    assert len(looks) > 50
    changed = looks[ends[0]:ends[1]]
    lists = [index for index, path in enumerate(changed) if "/monitor/" in path]
    assert len(lists) == 4 and any("/at/" in path for path in changed[:lists[0]])
    # Then only deltas to outdated states go.
    assert all(".rsdump" in path or "/since/" in path for path in changed[lists[-1] + 1:]), changed[lists[0]:]


def test_a_store_that_fails_in_the_middle(team, bucket, tmp_path):
    """Whatever request fails, readers have the old state or the new one; the next run finishes."""
    mirror = tmp_path / "mirror"
    export(team.dumps, mirror, "http://settings.example.org")
    upload(mirror, bucket)
    seen, states, down = [], [dict(team.timestamps)], [None]

    def before(method, path):
        if method in ("PUT", "POST"):
            seen.append(path)
            if down[0] is not None and len(seen) > down[0]:
                return 403    # no client tries again
        return None

    with StoreProxy(bucket.store, before=before) as proxy:
        through = Bucket(bucket.store, bucket.prefix, proxy.url)
        for limit in (3, 14):
            team.change("one")
            team.publish()
            states.append(dict(team.timestamps))
            export(team.dumps, mirror, "http://settings.example.org")
            seen.clear()
            down[0] = limit
            failed = upload(mirror, through, code=rsdump.SOME_FAILED)
            assert failed.says("rclone", "could not"), str(failed)
            assert monitor_in(bucket) == states[-2], f"after {limit} requests"
            whole_state(bucket.url)
            down[0] = None
            upload(mirror, through)
            assert monitor_in(bucket) == states[-1]
    whole_state(bucket.url)


def test_the_aws_command_line_does_the_same(team, bucket, tmp_path):
    """The other client: conditions, headers and removals; each finds what the other one did as it is to be."""
    mirror = tmp_path / "mirror"
    export(team.dumps, mirror, "http://settings.example.org")
    upload(mirror, bucket)
    team.change("one")
    team.publish()
    export(team.dumps, mirror, "http://settings.example.org")
    upload(mirror, bucket)
    superseded = bucket.state()["superseded"]
    month_ago = {key: value - 31 * DAY for key, value in superseded.items()}
    # As if nobody had tried yet whether the store has conditional writes.
    bucket.put(".rsdump/state.json", json.dumps(bucket.state() | {"superseded": month_ago, "conditional": False}))
    team.change("one")
    team.publish()
    export(team.dumps, mirror, "http://settings.example.org")
    done = upload(mirror, bucket, place=bucket.at_aws)
    assert done["notes"] == [] and done["removed"] >= len(superseded) and bucket.state()["conditional"] is True
    assert not set(superseded) & set(bucket.keys())
    assert monitor_in(bucket) == team.timestamps
    whole_state(bucket.url)
    packed = bucket.get("v1/buckets/main/collections/one/changeset.gz")
    assert packed.headers["Content-Encoding"] == "gzip" and packed.headers["Content-Type"] == "application/json"
    assert packed.headers["Cache-Control"] == "public, max-age=60"
    assert upload(mirror, bucket)["unchanged"] is True
    refused = rsdump.run(
        "upload", mirror, f"{bucket.at_aws}/nowhere", env=bucket.environment | {"AWS_SECRET_ACCESS_KEY": "wrong"})
    assert refused.code == rsdump.SOME_FAILED and refused.says("aws could not list the objects"), str(refused)


def test_two_uploads_at_once_end_with_the_newer_state(team, bucket, tmp_path):
    """The second waits for the first; where they meet, one of them gives way, and readers go forward only."""
    export(team.dumps, tmp_path / "first", "http://settings.example.org")
    upload(tmp_path / "first", bucket)
    team.change("one")
    team.publish()
    export(team.dumps, tmp_path / "second", "http://settings.example.org")
    team.change("two")
    team.publish()
    export(team.dumps, tmp_path / "third", "http://settings.example.org")
    running = [
        subprocess.Popen(
            [rsdump.BINARY, "upload", tmp_path / name, bucket.at_rclone], env=rsdump.environment(bucket.environment),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for name in ("third", "second")]
    newest = 0
    while any(process.poll() is None for process in running):
        found = max(monitor_in(bucket).values())
        assert found >= newest
        newest = found
    for process in running:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == rsdump.DONE or any(
            words in errors for words in ("run the upload again", "--allow-older")), errors
    if running[0].returncode != rsdump.DONE:
        upload(tmp_path / "third", bucket)
    assert monitor_in(bucket) == team.timestamps
    whole_state(bucket.url)
    assert "uploader" not in bucket.state()


def test_another_upload_is_waited_for_and_its_traces_are_mended(team, bucket, tmp_path):
    """An upload on another machine that died: its lease is long over. One that lives is waited for."""
    mirror = tmp_path / "mirror"
    export(team.dumps, mirror, "http://settings.example.org")
    upload(mirror, bucket)
    state = bucket.state()
    pending = "v1/buckets/main/collections/gone/at/7/changeset"
    bucket.put(pending, "{}")
    dead = state | {"uploader": {"token": "dead", "until": 1_000_000}, "pending": [pending]}
    bucket.put(".rsdump/state.json", json.dumps(dead))
    assert upload(mirror, bucket)["kept"] == 1
    mended = bucket.state()
    assert "uploader" not in mended and list(mended["superseded"]) == [pending]
    # A living one: the upload waits until it is gone.
    living = mended | {"uploader": {"token": "living", "until": int(time.time() * 1000) + 60_000}}
    bucket.put(".rsdump/state.json", json.dumps(living))
    threading.Timer(2, lambda: bucket.put(".rsdump/state.json", json.dumps(mended))).start()
    start = time.monotonic()
    waited = rsdump.run("upload", mirror, bucket.at_rclone, env=bucket.environment)
    assert waited.code == rsdump.DONE and waited.says("another upload is under way"), str(waited)
    assert time.monotonic() - start > 2


def test_an_upload_that_was_overtaken_stops_before_the_list(team, bucket, tmp_path):
    """Somebody else takes the store in the middle of an upload: nothing of it becomes visible."""
    mirror = tmp_path / "mirror"
    export(team.dumps, mirror, "http://settings.example.org")
    upload(mirror, bucket)
    before = monitor_in(bucket)
    team.change("one")
    team.publish()
    export(team.dumps, mirror, "http://settings.example.org")
    taken = []

    def overtake(method, path):
        if method == "PUT" and "/at/" in path and not taken:
            taken.append(path)
            bucket.put(".rsdump/state.json", json.dumps(
                bucket.state() | {"uploader": {"token": "other", "until": int(time.time() * 1000) - 700_000}}))

    with StoreProxy(bucket.store, after=overtake) as proxy:
        outcome = upload(mirror, Bucket(bucket.store, bucket.prefix, proxy.url), code=rsdump.SOME_FAILED)
    assert outcome.says("state.json", "run the upload again") and monitor_in(bucket) == before
    upload(mirror, bucket)
    assert monitor_in(bucket) == team.timestamps


def test_a_store_without_conditional_writes(team, bucket, tmp_path):
    """It is found out and said; an upload that was overtaken is still noticed."""
    mirror = tmp_path / "mirror"
    export(team.dumps, mirror, "http://settings.example.org")
    taken = []

    def overtake(method, path):
        if method == "PUT" and "/at/" in path and taken == ["armed"]:
            taken.append(path)
            bucket.put(".rsdump/state.json", json.dumps(
                bucket.state() | {"uploader": {"token": "other", "until": int(time.time() * 1000) - 700_000}}))

    with StoreProxy(bucket.store, after=overtake, hidden=("If-Match", "If-None-Match")) as proxy:
        through = Bucket(bucket.store, bucket.prefix, proxy.url)
        assert "no conditional writes" in upload(mirror, through)["notes"][0]
        before = monitor_in(bucket)
        taken.append("armed")
        team.change("one")
        team.publish()
        export(team.dumps, mirror, "http://settings.example.org")
        assert upload(mirror, through, code=rsdump.SOME_FAILED).says("run the upload again")
        assert monitor_in(bucket) == before


def test_notify_only_when_the_new_state_can_be_read(team, bucket, tmp_path):
    """Through an edge that caches: who is told can read the state at once, by the timestamp that they were told."""
    mirror, seen = tmp_path / "mirror", []
    with NginxEdge(tmp_path / "edge", bucket.url) as running:
        def look(message):
            seen.append((message.json(), monitor(running.origin, message.json()["timestamp"])))

        with Endpoint(on_message=look) as endpoint:
            options = ("--url", running.origin, "--notify", f"{endpoint.url}/secret")
            export(team.dumps, mirror, running.origin)
            upload(mirror, bucket, *options)
            assert monitor(running.origin) == team.timestamps    # and so it is cached
            team.change("one")
            team.publish()
            export(team.dumps, mirror, running.origin)
            told = upload(mirror, bucket, *options)
            assert [each["status"] for each in told["notifications"]] == ["told"]
            message, list_then = seen[-1]
            assert message["collections"] == ["main/one"] and message["timestamp"] == team.timestamps["main/one"]
            assert list_then == team.timestamps
            count = len(seen)
            # Somebody who was not reached is told by the next run, which may be on another machine.
            endpoint.status = 503
            team.change("two")
            team.publish()
            export(team.dumps, mirror, running.origin)
            assert upload(mirror, bucket, *options)["notifications"][0]["status"] == "pending"
            assert ".rsdump/notify.json" in bucket.keys() and "secret" not in str(bucket.rclone(
                "cat", f"{bucket.at_rclone}/.rsdump/notify.json").stdout)
            endpoint.status = 204
            shutil.rmtree(mirror)
            export(team.dumps, mirror, running.origin)
            assert upload(mirror, bucket, *options)["notifications"][0]["status"] == "told"
            assert seen[-1][0]["collections"] == ["main/two"] and len(seen) > count
            assert ".rsdump/notify.json" not in bucket.keys()


def test_the_library_and_watch_follow_a_change_through_store_and_edge(team, bucket, tmp_path):
    """Told of a change, clients read it at once, past an edge whose list of collections is cached for a minute."""
    root = rsdump.run("keys", "status", team.path / "keys").out.split("trust-root ")[1].split()[0]
    mirror = UpdatesMirror(tmp_path / "nginx")
    with NginxEdge(tmp_path / "edge", bucket.url, updates=mirror.origin) as running:
        def publish():
            export(team.dumps, mirror.output, running.origin, "--updates", mirror.updates_port)
            upload(mirror.output, bucket, "--url", running.origin, "--notify", mirror.publisher)

        def sync(storage):
            outcome = rsdump.run(
                "sync", "main/one", "--storage", storage, "--server", f"{running.origin}/v2", "--trust-root", root)
            assert outcome.code == rsdump.DONE, str(outcome)
            return rsdump.run("get", "main/one", "--storage", storage, "--server", f"{running.origin}/v2",
                              "--trust-root", root)

        export(team.dumps, mirror.output, running.origin, "--updates", mirror.updates_port)
        # The address is the edge's; this host has another one.
        configuration = mirror.output / "nginx.conf"
        text = configuration.read_text()
        assert f"listen 127.0.0.1:{running.port};" in text
        configuration.write_text(text.replace(f"listen 127.0.0.1:{running.port};", f"listen 127.0.0.1:{mirror.port};"))
        with mirror:
            publish()
            assert sync(tmp_path / "app").says('"value":1') or sync(tmp_path / "app").says('"value": 1')
            with Watching(f"{running.origin}/v2") as watching:
                watching.next("connected")
                team.change("one")
                team.publish()
                start = time.monotonic()
                publish()
                event = watching.next("update")
                while event["timestamp"] != team.timestamps["main/one"]:
                    event = watching.next("update")
                assert event["collections"] == ["main/one"]
                print(f"followed after {time.monotonic() - start:.1f} s, the upload included")
                changed = changeset(running.origin, "monitor/changes", expected=event["timestamp"]).json()
                assert changed["timestamp"] == event["timestamp"]


def test_killed_uploads_leave_readers_one_state(team, bucket, tmp_path):
    """`kill -9` at random moments while readers sync: each has one state or the other, whole; the next run finishes.

    KILL_ROUNDS / 50 says how often, KILL_SEED repeats a run.
    """
    chance = random.Random(SEED)
    root = rsdump.run("keys", "status", team.path / "keys").out.split("trust-root ")[1].split()[0]
    mirror, values, failures, stop = tmp_path / "mirror", {}, [], threading.Event()
    syncs = [0, 0]

    def note():
        for name, timestamp in team.timestamps.items():
            values[name, timestamp] = team.values[name.split("/")[1]]

    note()
    with NginxEdge(tmp_path / "edge", bucket.url) as running:
        export(team.dumps, mirror, running.origin)
        seconds = 0.0
        upload(mirror, bucket)

        def read():
            """A client as the specification says: the list, then each collection at the time that it names."""
            newest, number = {}, 0
            while not stop.is_set():
                number += 1
                listed = monitor(running.origin, secrets.randbelow(10**15) + 10**15)
                for name, timestamp in listed.items():
                    assert timestamp >= newest.get(name, 0), f"{name} went back"
                    newest[name] = timestamp
                    found = changeset(running.origin, name, "v2", expected=timestamp)
                    assert found.status_code == 200, f"{name} at {timestamp}: {found.status_code}"
                    assert found.json()["timestamp"] == timestamp
                    assert [each["value"] for each in found.json()["changes"]] == [values[name, timestamp]]
                syncs[0] += 1
                time.sleep(0.02)

        def sync():
            """The library, which verifies what it reads; its storage goes on from state to state."""
            while not stop.is_set():
                for name in values_names:
                    outcome = rsdump.run("sync", name, "--storage", tmp_path / "app", "--server", f"{running.origin}/v2",
                                         "--trust-root", root)
                    assert outcome.code == rsdump.DONE, str(outcome)
                    syncs[1] += 1
                    time.sleep(0.3)

        values_names = list(team.timestamps)

        def kept(work):
            try:
                work()
            except BaseException as error:
                failures.append(error)

        readers = [threading.Thread(target=kept, args=(work,)) for work in (read, read, sync)]
        for reader in readers:
            reader.start()
        interrupted = 0
        try:
            for number in range(ROUNDS):
                where = f"round {number} of KILL_SEED={SEED} KILL_ROUNDS={ROUNDS * 50}"
                team.change(chance.choice(["one", "two"]))
                team.publish()
                note()
                export(team.dumps, mirror, running.origin)
                process = rsdump.start("upload", mirror, bucket.at_rclone, env=bucket.environment)
                time.sleep(chance.uniform(0, seconds * 1.2 if seconds else 1))
                interrupted += process.poll() is None
                process.send_signal(signal.SIGKILL)
                process.wait()
                if number % 4 == 3:
                    outcome = rsdump.run("upload", mirror, bucket.at_rclone, env=bucket.environment)
                    assert outcome.code == rsdump.DONE, f"{where}: {outcome}"
                    seconds = seconds or outcome.wall
                    assert monitor_in(bucket) == team.timestamps, where
                    whole_state(bucket.url)
                    assert "uploader" not in bucket.state() and bucket.state()["pending"] == [], where
                assert not failures, f"{where}: {failures[0]!r}"
        finally:
            stop.set()
            for reader in readers:
                reader.join(60)
        assert not failures, f"KILL_SEED={SEED}: {failures[0]!r}"
    print(f"{interrupted} of {ROUNDS} uploads were killed before their end, {syncs[0]} reads of both collections and "
          f"{syncs[1]} syncs of the library beside them, KILL_SEED={SEED}")
    assert interrupted > ROUNDS / 3 and syncs[0] > ROUNDS and syncs[1] > 1
