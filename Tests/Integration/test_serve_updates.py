"""The update channel: an event stream notifies waiting clients of each change."""
import concurrent.futures
import contextlib
import os
import socket
import time

import pytest

import rsdump
from event_stream import EventStream
from serve import Serving

STREAMS = int(os.environ.get("UPDATE_STREAMS", "400"))


@pytest.fixture(scope="module")
def demo():
    with Serving("--demo") as serving:
        yield serving


@pytest.fixture(scope="module")
def waiting():
    """A server with a stream that stays open during these tests, whose client does not read.

    The system and the server buffer a few kilobytes for it; then its events are dropped.
    """
    with Serving("--demo") as serving, socket.socket() as slow:
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        slow.settimeout(60)
        slow.connect((serving.host, serving.port))
        slow.sendall(b"GET /v2/updates HTTP/1.1\r\nHost: x\r\n\r\n")
        while serving.metric("rsdump_update_events_left_out_total") < 1:
            assert serving.ask("/demo/publish", method="POST").status == 200
        yield serving, slow


@pytest.fixture(autouse=True)
def others_are_served(waiting, demo):
    yield
    assert demo.ask("/v1/").status == 200
    assert demo.process.poll() is None


def stream_of(serving, path="/v2/updates", **how):
    return EventStream(f"{serving.url}{path}", **how)


def timestamp(serving):
    return serving.changeset("monitor/changes").json()["timestamp"]


def publish(serving):
    """Publishes a change; returns the new timestamp."""
    assert serving.ask("/demo/publish", method="POST").status == 200
    return timestamp(serving)


def wait_for(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def open_streams(serving):
    return serving.metric("rsdump_update_streams ")


@pytest.mark.parametrize("root", ["/v1", "/v2"])
def test_update_stream_starts_with_current_state(demo, root):
    with stream_of(demo, f"{root}/updates?whatever", Last_Event_ID="5") as stream:
        headers = stream.headers
        assert stream.status == 200 and stream.answer.version == 11
        assert headers["content-type"] == "text/event-stream"
        assert headers["cache-control"] == "no-cache, no-transform"
        assert headers["x-accel-buffering"] == "no"
        assert headers["access-control-allow-origin"] == "*"
        assert "content-encoding" not in headers and "content-length" not in headers
        now = timestamp(demo)
        first = stream.next()
        assert (first.name, first.json(), first.id) == ("update", {"timestamp": now}, str(now))
        assert 3000 <= stream.retry <= 8000
        new = publish(demo)
        event = stream.next()
        assert (event.name, event.json()["timestamp"], event.id) == ("update", new, str(new)) and new > now
        changes = demo.changeset("monitor/changes", _since=now).json()["changes"]
        assert event.json()["collections"] == sorted(f"{each['bucket']}/{each['collection']}" for each in changes)


def test_update_stream_on_reused_connection(demo):
    with demo.connect() as connection:
        connection.sendall(b"GET /__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        before = open_streams(demo)
        connection.sendall(b"GET /v1/updates HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
        received = b""
        while b"event: update" not in received:
            received += connection.recv(1 << 16)
        assert open_streams(demo) == before + 1
        # Bytes after the request are never parsed as a request.
        connection.sendall(b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
        new = publish(demo)
        while str(new).encode() not in received:
            received += connection.recv(1 << 16)
        assert received.count(b"HTTP/1.1") == 1
    wait_for(lambda: open_streams(demo) == before)


def test_half_closed_update_stream_ends(demo):
    received = demo.send(b"GET /v1/updates HTTP/1.1\r\nHost: x\r\n\r\n", half_close=True)
    assert b"event: update" in received and received.endswith(b"\r\n0\r\n\r\n")


def test_update_stream_methods_and_paths(demo):
    head = demo.ask("/v1/updates", method="HEAD")
    assert head.status == 200 and head.body == b""
    assert head.headers["content-type"] == "text/event-stream" and "no-cache" in head.headers["cache-control"]
    for method in ["POST", "PUT", "DELETE", "OPTIONS"]:
        answer = demo.ask("/v2/updates", method=method)
        assert answer.status == 405 and answer.headers["allow"] == "GET, HEAD"
    for path in ["/updates", "/v3/updates", "/v1/updates/x", "/push"]:
        assert demo.ask(path).status == 404
    # Like Kinto with a trailing slash on any path.
    assert demo.ask("/v1/updates/").status == 307


def test_refresh_is_announced_on_update_stream(dumps, sample):
    with Serving("--dumps", dumps.path, "--watch") as serving, stream_of(serving) as stream:
        stream.next()
        sample.patch_record("main/settings", "sync-interval", {"value": 13})
        assert dumps.refresh().code == rsdump.DONE
        new = dumps.bundle("main/settings").timestamp
        assert stream.next().json() == {"timestamp": new, "collections": ["main/settings"]}
        # A refresh without changes announces nothing: the next event is for the next change.
        assert dumps.refresh().code == rsdump.DONE
        sample.patch_record("main/markets", "nowhere", {"name": "Elsewhere"})
        assert dumps.refresh().code == rsdump.DONE
        assert stream.next().json() == {"timestamp": dumps.bundle("main/markets").timestamp, "collections": ["main/markets"]}


def test_many_update_streams_get_a_change(demo):
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(16) as pool:
        before = open_streams(demo)
        streams = [stack.enter_context(stream_of(demo, source=f"127.0.1.{1 + index % 200}")) for index in range(STREAMS)]
        assert len({event.data for event in pool.map(EventStream.next, streams)}) == 1
        assert open_streams(demo) == before + STREAMS
        new = publish(demo)
        assert {event.json()["timestamp"] for event in pool.map(EventStream.next, streams)} == {new}
    wait_for(lambda: open_streams(demo) == before)


def test_shutdown_ends_update_streams_with_retry():
    with Serving("--demo") as serving, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(stream_of(serving)) for _ in range(20)]
        for stream in streams:
            assert stream.next().name == "update"
        began = time.monotonic()
        serving.process.terminate()
        for stream in streams:
            pause, *more = stream
            assert pause.name == "pause" and 3 <= pause.json()["retry_after"] <= 7 and not more
            assert stream.retry == pause.json()["retry_after"] * 1000
        assert serving.process.wait(60) == 0
        assert time.monotonic() - began < 30


# The slow test is last: its wait began with the first test.


def test_stalled_update_stream_is_closed(waiting):
    serving, slow = waiting
    wait_for(lambda: serving.metric("rsdump_update_streams_shed_total") == 1)
    assert serving.metric('rsdump_refused_total{reason="slow-reader"}') == 1
    assert "slow-reader" in serving.log()
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := slow.recv(1 << 16):
            received += part
    assert len(received) < 50_000
