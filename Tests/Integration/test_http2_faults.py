"""What a server can do wrong in HTTP/2: `--notify` reports it or tells the target, and never crashes or hangs."""
import concurrent.futures
import json
import shutil
import struct
import sys

import pytest

import rsdump
from http2_faults import (
    ACK, ALTSVC, CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS, MAX_FRAME_SIZE, ORIGIN, PING, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, UNKNOWN,
    WINDOW_UPDATE, FaultyHTTP2, field, frame, head)
from publishing import Team
from trusting import self_signed, trusting

MEBIBYTES = 1 << 20
TOLD, PENDING = "told", "pending"
ANSWER = head(200)
FLOOD = 20_000

FAULTS = {}


LASTING = []


def fault(expected, name=None, lasts=False):
    """Names what comes of it: the status of the target, or None if either is right. Some last as long as a run may."""
    def add(function):
        named = name or function.__name__.replace("_", " ")
        FAULTS[named] = (expected, function)
        if lasts:
            LASTING.append(named)
        return function
    return add


def answering(name, expected, *blocks):
    """A fault that answers each request with these header blocks; the last one ends the stream."""
    def answer(peer):
        peer.greet()
        peer.request()
        for number, block in enumerate(blocks, 1):
            peer.headers(block, END_HEADERS | (END_STREAM if number == len(blocks) else 0))
    fault(expected, name)(answer)


for status in (200, 202, 204, 299):
    answering(f"status {status}", TOLD, head(status))
for status in (300, 304, 400, 404, 410, 421, 429, 500, 503, 599, 600, 999):
    answering(f"status {status}", "gone" if status == 410 else PENDING, head(status))
for status in (
        "", "0", "1", "9", "20", "99", "-1", "-10", "+200", "099", "000", "0200", "1000", "2" + "0" * 21, "2e2", "abc",
        "٢٠٠".encode().decode("latin-1"), "\xff\xff\xff", "20\0", "200 OK", "101"):
    answering(f"status {status!r}", PENDING, head(status))
for status in ("", "1", "10", "99", "101"):
    answering(f"status {status!r} before an answer", PENDING, head(status), ANSWER)
for status in (100, 102, 103, 199):
    answering(f"status {status} and nothing else", PENDING, head(status))
    answering(f"status {status} before an answer", TOLD, head(status), ANSWER)
answering("interim answers without number", TOLD, *[head(103)] * 300, ANSWER)
answering("trailers", TOLD, ANSWER, field("a", "b"))
answering("trailers with a status", TOLD, ANSWER, ANSWER)
answering("three blocks", TOLD, ANSWER, field("a", "b"), field("a", "b"))
answering("no status", PENDING, field("a", "b"))
answering("an empty block", PENDING, b"")
answering("two statuses", PENDING, ANSWER + ANSWER)
answering("a status after a field", PENDING, field("a", "b") + ANSWER)
answering("another pseudo-field", PENDING, ANSWER + field(":path", "/"))
answering("a name in capitals", PENDING, ANSWER + field("Name", "b"))
answering("an empty name", PENDING, ANSWER + field("", "b"))
answering("a field of HTTP/1", PENDING, ANSWER + field("transfer-encoding", "chunked"))
answering("a line break in a value", PENDING, ANSWER + field("a", "b\r\nc: d"))
answering("an index beyond the table", PENDING, b"\xff\xff\xff\x7f")
answering("an index of zero", PENDING, b"\x80")
answering("an integer without an end", PENDING, b"\xff" + b"\xff" * 100)
answering("a text longer than the block", PENDING, b"\0\x7f\xff\xff\x7f" + b"a")
answering("a table of 4 GB", PENDING, b"\x3f\xe1\xff\xff\xff\x0f" + ANSWER)
# Each byte of the second half repeats a field of 4,000 bytes: 16 MB out of one frame.
answering("a bomb of fields", PENDING,
          ANSWER + b"\x40" + field("a", "b" * 4000)[1:] + b"\xbe" * 4000)
for length in ("-1", "x", "1", "18446744073709551616", "99999999999999999999999"):
    answering(f"content-length {length} without a body", None, ANSWER + field("content-length", length))


for code in range(0, 15):
    def reset(peer, code=code):
        peer.greet()
        peer.request()
        peer.send(frame(RST_STREAM, 0, peer.stream, struct.pack(">I", code)))
    fault(PENDING, f"reset with code {code}")(reset)


def raw(name, expected, *frames, close=False):
    """A fault that answers each request with these frames, as functions of the stream."""
    def answer(peer):
        peer.greet()
        peer.request()
        for each in frames:
            peer.send(each(peer.stream) if callable(each) else each)
        return close
    fault(expected, name)(answer)


def ok(stream):
    return frame(HEADERS, END_HEADERS | END_STREAM, stream, ANSWER)


def goaway(last, code=0):
    return frame(GOAWAY, payload=struct.pack(">II", last, code))


raw("closed", PENDING, close=True)
raw("data before the head", PENDING, lambda stream: frame(DATA, 0, stream, b"x"), ok)
raw("a head and then data on a closed stream", TOLD, ok, lambda stream: frame(DATA, 0, stream, b"x"))
raw("a reset after the answer", TOLD, ok, lambda stream: frame(RST_STREAM, 0, stream, bytes(4)))
raw("a head twice", TOLD, ok, ok)
raw("GOAWAY and an answer", TOLD, lambda stream: goaway(stream), ok)
raw("GOAWAY without the stream", PENDING, goaway(0))
raw("GOAWAY without the stream, with an error", PENDING, goaway(0, 11), close=True)
raw("GOAWAY with a greater stream later", None, goaway(1), goaway((1 << 31) - 1), ok)
raw("GOAWAY too short", PENDING, frame(GOAWAY, payload=b"\0"), close=True)
raw("an unknown frame", TOLD, lambda stream: frame(UNKNOWN, 0xFF, stream, b"x" * 1000), frame(UNKNOWN), ok)
raw("ORIGIN and ALTSVC", TOLD, frame(ORIGIN, payload=b"\0\x01a"), frame(ALTSVC, payload=b"\0\x01ab"), ok)
raw("ORIGIN cut", None, frame(ORIGIN, payload=b"\xff\xffa"), ok)
raw("ALTSVC cut", None, frame(ALTSVC, payload=b"\xff\xffa"), ok)
raw("a priority of itself", None, lambda stream: frame(PRIORITY, 0, stream, struct.pack(">IB", stream, 0)), ok)
raw("a promise", PENDING, lambda stream: frame(PUSH_PROMISE, END_HEADERS, stream, struct.pack(">I", 2) + ANSWER))
raw("a stream of the server's", PENDING, frame(HEADERS, END_HEADERS | END_STREAM, 2, ANSWER))
raw("a stream that nobody opened", PENDING, frame(HEADERS, END_HEADERS | END_STREAM, 99, ANSWER))
raw("a head on stream 0", PENDING, frame(HEADERS, END_HEADERS | END_STREAM, 0, ANSWER))
raw("data on stream 0", PENDING, frame(DATA, 0, 0, b"x"))
raw("a continuation of nothing", PENDING, lambda stream: frame(CONTINUATION, END_HEADERS, stream, ANSWER))
raw("another frame instead of the continuation", PENDING, lambda stream: frame(HEADERS, 0, stream, ANSWER),
    frame(PING, payload=bytes(8)))
raw("a padding longer than the frame", PENDING, lambda stream: frame(HEADERS, END_HEADERS | 8, stream, b"\xff"))
raw("a frame of 16 MB", PENDING, lambda stream: frame(DATA, 0, stream, b"", length=(1 << 24) - 1))
raw("a window of zero bytes more", PENDING, frame(WINDOW_UPDATE, payload=bytes(4)))
raw("a window of too many bytes", PENDING, *[frame(WINDOW_UPDATE, payload=struct.pack(">I", (1 << 31) - 1))] * 2)
raw("a stream's window of too many bytes", None,
    *[lambda stream: frame(WINDOW_UPDATE, 0, stream, struct.pack(">I", (1 << 31) - 1))] * 2)
raw("a window of a stream that nobody opened", PENDING, frame(WINDOW_UPDATE, 0, 99, struct.pack(">I", 1)))
raw("PING too short", PENDING, frame(PING, payload=b"x"))
raw("PING nobody sent", None, frame(PING, ACK, payload=bytes(8)), ok)
raw("SETTINGS too short", PENDING, frame(SETTINGS, payload=b"x"))
raw("SETTINGS nobody waits for", None, *[frame(SETTINGS, ACK)] * 3, ok)
raw("no more streams at all", None, frame(SETTINGS, payload=struct.pack(">HI", MAX_CONCURRENT_STREAMS, 0)), ok)
raw("a smaller window", TOLD, frame(SETTINGS, payload=struct.pack(">HI", INITIAL_WINDOW_SIZE, 0)), ok)
raw("an HTTP/1 answer", PENDING, b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
raw("a flood of SETTINGS", None, frame(SETTINGS, payload=struct.pack(">HI", 9, 1)) * FLOOD, ok)
raw("a flood of SETTINGS without a word", None, frame(SETTINGS) * FLOOD, ok)
raw("a flood of PING", None, frame(PING, payload=bytes(8)) * FLOOD, ok)
raw("a flood of resets", None, lambda stream: frame(RST_STREAM, 0, stream, bytes(4)) * FLOOD)
raw("a flood of empty data", None, lambda stream: frame(HEADERS, END_HEADERS, stream, ANSWER),
    lambda stream: frame(DATA, 0, stream) * FLOOD)
raw("a flood of unknown frames", TOLD, frame(UNKNOWN) * FLOOD, ok)
raw("a flood of priorities", None, lambda stream: frame(PRIORITY, 0, stream, struct.pack(">IB", 0, 1)) * FLOOD, ok)
raw("a flood of windows", None, frame(WINDOW_UPDATE, payload=struct.pack(">I", 1)) * FLOOD, ok)
raw("a flood of continuations", PENDING, lambda stream: frame(HEADERS, 0, stream, ANSWER) + frame(
    CONTINUATION, 0, stream, field("a", "b")) * FLOOD)
raw("a flood of empty continuations", PENDING, lambda stream: frame(HEADERS, 0, stream, ANSWER) + frame(
    CONTINUATION, 0, stream) * FLOOD)
raw("a flood of interim answers", None, lambda stream: frame(HEADERS, END_HEADERS, stream, head(103)) * FLOOD)
raw("trailers of 1 MB", None, lambda stream: frame(HEADERS, END_HEADERS, stream, ANSWER), lambda stream: frame(
    HEADERS, END_STREAM, stream) + frame(CONTINUATION, 0, stream, field("a", "b" * 16000)) * 64)


@fault(PENDING)
def nothing_but_the_handshake(peer):
    return True


@fault(PENDING)
def nothing_but_SETTINGS(peer):
    peer.greet()
    return True


@fault(PENDING)
def GOAWAY_first(peer):
    peer.preface()
    peer.send(goaway(0))


@fault(PENDING)
def another_frame_than_SETTINGS_first(peer):
    peer.preface()
    peer.send(frame(PING, payload=bytes(8)))


@fault(PENDING)
def GOAWAY_after_SETTINGS(peer):
    peer.greet()
    peer.send(goaway(0))


@fault(None)
def an_answer_before_the_request(peer):
    peer.greet()
    peer.send(ok(1))


@fault(TOLD)
def an_answer_before_the_request_is_complete(peer):
    peer.greet()
    peer.head_of_request()
    peer.send(ok(peer.stream), frame(RST_STREAM, 0, peer.stream, bytes(4)))


@fault(TOLD)
def a_window_that_never_opens_and_an_answer(peer):
    peer.greet((INITIAL_WINDOW_SIZE, 0))
    peer.head_of_request()
    peer.send(ok(peer.stream))


@fault(PENDING)
def a_window_larger_than_allowed(peer):
    peer.greet((INITIAL_WINDOW_SIZE, (1 << 32) - 1))


@fault(PENDING)
def frames_smaller_than_allowed(peer):
    peer.greet((MAX_FRAME_SIZE, 0))


@fault(TOLD)
def streams_without_number(peer):
    peer.greet((MAX_CONCURRENT_STREAMS, (1 << 32) - 1))
    peer.request()
    peer.send(ok(peer.stream))


# These last until the time of a run is over.
@fault(PENDING, lasts=True)
def a_window_that_never_opens(peer):
    peer.greet((INITIAL_WINDOW_SIZE, 0))


@fault(PENDING, lasts=True)
def no_streams_from_the_start(peer):
    peer.greet((MAX_CONCURRENT_STREAMS, 0))


@fault(PENDING, lasts=True)
def silence(peer):
    peer.preface()


@fault(PENDING, lasts=True)
def silence_after_the_request(peer):
    peer.greet()
    peer.request()


WHOLE = frame(SETTINGS) + frame(HEADERS, END_HEADERS | END_STREAM, 1, ANSWER)
for cut in range(len(WHOLE)):
    def cut_there(peer, cut=cut):
        peer.preface()
        peer.send(WHOLE[:min(cut, 9)])
        if cut > 9:
            peer.request()
            peer.send(WHOLE[9:cut])
        return True
    fault(PENDING, f"cut at byte {cut}")(cut_there)


# These have eight targets each, which share a connection.
def shared(name, expected, *frames):
    """A fault that waits for three requests and sends these frames, as functions of their streams."""
    def answer(peer):
        peer.greet()
        streams = [peer.request() for _ in range(3)]
        for each in frames:
            peer.send(*each(streams))
    SHARED[name] = (expected, answer)


SHARED = {}


def all_ok(streams):
    return [ok(stream) for stream in streams]


shared("fewer streams than are open", None, lambda _: [
    frame(SETTINGS, payload=struct.pack(">HI", MAX_CONCURRENT_STREAMS, 1))], all_ok)
shared("no streams while three are open", None, lambda _: [
    frame(SETTINGS, payload=struct.pack(">HI", MAX_CONCURRENT_STREAMS, 0))], all_ok)
shared("no streams, then many", None, lambda _: [
    frame(SETTINGS, payload=struct.pack(">HI", MAX_CONCURRENT_STREAMS, each)) for each in (0, 1, 0, 1000)], all_ok)
shared("GOAWAY in the middle", None, lambda streams: [goaway(streams[1])], all_ok)
shared("GOAWAY twice", None, lambda streams: [goaway(streams[2]), goaway(streams[0])], all_ok)
shared("a status that is none in each answer", PENDING, lambda streams: [
    frame(HEADERS, END_HEADERS | END_STREAM, stream, head("")) for stream in streams])
shared("a status that is none, and GOAWAY", None, lambda streams: [
    frame(HEADERS, END_HEADERS | END_STREAM, streams[0], head("101")), goaway(streams[1])], all_ok)
shared("resets in the middle", None, lambda streams: [
    frame(RST_STREAM, 0, stream, struct.pack(">I", 7)) for stream in streams[:2]], all_ok)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """By fault, what came of telling its target: a few runs with many targets each."""
    folder = tmp_path_factory.mktemp("http2")
    certificate, key = self_signed(folder)
    (folder / "team").mkdir()
    team = Team(folder / "team")
    team.publish()
    team.change("one")
    command = [str(each) for each in team.arguments()]

    def run(number, names):
        repository = shutil.copytree(team.path, folder / str(number))
        result = folder / f"{number}.json"
        if names[0] in SHARED:
            [name] = set(names)
            url = server.url(SHARED[name][1])
            urls = [f"{url}{each}" for each in range(len(names))]
        else:
            urls = [server.url(FAULTS[name][1]) for name in names]
        options = [option for url in urls for option in ("--notify", url)]
        arguments = [each.replace(str(team.path), str(repository)) for each in command]
        ran = trusting(
            certificate, [sys.executable, "-I", "-S", rsdump.MEASURE, result, rsdump.BINARY, *arguments, *options])
        measured = json.loads(result.read_text())
        told = json.loads(ran.stdout)["notifications"] if measured["code"] == rsdump.DONE else [None] * len(names)
        return [(name, measured, ran.stderr, each) for name, each in zip(names, told, strict=True)]

    # A target that is tried three times keeps others waiting, and a run has half a minute: those that succeed go first.
    quick = sorted((name for name in FAULTS if name not in LASTING), key=lambda name: FAULTS[name][0] != TOLD)
    groups = [LASTING, *([name] * 8 for name in SHARED)]
    groups += [quick[first:first + 16] for first in range(0, len(quick), 16)]
    with FaultyHTTP2(certificate, key) as server, concurrent.futures.ThreadPoolExecutor(len(groups)) as pool:
        return [outcome for part in pool.map(run, range(len(groups)), groups) for outcome in part]


@pytest.mark.parametrize("name", [*FAULTS, *SHARED])
def test_a_fault_of_http_2(outcomes, name):
    expected = (FAULTS | SHARED)[name][0]
    seen = [outcome[1:] for outcome in outcomes if outcome[0] == name]
    assert len(seen) == (8 if name in SHARED else 1)
    for measured, err, told in seen:
        assert measured["code"] == rsdump.DONE, err
        assert measured["peak"] < 192 * MEBIBYTES, measured
        assert told["status"] == expected if expected else told["status"] in (TOLD, PENDING), told
        assert told["status"] == TOLD or len(told["error"]) < 400, told
