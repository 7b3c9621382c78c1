"""The update channel: clients that wait are told of each change, by an event stream or by Mozilla's push protocol."""
import concurrent.futures
import contextlib
import json
import os
import re
import struct
import subprocess
import time

import pytest

import rsdump
from serve import Serving
from updates import BINARY, CLOSE, MONITOR, PING, PONG, EventStream, WebSocket

STREAMS = int(os.environ.get("UPDATE_STREAMS", "400"))


@pytest.fixture(scope="module")
def demo():
    with Serving("--demo") as serving:
        yield serving


@pytest.fixture(scope="module")
def waiting():
    """A server with two streams from the beginning of these tests on: one for heartbeats, and one whose client does not read.

    The system takes a few kilobytes for the latter, and the server; after that it is left out.
    """
    with Serving("--demo") as serving, EventStream(serving) as patient, EventStream(serving, receive_buffer=1024) as slow:
        while serving.metric("rsdump_update_events_left_out_total") < 1:
            assert serving.ask("/demo/publish", method="POST").status == 200
        yield serving, patient, slow


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


def open_streams(serving, protocol="event-stream"):
    return serving.metric(f'rsdump_update_streams{{protocol="{protocol}"}}')


# Event streams.

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


def test_a_client_of_http_1_0_gets_no_chunks(demo):
    with EventStream(demo, http="1.0") as stream:
        status, headers = stream.head()
        assert " 200 " in status and "transfer-encoding" not in headers and headers["connection"] == "close"
        events = stream.events()
        next(events)
        new = publish(demo)
        assert next(events)[1]["timestamp"] == new


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
    for path in ["/updates", "/v3/updates", "/v1/updates/", "/v1/updates/x"]:
        assert demo.ask(path).status == 404


def test_a_refresh_reaches_a_stream_of_a_watched_directory(dumps, sample):
    with Serving("--dumps", dumps.path, "--watch") as serving, EventStream(serving) as stream, WebSocket(serving) as push:
        events = stream.events()
        before = next(events)[1]["timestamp"]
        assert push.hello(known={MONITOR: ""})["broadcasts"] == {MONITOR: f'"{before}"'}
        sample.patch_record("main/settings", "sync-interval", {"value": 13})
        assert dumps.refresh().code == rsdump.DONE
        new = dumps.bundle("main/settings").timestamp
        assert next(events)[1] == {"timestamp": new, "collections": ["main/settings"]}
        assert push.message() == {"messageType": "broadcast", "broadcasts": {MONITOR: f'"{new}"'}}
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
        push = stack.enter_context(WebSocket(serving))
        push.hello()
        began = time.monotonic()
        serving.process.terminate()
        for stream, each in zip(streams, events):
            name, data, _ = next(each)
            assert name == "pause" and 3 <= data["retry_after"] <= 7
            assert stream.retry == data["retry_after"] * 1000
            assert next(each, None) is None and not stream.is_open
        assert push.closed() == 1001
        assert serving.process.wait(60) == 0
        assert time.monotonic() - began < 30


# Mozilla's push protocol.

def test_a_client_of_the_push_protocol_is_told_of_changes(demo):
    with WebSocket(demo, headers="Sec-WebSocket-Protocol: push-notification\r\n") as push:
        assert push.status == 101 and push.headers["sec-websocket-protocol"] == "push-notification"
        now = f'"{timestamp(demo)}"'
        hello = push.hello(known={MONITOR: '"0"', "a/b": "x"})
        assert re.fullmatch("[0-9a-f]{32}", hello.pop("uaid"))
        assert hello == {"messageType": "hello", "status": 200, "use_webpush": True,
                         "broadcasts": {MONITOR: now, "errors": {"a/b": "Broadcast not found"}}}
        new = publish(demo)
        assert push.message() == {"messageType": "broadcast", "broadcasts": {MONITOR: f'"{new}"'}}
        push.send(b"{}")
        assert push.receive()[1] == b"{}"
        push.socket.sendall(push.frame(PING, b"abc"))
        assert push.receive() == (PONG, b"abc")
        push.socket.sendall(push.frame(CLOSE, struct.pack("!H", 1000)))
        assert push.closed() == 1000


def test_a_subscription_after_the_hello(demo):
    with WebSocket(demo) as push:
        assert "sec-websocket-protocol" not in push.headers
        assert push.hello(known={"x": ""})["broadcasts"] == {"errors": {"x": "Broadcast not found"}}
        new = publish(demo)
        # Not subscribed: the answer to this is the next message.
        push.send({"messageType": "broadcast_subscribe", "broadcasts": {MONITOR: ""}})
        assert push.message()["broadcasts"] == {MONITOR: f'"{new}"'}
        # What it has already is not answered.
        push.send({"messageType": "broadcast_subscribe", "broadcasts": {MONITOR: f'"{new}"'}})
        push.send({"messageType": "broadcast_subscribe", "broadcasts": {"x": ""}})
        assert push.message() == {"messageType": "broadcast", "broadcasts": {"errors": {"x": "Broadcast not found"}}}
        new = publish(demo)
        assert push.message()["broadcasts"] == {MONITOR: f'"{new}"'}


def test_a_hello_without_broadcasts_subscribes_to_the_one(demo):
    """As Firefox greets in the first session of a profile: after a reconnect it does not subscribe again."""
    for hello in ({"broadcasts": {}}, {"broadcasts": None}, {}):
        with WebSocket(demo) as push:
            push.send({"messageType": "hello", "use_webpush": True, **hello})
            assert push.message()["broadcasts"] == {MONITOR: f'"{timestamp(demo)}"'}
            new = publish(demo)
            assert push.message()["broadcasts"] == {MONITOR: f'"{new}"'}
            # A subscription to what it knows already changes nothing.
            push.send({"messageType": "broadcast_subscribe", "broadcasts": {MONITOR: f'"{new}"'}})
            new = publish(demo)
            assert push.message()["broadcasts"] == {MONITOR: f'"{new}"'}


def test_registrations_for_web_push_are_refused_and_the_connection_goes_on(demo):
    with WebSocket(demo) as push:
        push.hello()
        push.send({"messageType": "register", "channelID": "d9b74644-4f97-46aa-b8fa-9393985cd6cd", "key": "x" * 100})
        answer = push.message()
        assert answer["messageType"] == "register" and answer["status"] == 500
        assert answer["channelID"] == "d9b74644-4f97-46aa-b8fa-9393985cd6cd" and not answer["pushEndpoint"]
        push.send({"messageType": "unregister", "channelID": "d9b74644-4f97-46aa-b8fa-9393985cd6cd"})
        assert push.message()["status"] == 200
        push.send({"messageType": "ack", "updates": []})
        push.send(b"{}")
        assert push.receive()[1] == b"{}"


def test_a_message_in_fragments(demo):
    with WebSocket(demo) as push:
        push.socket.sendall(push.frame(1, b'{"messageType":', is_final=False) + push.frame(PING, b"") +
                            push.frame(0, b'"hello"}'))
        assert push.receive() == (PONG, b"")
        assert push.message()["status"] == 200
    # A fragment may be empty (RFC 6455, section 5.4).
    with WebSocket(demo) as push:
        push.socket.sendall(push.frame(1, b"", is_final=False) + push.frame(0, b"", is_final=False) + push.frame(0, HELLO))
        assert push.message()["status"] == 200


@pytest.mark.parametrize("code", [1000, 1001, 1003, 1007, 1011, 1014, 3000, 4774, 4999, None])
def test_a_close_frame_is_answered_by_its_code(demo, code):
    with WebSocket(demo) as push:
        push.hello()
        push.socket.sendall(push.frame(CLOSE, b"" if code is None else struct.pack("!H", code) + "Grüße".encode()))
        assert push.closed() == (code or 1000)


@pytest.mark.parametrize("size", [5_000, 300_000])
def test_a_close_code_arrives_though_frames_are_in_flight(demo, size):
    with WebSocket(demo) as push:
        push.hello()
        push.socket.sendall(push.frame(CLOSE, struct.pack("!H", 999)))
        for _ in range(size // 1000):
            push.socket.sendall(push.frame(1, b"x" * 1000))
        assert push.closed() == 1002


HELLO = b'{"messageType":"hello"}'
# What is sent after the handshake, and the code that the server closes with.
HOSTILE = {
    "another message first": (WebSocket.frame(1, b'{"messageType":"register","channelID":"x"}'), 1002),
    "a ping message first": (WebSocket.frame(1, b"{}"), 1002),
    "two hellos": (WebSocket.frame(1, HELLO) * 2, 1002),
    "no JSON": (WebSocket.frame(1, b"hello"), 1003),
    "deep JSON": (WebSocket.frame(1, b"[" * 5000), 1003),
    "no object": (WebSocket.frame(1, b"[]"), 1003),
    "no text": (WebSocket.frame(1, b""), 1003),
    "a list of broadcasts": (WebSocket.frame(1, b'{"messageType":"hello","broadcasts":["x"]}'), 1003),
    "a version that is a number": (WebSocket.frame(1, b'{"messageType":"hello","broadcasts":{"x":1}}'), 1003),
    "a thousand broadcasts": (
        WebSocket.frame(1, json.dumps({"messageType": "hello", "broadcasts": {f"{i}": "" for i in range(1000)}}).encode()[:8000]),
        1003),
    "bytes that are no UTF-8": (WebSocket.frame(1, b'{"messageType":"\xff"}'), 1007),
    "a binary message": (WebSocket.frame(BINARY, HELLO), 1003),
    "a frame without a mask": (WebSocket.frame(1, HELLO, is_masked=False), 1002),
    "a reserved bit": (WebSocket.frame(1, HELLO, reserved=4), 1002),
    "a reserved opcode": (WebSocket.frame(3, HELLO), 1002),
    "a reserved control opcode": (WebSocket.frame(11, b""), 1002),
    "a fragmented ping": (WebSocket.frame(PING, b"", is_final=False), 1002),
    "a long ping": (WebSocket.frame(PING, b"x" * 200), 1002),
    "a continuation of nothing": (WebSocket.frame(0, b"x"), 1002),
    "a message within a message": (WebSocket.frame(1, b"{", is_final=False) + WebSocket.frame(1, b"}"), 1002),
    "empty fragments": (WebSocket.frame(1, b"", is_final=False) + WebSocket.frame(0, b"", is_final=False) * 20, 1002),
    "a close frame with one byte": (WebSocket.frame(CLOSE, b"\x03"), 1002),
    **{f"a close frame with the code {code}": (WebSocket.frame(CLOSE, struct.pack("!H", code)), 1002)
       for code in (0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535)},
    "a close frame whose reason is no UTF-8": (WebSocket.frame(CLOSE, struct.pack("!H", 1000) + b"\xc3("), 1007),
    "endless fragments": (WebSocket.frame(1, b"x", is_final=False) + WebSocket.frame(0, b"x", is_final=False) * 30, 1002),
    "a long frame": (b"\x81\xfe\xff\xff", 1009),
    "a very long frame": (b"\x81\xff" + struct.pack("!Q", 1 << 40), 1009),
    "a frame of 2^63 bytes": (b"\x81\xff" + struct.pack("!Q", 1 << 63), 1009),
    "a frame of 2^64 - 1 bytes": (b"\x81\xff" + b"\xff" * 8, 1009),
    "long fragments": (WebSocket.frame(1, b"x" * 6000, is_final=False) + WebSocket.frame(0, b"x" * 6000), 1009),
    "a flood of pings": (WebSocket.frame(PING, b"") * 100, 1008),
    "two ping messages": (WebSocket.frame(1, HELLO) + WebSocket.frame(1, b"{}") * 2, 1011),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_the_protocol_forbids_ends_the_connection(demo, name):
    data, code = HOSTILE[name]
    with WebSocket(demo) as push:
        push.socket.sendall(data)
        assert push.closed() == code


def test_a_hello_that_never_comes(demo):
    """5 seconds, or the place is somebody else's; and half a frame is no hello."""
    with WebSocket(demo) as silent, WebSocket(demo) as slow:
        slow.socket.sendall(slow.frame(1, HELLO)[:-1])
        assert silent.closed() == 1011
        assert slow.closed() == 1011


HANDSHAKES = {
    "no upgrade": {"Upgrade": None},
    "another protocol": {"Upgrade": "h2c"},
    "no connection": {"Connection": "keep-alive"},
    "an old version": {"Sec-WebSocket-Version": "8"},
    "no version": {"Sec-WebSocket-Version": None},
    "no key": {"Sec-WebSocket-Key": None},
    "a short key": {"Sec-WebSocket-Key": "AAAA"},
}


@pytest.mark.parametrize("name", HANDSHAKES)
def test_a_handshake_that_is_none_is_told_what_is_spoken(demo, name):
    headers = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
               "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", **HANDSHAKES[name]}
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items() if value is not None)
    answer = demo.send(f"GET /push HTTP/1.1\r\nHost: x\r\n{lines}\r\n".encode(), half_close=True)
    assert answer.startswith(b"HTTP/1.1 426 ") and b"sec-websocket-version: 13" in answer.lower()


def test_the_push_protocol_is_spoken_nowhere_else(demo):
    for path in ["/v1/", "/push/", "/pushy", "/v1/updates"]:
        with WebSocket(demo, path) as push:
            assert push.status != 101


def test_whoever_finds_no_room_is_told_when_to_come_back():
    # So many open files allow 64 connections, 48 of which may wait.
    limited = Serving("--demo", wrapper=("prlimit", "--nofile=576:576"))
    with limited as serving, contextlib.ExitStack() as stack:
        for index in range(48):
            stream = stack.enter_context(EventStream(serving, source=f"127.0.0.{2 + index % 2}"))
            assert next(stream.events())[0] == "update"
        with EventStream(serving) as late:
            name, data, _ = next(late.events())
            assert name == "pause" and 60 <= data["retry_after"] <= 120
        answers = []
        for _ in range(8):
            with WebSocket(serving) as push:
                assert push.status == 503
                answers.append(int(push.headers["retry-after"]))
        assert all(60 <= seconds <= 120 for seconds in answers) and len(set(answers)) > 1
        assert serving.ask("/v1/").status == 200


# What takes a while comes last: it began with the first test.

def test_a_stream_that_waits_gets_heartbeats(waiting):
    _, patient, _ = waiting
    assert any(event == ("comment", "heartbeat", None) for event in patient.events(with_comments=True))


def test_a_reader_that_does_not_read_is_shed(waiting):
    serving, _, slow = waiting
    wait_for(lambda: serving.metric('rsdump_update_streams_shed_total{protocol="event-stream"}') == 1)
    assert serving.metric('rsdump_refused_total{reason="slow-reader"}') == 1
    assert "slow-reader" in serving.log()
    received = b""
    with contextlib.suppress(ConnectionResetError):
        while part := slow.socket.recv(1 << 16):
            received += part
    assert len(received) < 50_000
