"""The update channel: clients that wait are told of each change by an event stream."""
import concurrent.futures
import contextlib
import json
import os
import subprocess
import time

import pytest

import rsdump
from serve import Serving
from updates import EventStream

STREAMS = int(os.environ.get("UPDATE_STREAMS", "400"))


@pytest.fixture(scope="module")
def demo():
    with Serving("--demo") as serving:
        yield serving


@pytest.fixture(scope="module")
def waiting():
    """A server with a stream from the beginning of these tests on, whose client does not read.

    The system takes a few kilobytes for it, and the server; after that it is left out.
    """
    with Serving("--demo") as serving, EventStream(serving, receive_buffer=1024) as slow:
        while serving.metric("rsdump_update_events_left_out_total") < 1:
            assert serving.ask("/demo/publish", method="POST").status == 200
        yield serving, slow


@pytest.fixture(autouse=True)
def others_are_served(waiting, demo):
    yield
    assert demo.ask("/v1/").status == 200
    assert demo.process.poll() is None


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
def test_a_stream_begins_with_the_present_and_tells_of_changes(demo, root):
    with EventStream(demo, f"{root}/updates?whatever", headers="Last-Event-ID: 5\r\n") as stream:
        status, headers = stream.head()
        assert status == "HTTP/1.1 200 OK"
        assert headers["content-type"] == "text/event-stream"
        assert headers["cache-control"] == "no-cache, no-transform"
        assert headers["x-accel-buffering"] == "no"
        assert headers["access-control-allow-origin"] == "*"
        assert "content-encoding" not in headers and "content-length" not in headers
        events = stream.events()
        now = timestamp(demo)
        assert next(events) == ("update", {"timestamp": now}, str(now))
        assert 3000 <= stream.retry <= 8000
        new = publish(demo)
        name, data, identity = next(events)
        assert (name, data["timestamp"], identity) == ("update", new, str(new)) and new > now
        changes = demo.changeset("monitor/changes", _since=now).json()["changes"]
        assert data["collections"] == sorted(f"{each['bucket']}/{each['collection']}" for each in changes)


def test_curl_reads_it_as_it_comes(demo):
    process = subprocess.Popen(["curl", "-sN", "--compressed", f"{demo.url}/v1/updates"], stdout=subprocess.PIPE, text=True)
    try:
        lines = iter(process.stdout.readline, "")
        assert next(line for line in lines if line.startswith("data:"))
        new = publish(demo)
        assert f'"timestamp":{new}' in next(line for line in lines if line.startswith("data:"))
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_connection_that_was_used_before_can_wait_as_well(demo):
    with demo.connect() as connection:
        connection.sendall(b"GET /__lbheartbeat__ HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200")
        before = open_streams(demo)
        connection.sendall(b"GET /v1/updates HTTP/1.1\r\nHost: x\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
        received = b""
        while b"event: update" not in received:
            received += connection.recv(1 << 16)
        assert open_streams(demo) == before + 1
        # What comes behind the request is never read as one.
        connection.sendall(b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n")
        new = publish(demo)
        while str(new).encode() not in received:
            received += connection.recv(1 << 16)
        assert received.count(b"HTTP/1.1") == 1
    wait_for(lambda: open_streams(demo) == before)


def test_a_client_that_closes_its_side_gets_the_present_and_the_end(demo):
    received = demo.send(b"GET /v1/updates HTTP/1.1\r\nHost: x\r\n\r\n", half_close=True)
    assert b"event: update" in received and received.endswith(b"\r\n0\r\n\r\n")


def test_other_methods(demo):
    head = demo.ask("/v1/updates", method="HEAD")
    assert head.status == 200 and head.body == b""
    assert head.headers["content-type"] == "text/event-stream" and "no-cache" in head.headers["cache-control"]
    for method in ["POST", "PUT", "DELETE", "OPTIONS"]:
        answer = demo.ask("/v2/updates", method=method)
        assert answer.status == 405 and answer.headers["allow"] == "GET, HEAD"
    for path in ["/updates", "/v3/updates", "/v1/updates/x", "/push"]:
        assert demo.ask(path).status == 404
    # As Kinto does with the slash at the end of any path.
    assert demo.ask("/v1/updates/").status == 307


def test_a_refresh_reaches_a_stream_of_a_watched_directory(dumps, sample):
    with Serving("--dumps", dumps.path, "--watch") as serving, EventStream(serving) as stream:
        events = stream.events()
        next(events)
        sample.patch_record("main/settings", "sync-interval", {"value": 13})
        assert dumps.refresh().code == rsdump.DONE
        new = dumps.bundle("main/settings").timestamp
        assert next(events)[1] == {"timestamp": new, "collections": ["main/settings"]}
        # A refresh that changes nothing announces nothing: the next event is that of the next change.
        assert dumps.refresh().code == rsdump.DONE
        sample.patch_record("main/regions", "nowhere", {"name": "Elsewhere"})
        assert dumps.refresh().code == rsdump.DONE
        assert next(events)[1] == {"timestamp": dumps.bundle("main/regions").timestamp, "collections": ["main/regions"]}


def test_many_streams_get_a_change_and_others_are_served(demo):
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(16) as pool:
        before = open_streams(demo)
        streams = [stack.enter_context(EventStream(demo, source=f"127.0.1.{1 + index % 200}")) for index in range(STREAMS)]
        readers = [stream.events() for stream in streams]
        assert len({json.dumps(event) for event in pool.map(next, readers)}) == 1
        assert open_streams(demo) == before + STREAMS
        new = publish(demo)
        assert {event[1]["timestamp"] for event in pool.map(next, readers)} == {new}
    wait_for(lambda: open_streams(demo) == before)


def test_a_graceful_end_asks_to_come_back_and_ends_at_once():
    with Serving("--demo") as serving, contextlib.ExitStack() as stack:
        streams = [stack.enter_context(EventStream(serving)) for _ in range(20)]
        events = [stream.events() for stream in streams]
        for each in events:
            assert next(each)[0] == "update"
        began = time.monotonic()
        serving.process.terminate()
        for stream, each in zip(streams, events):
            name, data, _ = next(each)
            assert name == "pause" and 3 <= data["retry_after"] <= 7
            assert stream.retry == data["retry_after"] * 1000
            assert next(each, None) is None and not stream.is_open
        assert serving.process.wait(60) == 0
        assert time.monotonic() - began < 30


# What takes a while comes last: it began with the first test.


def test_a_reader_that_does_not_read_is_shed(waiting):
    serving, slow = waiting
    wait_for(lambda: serving.metric("rsdump_update_streams_shed_total") == 1)
    assert serving.metric('rsdump_refused_total{reason="slow-reader"}') == 1
    assert "slow-reader" in serving.log()
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := slow.socket.recv(1 << 16):
            received += part
    assert len(received) < 50_000
