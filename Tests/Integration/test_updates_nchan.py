"""The update channel of a mirror: real nginx with Debian's nchan, set up by Examples/nginx/mirror.conf."""
import contextlib
import http.client
import json
import subprocess

import pytest
import requests

import rsdump
import toolchain
from mirror import Mirror, UpdatesMirror
from publishing import ON_CHANGE


@pytest.fixture
def mirror(tmp_path):
    return UpdatesMirror(tmp_path / "nginx")


def test_nchan_new_subscribers_get_last_event(mirror, dumps):
    mirror.publish(dumps)
    with mirror, mirror.listen() as first:
        assert first.status == 200 and first.headers["Content-Type"].startswith("text/event-stream")
        assert first.headers["Cache-Control"] == "no-cache, no-transform"
        assert first.headers["X-Accel-Buffering"] == "no"
        assert mirror.post('{"timestamp":1}') == 201
        assert mirror.post('{"timestamp":2}') == 201
        assert [first.next().json() for _ in range(2)] == [{"timestamp": 1}, {"timestamp": 2}]
        # A new subscriber gets the last event, and so does one that reconnects with an id from a host whose clock is ahead.
        for version, headers in (("v1", {}), ("v2", {}), ("v2", {"Last_Event_ID": "4000000000:0"})):
            with mirror.listen(version, **headers) as late:
                event = late.next()
                assert (event.name, event.json()) == ("update", {"timestamp": 2})


@pytest.mark.parametrize("accept", ["text/event-stream", "*/*"])
def test_nchan_head_request_has_headers_only(mirror, dumps, accept):
    """nchan alone would keep the connection open and send nothing."""
    mirror.publish(dumps)
    headers = {"Accept": accept, "Accept-Encoding": "identity", "Cache-Control": "no-store"}
    with mirror:
        answer = requests.head(mirror.origin + "/v2/updates", headers=headers, timeout=10)
    assert answer.status_code == 200 and answer.headers["Content-Type"].startswith("text/event-stream")
    assert answer.headers["Cache-Control"] == "no-cache, no-transform"


def test_nchan_subscribers_before_first_event(mirror, dumps):
    """With `nchan_subscriber_first_message -1`, the worker of nchan 1.3.6 would crash here."""
    mirror.publish(dumps)
    with mirror, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(mirror.listen()) for _ in range(50)]
        assert mirror.post('{"timestamp":1}') == 201
        assert [stream.next().json() for stream in streams] == 50 * [{"timestamp": 1}]
        assert "alert" not in (mirror.folder / "error.log").read_text()


def test_mirror_change_is_announced_by_nchan(mirror, dumps, sample):
    mirror.publish(dumps)
    with mirror:
        # Nothing to announce: nginx was not running when the first tree was published.
        hook = ("--on-change", f"{ON_CHANGE}/webhook {mirror.publisher}")
        assert mirror.publish(dumps, options=hook).json()["hooks"][0]["status"] == "unchanged"
        with mirror.listen() as first:
            sample.delete_record("main/markets", dumps.bundle("main/markets").records[0]["id"])
            assert dumps.refresh().code == rsdump.DONE
            told = mirror.publish(dumps, options=hook).json()["hooks"][0]
            assert told["status"] == "told" and told["collections"] == ["main/markets"]
            event = first.next()
            assert event.name == "update"
            assert event.json() == {"timestamp": told["timestamp"], "collections": ["main/markets"]}
            # The timestamp matches the monitor that the mirror now serves.
            assert mirror.changeset("monitor/changes").json()["timestamp"] == told["timestamp"]
        with mirror.listen("v2") as late:
            assert late.next().json() == event.json()
        streamed = subprocess.run(
            [toolchain.curl(), "--silent", "--no-buffer", "--max-time", "1", "--header", "Accept: text/event-stream",
             f"{mirror.origin}/v1/updates"], capture_output=True, text=True, check=False).stdout
        assert "event: update\n" in streamed and f"data: {event.data}\n" in streamed
    # nginx is down: the mirror is updated anyway, and the next run sends the missed notification.
    sample.delete_record("main/markets", dumps.bundle("main/markets").records[0]["id"])
    assert dumps.refresh().code == rsdump.DONE
    outcome = mirror.publish(dumps, options=hook)
    assert outcome.json()["hooks"][0]["status"] == "pending" and "warning:" in outcome.err
    assert (mirror.output / "on-change.json").exists()
    with mirror:
        assert mirror.publish(dumps, options=hook).json()["hooks"][0]["status"] == "told"
        with mirror.listen() as late:
            assert late.next().json()["collections"] == ["main/markets"]
    assert not (mirror.output / "on-change.json").exists()
    letters = mirror.folder / "letters"
    letters.mkdir()
    (letters / "letter.txt").write_text("dear")
    mirror.output = letters
    outcome = Mirror.publish(mirror, dumps, options=hook)
    assert outcome.code == rsdump.USAGE and [path.name for path in letters.iterdir()] == ["letter.txt"]


def test_nchan_publisher_is_local_only(mirror, dumps):
    mirror.publish(dumps)
    with mirror:
        assert mirror.post('{"timestamp":1}') == 202
        # All of 127/8 belongs to this machine: a different address simulates another machine.
        assert mirror.post('{"timestamp":2}', with_=("--interface", "127.0.0.2")) == 403
        assert mirror.post('{"timestamp":2}', with_=("--request", "DELETE")) == 405
        # Web pages open on this machine may not post either.
        for origin in ("null", "https://evil.example", mirror.origin, "http://127.0.0.1"):
            assert mirror.post('{"timestamp":2}', with_=("--header", f"Origin: {origin}")) == 403
        assert mirror.post('"' + 5000 * "x" + '"') == 413
        for path in ("/v1/updates", "/v2/updates", "/publish"):
            assert requests.post(mirror.origin + path, data="{}", timeout=30).status_code == 405, path
        for path in ("/", "/v1/updates", "/publish/"):
            assert requests.get(f"http://127.0.0.1:{mirror.updates_port}{path}", timeout=30).status_code == 404, path
        with mirror.listen() as stream:
            assert stream.next().json() == {"timestamp": 1}


def test_nchan_stream_allows_cors(mirror, dumps):
    mirror.publish(dumps)
    with mirror, mirror.listen(Origin="https://app.example") as stream:
        assert stream.headers.get_all("Access-Control-Allow-Origin") == ["*"]


def test_nchan_proxy_hop_depends_on_headers(mirror, dumps):
    """The proxy hop doubles the memory per client, so large numbers of clients should avoid it."""
    mirror.publish(dumps)
    plain = [
        {"Accept": "text/event-stream", "Sec-Fetch-Mode": "cors"},
        {"Accept": "text/event-stream, */*", "Sec-Fetch-Mode": "same-origin"},
        {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-store"},
    ]
    hopping = [
        {"Accept": "text/event-stream"}, {"Accept": "*/*", "Sec-Fetch-Mode": "cors"}, {"Sec-Fetch-Mode": "cors"}, {},
        {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Cache-Control": "no-cache"},
    ]
    with mirror:
        assert mirror.post('{"timestamp":1}') == 202
        for headers in plain + hopping:
            connection = http.client.HTTPConnection("127.0.0.1", mirror.port, timeout=30)
            with contextlib.closing(connection):
                connection.putrequest("GET", "/v1/updates", skip_accept_encoding=True)
                for name, value in headers.items():
                    connection.putheader(name, value)
                connection.endheaders()
                answer = connection.getresponse()
                assert answer.status == 200 and (answer.headers["Transfer-Encoding"] is None) == (headers in plain), headers
                while not answer.readline().startswith(b"data:"):
                    pass
    assert mirror.places().count(f"{mirror.updates_port} /updates") == len(hopping)


def test_a_mirror_below_a_path(mirror, dumps):
    """The path is a prefix of each path in the example."""
    example, mirror.origin = mirror.example(), f"{mirror.origin}/settings"
    for path in ("/v[12]", "/chains/", "/attachments/"):
        example = example.replace(path, f"/settings{path}")
    mirror.example = lambda: example
    mirror.publish(dumps)
    paths = [each["path"] for each in json.loads((mirror.output / "current/objects.json").read_text())]
    assert all(any(part in path for path in paths) for part in ("/chains/", "/attachments/", "/v1/"))
    with mirror:
        assert mirror.post('{"timestamp":1}') == 202
        with mirror.listen() as stream:
            assert stream.next().json() == {"timestamp": 1}
        for path in paths:
            if "/since/" not in path:
                assert requests.get(f"http://127.0.0.1:{mirror.port}{path}", timeout=30).status_code == 200, path
        assert mirror.changeset("main/markets", since=dumps.bundle("main/markets").timestamp).json()["changes"] == []
        assert mirror.changeset("main/markets", since=1).headers["Location"].startswith("/settings/v1/buckets/")
