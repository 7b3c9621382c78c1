"""rsdump serve as seen by clients: the protocol compared with real Kinto, attachments, and mirrors of a mirror."""
import hashlib
import io
import json
import shutil
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request
import zipfile

import pytest
import samples
import toolchain

import rsdump
from dumps import Bundle, Dumps
from serve import Serving, drain


@pytest.fixture(scope="module")
def origin(refreshed_sample):
    with Serving("--dumps", refreshed_sample.path) as serving:
        yield serving


def by_id(records):
    return {record["id"]: record for record in records}


def test_refresh_from_serve_has_same_content(origin, refreshed_sample, sample, empty):
    added = empty.add(sample, *refreshed_sample.names, url=f"{origin.url}/v2")
    assert added.code == rsdump.DONE, str(added)
    outcome = empty.refresh()
    assert outcome.code == rsdump.DONE, str(outcome)
    ours, theirs = refreshed_sample.lock["collections"], empty.lock["collections"]
    assert {n: e["content"] for n, e in ours.items()} == {n: e["content"] for n, e in theirs.items()}
    assert empty.verify().code == rsdump.DONE


class Stay(urllib.request.HTTPRedirectHandler):
    """Returns a redirect instead of following it."""

    def redirect_request(self, *_):
        return None


QUERIES = [
    "_expected=0", "", "_expected=x", "_expected=%22{now}%22", "_expected={now}", "_expected={now}&_since={now}",
    "_expected={now}&_since=%22{now}%22", "_expected=5&_since={now}", "_expected={now}&_since=x",
    "_expected={now}&_since={later}", "_expected=", "_expected=0&_expected=", "_expected=&_expected=0",
    "_expected=0&_expected=0", "_expected=0&_since=", "_expected=0&_since=&_since={now}", "_expected=0&_since={now}&_since={now}",
    "_expected=0&_since=4102444800000", "_expected=0&_since=4102444800001", "_expected=0&_since=99999999999999999999999",
    "_expected=0&_since={later}&x=%20a%2B&y&x=b", "_expected=0&_since=-1", "_expected=-1", "unknown=1&_expected=0",
    "_expected=0&bucket=", "_expected=0&bucket=a%2Fb&collection=%0D%0A", "%5Fexpected=0",
]


def parameters(url):
    return urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query, keep_blank_values=True)


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize("query", QUERIES)
def test_changeset_queries_match_the_origin_server(origin, sample, version, query):
    now = next(
        each["last_modified"] for each in origin.changeset("monitor/changes").json()["changes"]
        if each["collection"] == "settings")
    path = "/buckets/main/collections/settings/changeset?" + query.format(now=now, later=now + 1)
    ours = origin.ask(f"/{version}{path}")
    opener = urllib.request.build_opener(Stay)
    server = sample.url.removesuffix("/v1")
    place = None
    try:
        with opener.open(f"{server}/{version}{path}") as response:
            status, body = response.status, response.read()
    except urllib.error.HTTPError as failure:
        status, body, place = failure.code, failure.read(), failure.headers["location"]
    assert ours.status == status, (ours, body)
    if status == 200:
        theirs = json.loads(body)
        assert ours.json()["timestamp"] == theirs["timestamp"]
        assert by_id(ours.json()["changes"]) == by_id(theirs["changes"])
    if status >= 400:
        theirs = json.loads(body)
        assert [key for key in ours.json() if key in ("code", "detail")] == [key for key in theirs if key in ("code", "detail")]
        if version == "v1":
            assert (ours.json()["code"], ours.json()["errno"]) == (400, 107)
        elif status == 422:
            assert [each["loc"] for each in ours.json()["detail"]] == [each["loc"] for each in theirs["detail"]]
    if status == 307:
        assert parameters(ours.headers["location"]) == parameters(place)


def test_errors_have_kinto_format(origin):
    for path, code in [("/v1/buckets/main/collections/none/changeset?_expected=0", 404), ("/attachments/none", 404), ("/chains/none.pem", 404), ("/nobody", 404)]:
        answer = origin.ask(path)
        assert (answer.status, answer.json()["code"]) == (code, code), path
    for path in ("/v2/nothing", "/v2/buckets/main/collections/none/changeset?_expected=0"):
        answer = origin.ask(path)
        assert answer.status == 404 and list(answer.json()) == ["detail"], path
    answer = origin.ask("/v1/buckets/main/collections/settings/changeset?_expected=0", method="DELETE")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, HEAD")
    assert origin.ask("/demo/publish", method="POST").status == 405


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("path", ["/nobody", "/collections/main", "/v3/", "/index.html", "/collections/a/b/c/d", "/V1/"])
def test_not_found_is_html_for_browsers_else_json(origin, path):
    page = origin.ask(path, Accept=BROWSER)
    assert (page.status, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
    assert page.headers["x-content-type-options"] == "nosniff"
    assert b"<h1>Not found</h1>" in page.body and b'<a href="/">All collections</a>' in page.body
    for accept in ("*/*", "application/json", "text/html;q=0, */*", "text/htmlish"):
        error = origin.ask(path, Accept=accept)
        assert (error.status, error.json()["errno"], error.headers["vary"]) == (404, 111, "Accept"), accept
    assert page.headers["vary"] == "Accept"
    head = origin.ask(path, method="HEAD", Accept=BROWSER)
    assert (head.status, head.body, head.headers["content-length"]) == (404, b"", str(len(page.body)))
    assert origin.ask(path, method="POST", Accept=BROWSER).status == 405


def test_cors_allows_api_only(origin, refreshed_sample):
    location = refreshed_sample.bundle("main/icons").records[0]["attachment"]["location"]
    for path in ["/v1/", "/v2/", "/v1/buckets/main/collections/settings/changeset?_expected=0", f"/attachments/{location}",
                 "/v1/buckets/main/collections/settings/changeset?_expected=0&_since=1", "/attachments/none", "/v1/none",
                 "/v1/buckets/monitor/collections/changes/changeset?_expected=0"]:
        answer = origin.ask(path, Origin="https://example.org")
        assert answer.headers["access-control-allow-origin"] == "*", path
        assert "Backoff" in answer.headers["access-control-expose-headers"]
    for path in ["/", "/collections/main/settings", "/collections/main/icons/records/petals-22/attachment"]:
        answer = origin.ask(path, Origin="https://example.org")
        assert answer.status == 200 and "access-control-allow-origin" not in answer.headers
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_the_servers_zip_and_health(origin, refreshed_sample):
    answer = origin.ask("/attachments/bundles/main--icons.zip")
    with zipfile.ZipFile(io.BytesIO(answer.body)) as archive:
        assert archive.testzip() is None
        records = {r["id"]: r for r in refreshed_sample.bundle("main/icons").records}
        assert {n for n in archive.namelist() if not n.endswith(".meta.json")} == set(records)
        for name, record in records.items():
            assert hashlib.sha256(archive.read(name)).hexdigest() == record["attachment"]["hash"]
            assert json.loads(archive.read(f"{name}.meta.json")) == record
    part = origin.ask("/attachments/bundles/main--icons.zip", Range="bytes=100-3000")
    assert part.body == answer.body[100:3001]
    for path in ["/__heartbeat__", "/__lbheartbeat__", "/__version__", "/v1/__heartbeat__", "/v2/__heartbeat__"]:
        assert origin.ask(path).status == 200, path
    assert "rsdump_collections 5" in origin.ask("/metrics").body.decode()


def curl(*arguments):
    return subprocess.run(
        [toolchain.curl(), "--silent", "--show-error", "--fail", "--max-time", "60", *map(str, arguments)], check=True,
        capture_output=True).stdout


def test_curl(origin, refreshed_sample, tmp_path):
    """Compression, a redirect, a resumed download, conditional requests, many files over one connection, and an offer of HTTP/2,
    after which the second request must not hang."""
    settings = f"{origin.url}/v1/buckets/main/collections/settings/changeset"
    expected = refreshed_sample.bundle("main/settings").records
    followed = curl("--compressed", "--location", f"{settings}?_expected=0&_since=%221%22")
    assert by_id(json.loads(followed)["changes"]) == by_id(expected)
    offered = curl("--http2", f"{origin.url}/v1/__lbheartbeat__", f"{settings}?_expected=0", f"{origin.url}/v1/__lbheartbeat__")
    assert b'"changes"' in offered

    records = refreshed_sample.bundle("main/icons").records
    base = json.loads(curl(f"{origin.url}/v2/"))["capabilities"]["attachments"]["base_url"]
    options = [word for r in records for word in (base + r["attachment"]["location"], "--output", tmp_path / r["id"])]
    connects = curl(*options, "--write-out", "%{num_connects} ").split()
    assert sum(map(int, connects)) == 1 and len(connects) == len(records)
    for record in records:
        assert hashlib.sha256((tmp_path / record["id"]).read_bytes()).hexdigest() == record["attachment"]["hash"]

    url, whole = base + records[0]["attachment"]["location"], (tmp_path / records[0]["id"]).read_bytes()
    part = tmp_path / "part"
    part.write_bytes(whole[:100])
    status = curl(url, "--continue-at", "-", "--output", part, "--write-out", "%{http_code}")
    assert status == b"206" and part.read_bytes() == whole
    tag = tmp_path / "tag"
    assert curl(url, "--etag-save", tag, "--output", part, "--write-out", "%{http_code}") == b"200"
    assert curl(url, "--etag-compare", tag, "--output", tmp_path / "none", "--write-out", "%{http_code}") == b"304"
    curl(url, "--remote-time", "--output", part)
    assert curl(url, "--time-cond", part, "--output", tmp_path / "none", "--write-out", "%{http_code}") == b"304"
    assert not (tmp_path / "none").exists() or (tmp_path / "none").read_bytes() == b""
    head = curl("--head", url).decode().lower()
    assert f"content-length: {len(whole)}" in head and "accept-ranges: bytes" in head and "last-modified: " in head


def test_watch_reloads_swapped_config_map_once(dumps, sample, tmp_path):
    """Kubernetes mounts links into a directory that is itself a link, and swaps that link."""
    mount = tmp_path / "mount"
    mount.mkdir()

    def swap(version):
        dumps.copy(mount / f"..{version}")
        link = mount / "..data_tmp"
        link.symlink_to(f"..{version}")
        link.rename(mount / "..data")

    swap(1)
    for path in (mount / "..1").iterdir():
        if not path.name.startswith("."):
            (mount / path.name).symlink_to(f"..data/{path.name}")
    with Serving("--dumps", mount, "--watch") as serving:
        time.sleep(1.5)
        assert "loaded new bundles" not in serving.log(), serving.log()
        sample.patch_record("main/settings", "sync-interval", {"value": 14})
        assert dumps.refresh().code == rsdump.DONE
        swap(2)
        expected = dumps.bundle("main/settings").timestamp
        while serving.changeset("main/settings").json()["timestamp"] != expected:
            assert serving.process.poll() is None
        time.sleep(1.5)
        assert serving.log().count("loaded new bundles") == 1, serving.log()


def test_damaged_bundle_is_reported_and_not_served(dumps):
    path = dumps.bundle_path("main/markets")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    with Serving("--dumps", dumps.path) as serving:
        assert serving.changeset("main/markets").status == 404
        assert serving.changeset("main/settings").status == 200
        assert "main/markets" in serving.log()
        assert serving.metric("rsdump_collections_damaged ") == 1
        listed = {c["collection"] for c in serving.changeset("monitor/changes").json()["changes"]}
        assert "markets" not in listed and "settings" in listed
        for prefix in ("", "/v1", "/v2"):
            health = serving.ask(f"{prefix}/__heartbeat__?x=1")
            assert health.status == 503 and health.json() == {"snapshots": False, "damaged": ["main/markets"]}
            assert serving.ask(f"{prefix}/__heartbeat__", method="HEAD").status == 503
            assert serving.ask(f"{prefix}/__lbheartbeat__").status == 200


def test_the_heartbeat_recovers_with_the_bundle(dumps, sample, tmp_path):
    """An interrupted pull: the earlier state is served, but the heartbeat reports the problem."""
    place = tmp_path / "served"
    dumps.copy(place)

    def bring(name):
        shutil.copy(dumps.path / name, tmp_path / "new")
        (tmp_path / "new").rename(place / name)

    def wait(status):
        while (health := serving.ask("/__heartbeat__")).status != status:
            assert serving.process.poll() is None
        return health

    with Serving("--dumps", place, "--watch") as serving:
        wait(200)
        sample.patch_record("main/settings", "sync-interval", {"value": 15})
        assert dumps.refresh().code == rsdump.DONE
        bring("dumps.lock.json")
        assert wait(503).json()["damaged"] == ["main/settings"]
        assert serving.changeset("main/settings").status == 200
        bring("main/settings.zip")
        wait(200)


def test_watch_waits_for_the_first_refresh(dumps, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    place = tmp_path / "new"
    for end in ("refresh", "stop"):
        process = subprocess.Popen(
            [rsdump.BINARY, "serve", "--watch", "--dumps", place, "--port", str(port)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=rsdump.environment())
        try:
            assert "waiting for" in process.stderr.readline()
            with pytest.raises(urllib.error.HTTPError) as failure:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/__heartbeat__", timeout=60)
            assert failure.value.code == 503 and failure.value.headers["Retry-After"] == "1"
            if end == "refresh":
                dumps.copy(tmp_path / "copy")
                (tmp_path / "copy").rename(place)
                assert process.stdout.readline().strip() == f"http://127.0.0.1:{port}"
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/__heartbeat__", timeout=60) as answer:
                    assert answer.status == 200
                (place / "dumps.lock.json").unlink()
                assert any("the file is missing" in line for line in process.stderr)
                monitor = f"http://127.0.0.1:{port}/v2/buckets/monitor/collections/changes/changeset?_expected=0"
                assert json.load(urllib.request.urlopen(monitor, timeout=60))["changes"]
                shutil.rmtree(place)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()
            process.wait(60)
    without = subprocess.run(
        [rsdump.BINARY, "serve", "--dumps", place], capture_output=True, text=True, timeout=60, env=rsdump.environment())
    assert without.returncode == rsdump.USAGE and "dumps.lock.json" in without.stderr


def test_requests_before_bundles_are_loaded_get_503(refreshed_real):
    """Early requests are told to retry; the monitor is never empty."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [rsdump.BINARY, "serve", "--dumps", refreshed_real.path, "--port", str(port)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=rsdump.environment())
    statuses = []
    try:
        while statuses[-1:] != [200]:
            assert process.poll() is None
            try:
                for path in ("/__heartbeat__", "/v1/buckets/monitor/collections/changes/changeset?_expected=0"):
                    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
                        status, body = answer.status, json.load(answer)
                assert body["changes"]
            except urllib.error.HTTPError as failure:
                status = failure.code
                assert (status, failure.headers["Retry-After"], json.load(failure)["code"]) == (503, "1", 503)
            except urllib.error.URLError:
                continue
            statuses.append(status)
        assert 503 in statuses, "no request arrived before the bundles were loaded"
    finally:
        process.terminate()
        process.wait(60)


def test_serve_writes_nothing_and_stops_on_sigint(dumps):
    before = dumps.stats()
    with Serving("--dumps", dumps.path) as serving:
        for name in samples.NAMES:
            assert serving.changeset(name).status == 200
        serving.process.send_signal(signal.SIGINT)
        assert serving.process.wait(60) == 0
    assert dumps.stats() == before


def test_shutdown_finishes_running_downloads(refreshed_real):
    """A response that has begun is completed; idle connections are closed, and new ones are refused."""
    with Serving("--dumps", refreshed_real.path) as serving:
        expected = serving.changeset("security-state/onecrl").body
        idle, download = serving.connect(), serving.connect()
        idle.sendall(b"GET /v1/__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n")
        assert idle.recv(1 << 16).startswith(b"HTTP/1.1 200")
        path = "/v2/buckets/security-state/collections/onecrl/changeset?_expected=0"
        # More than fits into the buffers of both sockets.
        count = 8
        download.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        download.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode() * count)
        received = download.recv(1 << 10)
        serving.process.send_signal(signal.SIGTERM)
        while (part := idle.recv(1 << 16)):
            assert part
        received += drain(download)
        bodies = [part.split(b"\r\n\r\n", 1)[1] for part in received.split(b"HTTP/1.1 200 OK\r\n")[1:]]
        assert 0 < len(bodies) < count and all(body == expected for body in bodies)
        assert serving.process.wait(60) == 0
        with pytest.raises(ConnectionRefusedError):
            serving.connect()


def test_serve_names_unusable_listen_address(refreshed_sample):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for host, port, words in (("127.0.0.1", port, [f"127.0.0.1:{port}", "already in use", "--port"]),
                                  ("198.51.100.7", 0, ["198.51.100.7:0", "is not an address of this machine", "--host"]),
                                  ("300.1.1.1", 0, ["300.1.1.1:0", "is not an address of this machine", "--host"])):
            outcome = rsdump.run("serve", "--dumps", refreshed_sample.path, "--host", host, "--port", port)
            assert outcome.code == rsdump.USAGE and outcome.says(*words) and outcome.out == "", str(outcome)
    outcome = rsdump.run("serve", "--demo", "--watch")
    assert outcome.code == rsdump.USAGE and outcome.says("--demo", "--watch"), str(outcome)


def test_wildcard_host_asks_for_public_url(refreshed_sample):
    with Serving("--dumps", refreshed_sample.path, "--host", "0.0.0.0") as serving:
        while "--public-url" not in serving.log():
            assert serving.process.poll() is None
    with Serving("--dumps", refreshed_sample.path, "--host", "0.0.0.0", "--public-url", "https://mirror.example.org") as serving:
        assert serving.url == "https://mirror.example.org"
        while "API: https://mirror.example.org/v1 and /v2" not in serving.log():
            assert serving.process.poll() is None
        assert "--public-url" not in serving.log()


def test_demo_publishes_signed_changes(tmp_path):
    with Serving("--demo") as serving:
        dumps = Dumps(tmp_path / "dumps")
        names = samples.NAMES
        assert rsdump.run(
            "add", *names, "--dumps", dumps.path, "--server", f"{serving.url}/v2", "--trust-root", serving.root).code == 0
        assert dumps.refresh().code == rsdump.DONE
        assert serving.ask("/demo/publish", method="POST", Origin="http://evil.example").status == 403
        assert serving.ask("/demo/publish").status == 404
        answer = serving.ask("/demo/publish", method="POST")
        assert answer.status == 200 and len(answer.json()["published"]) == 3
        outcome = dumps.refresh()
        assert outcome.code == rsdump.DONE and outcome.says("3 updated, 2 unchanged"), str(outcome)
        assert serving.metric('rsdump_requests_total{route="delta",status="200"}') == 3
        assert b"23 petals" in b"".join(Bundle(dumps.bundle_path("main/icons")).attachments.values())
        assert dumps.verify().code == rsdump.DONE
        storage = ("--storage", tmp_path / "app", "--packaged", dumps.path)
        assert serving.ask("/demo/publish", method="POST").status == 200
        synced = rsdump.run("get", "--sync", *names, *storage)
        assert synced.code == rsdump.DONE, str(synced)
        assert serving.metric('rsdump_requests_total{route="delta",status="200"}') == 6


def test_demo_removes_files_of_killed_demo(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with Serving("--demo") as first:
        [left] = tmp_path.iterdir()
        with Serving("--demo") as second:
            assert len(list(tmp_path.iterdir())) == 2, "the first demo is still running"
            second.process.kill()
            second.process.wait()
        assert len(list(tmp_path.iterdir())) == 2
        with Serving("--demo"):
            assert len(list(tmp_path.iterdir())) == 2 and left.exists()
        assert list(tmp_path.iterdir()) == [left]
        first.process.kill()
        first.process.wait()
    rsdump.run("verify", "--rebuild", "--dumps", rsdump.REPOSITORY / "dumps")
    assert not list(tmp_path.iterdir())
