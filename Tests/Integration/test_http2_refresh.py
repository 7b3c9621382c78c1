"""`rsdump refresh` over HTTP/2: one connection carries everything, and what a server does wrong costs only time.

Each fault is in the answer to one request of an origin that is honest otherwise. If only the first such answer has it, the
request is repeated, and the bundles are those that HTTP/1.1 gives. If each one has it, the refresh fails with an error that
names the URL, other collections are refreshed, and no partial file is left.
"""
import concurrent.futures
import json
import struct
import sys
import threading
import time
import zlib

import pytest

import http2_origin
import rsdump
from dumps import Dumps
from http2_faults import (
    CONTINUATION, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, MAX_CONCURRENT_STREAMS,
    MAX_FRAME_SIZE, PING, PRIORITY, PUSH_PROMISE, RST_STREAM, SETTINGS, UNKNOWN, WINDOW_UPDATE, FaultyHTTP2, field, frame,
    head)
from nginx import Nginx, free_port
from publishing import Team
from serve import Serving
from trusting import self_signed, trusting

MEBIBYTES = 1 << 20
FILES = 120
LARGE = 3 << 20
TARGET = "/buckets/main/collections/one/changeset"


class Place:
    """What all tests share: published dumps, a certificate, and the bundles that a refresh over HTTP/1.1 makes of them."""

    def __init__(self, folder):
        self.folder = folder
        self.certificate, self.key = self_signed(folder)
        (folder / "team").mkdir()
        self.team = Team(folder / "team")
        source = folder / "team/sources/main/files"
        (source / "content").mkdir(parents=True)
        (source / "collection.yaml").write_text("metadata: {attachment: {enabled: true, required: false}}\n")
        for number in range(FILES):
            (source / f"content/{number}.bin").write_bytes(number.to_bytes(2, "big") * (LARGE // 2 if number == 7 else 500))
            (source / f"{number}.json").write_text(json.dumps({"attachment": f"content/{number}.bin"}))
        self.team.publish()
        self.root = json.loads(
            rsdump.run("keys", "status", folder / "team/keys", "--format", "json").out)["root"]
        with Serving("--dumps", self.team.dumps.path) as serving:
            self.plain = self.configured(folder / "plain", serving.url)
            assert rsdump.run("refresh", "--dumps", self.plain.path, "--full").code == rsdump.DONE

    def configured(self, path, url, names=("main/files", "main/one", "main/two")):
        path.mkdir()
        collections = "".join(f"  {name}:\n" for name in names)
        (path / "dumps.yaml").write_text(
            f"version: 1\nserver: {url}/v2\nallow-plain-http: true\ntrust:\n  roots:\n    - \"{self.root}\"\n"
            f"attachments: all\ncollections:\n{collections}")
        return Dumps(path)

    def refresh(self, dumps, *options, certificate=None):
        """Exit code, report, standard error and peak memory."""
        result = dumps.path.parent / f"{dumps.path.name}.json"
        ran = trusting(certificate or self.certificate, [
            sys.executable, "-I", "-S", rsdump.MEASURE, result, rsdump.BINARY, "refresh", "--dumps", dumps.path,
            "--format", "json", *options])
        measured = json.loads(result.read_text())
        return measured["code"], json.loads(ran.stdout) if ran.stdout else None, ran.stderr, measured["peak"]


def bundles(dumps):
    return {name: content for name, content in dumps.files().items() if name.endswith(".zip")}


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return Place(tmp_path_factory.mktemp("http2-refresh"))


class Behind:
    """An HTTP/2 origin in front of `rsdump serve`, for as long as a `with` block runs."""

    def __init__(self, place, **options):
        behind = "127.0.0.1", free_port()
        self.origin = http2_origin.HTTP2Origin(place.certificate, place.key, behind, **options)
        self.serving = Serving(
            "--dumps", place.team.dumps.path, "--port", behind[1], "--public-url", self.origin.url)

    def __enter__(self):
        self.serving.__enter__()
        return self.origin.__enter__()

    def __exit__(self, *exception):
        self.origin.__exit__(*exception)
        self.serving.__exit__(*exception)


def test_one_connection_carries_everything(place, tmp_path):
    with Behind(place) as origin:
        dumps = place.configured(tmp_path / "dumps", origin.url)
        code, report, err, _ = place.refresh(dumps)
    assert code == rsdump.DONE, err
    assert bundles(dumps) == bundles(place.plain)
    assert len(origin.requests) >= FILES
    # The server's host and that of the attachments are the same here.
    assert len({connection for connection, _ in origin.requests}) == 1


@pytest.mark.parametrize("settings", [[(MAX_CONCURRENT_STREAMS, 1)], [(MAX_CONCURRENT_STREAMS, 7)]], ids=["1", "7"])
def test_a_server_that_allows_few_streams(place, tmp_path, settings):
    with Behind(place, settings=settings) as origin:
        dumps = place.configured(tmp_path / "dumps", origin.url)
        code, _, err, _ = place.refresh(dumps)
    assert code == rsdump.DONE, err
    assert bundles(dumps) == bundles(place.plain)


def test_many_requests_are_under_way_at_once(place, tmp_path):
    """At first 8: only the first answer shows that the server speaks HTTP/2."""
    counting, counts = threading.Lock(), {"now": 0, "most": 0}

    def slowly(answer):
        with counting:
            counts["now"] += 1
            counts["most"] = max(counts["most"], counts["now"])
        # Long enough for the client to ask whatever it would ask at once.
        time.sleep(0.03)
        with counting:
            counts["now"] -= 1
        answer.send()

    with Behind(place) as origin:
        origin.fault = lambda answer, number: slowly if "/attachments/" in answer.path else None
        dumps = place.configured(tmp_path / "dumps", origin.url)
        code, _, err, _ = place.refresh(dumps)
    assert code == rsdump.DONE, err
    assert 8 < counts["most"] <= 100
    assert bundles(dumps) == bundles(place.plain)


def test_a_server_that_ends_each_connection_after_some_requests(place, tmp_path):
    """As nginx does after keepalive_requests: the streams up to the last one are answered, later ones are repeated."""
    with Behind(place) as origin:
        origin.keepalive_requests = 25
        dumps = place.configured(tmp_path / "dumps", origin.url)
        code, _, err, _ = place.refresh(dumps)
    assert code == rsdump.DONE, err
    # What the server has not processed is sent again without a word.
    assert "failed" not in err
    assert bundles(dumps) == bundles(place.plain)
    assert len({connection for connection, _ in origin.requests}) > 3


def test_nginx_that_ends_each_connection_after_some_requests(place, tmp_path):
    """nginx ends a connection after keepalive_requests, and leaves out the requests that are on their way by then."""
    with Nginx(tmp_path / "nginx", https=True, keepalive_requests=25) as nginx:
        url = f"https://127.0.0.1:{nginx.proxy}"
        with Serving("--dumps", place.team.dumps.path, "--port", nginx.behind, "--public-url", url):
            for number in range(3):
                dumps = place.configured(tmp_path / f"dumps{number}", url)
                code, _, err, _ = place.refresh(dumps, certificate=nginx.folder / "certificate.pem")
                assert code == rsdump.DONE, err
                assert "failed" not in err
                assert bundles(dumps) == bundles(place.plain)


def test_a_connection_that_closes_under_requests(place, tmp_path):
    """Those that have not got a byte of an answer are sent once more, over another connection and without a word."""
    counting, left = threading.Lock(), []

    def close_once(answer, number):
        if number < 20 or "/attachments/" not in answer.path:
            return None
        with counting:
            left.append(answer)
            if len(left) > 30 or answer.connection is not left[0].connection:
                return None
        return close if len(left) == 30 else lambda _: None

    def close(answer):
        # The client has got all that was sent.
        time.sleep(0.3)
        answer.connection.close()

    with Behind(place) as origin:
        origin.fault = close_once
        dumps = place.configured(tmp_path / "dumps", origin.url)
        code, _, err, _ = place.refresh(dumps)
    assert code == rsdump.DONE, err
    # On a busy machine, the body of the large one is on its way.
    assert [line for line in err.splitlines() if "failed" in line and "the response body is truncated" not in line] == []
    assert bundles(dumps) == bundles(place.plain)


@pytest.mark.parametrize("attempt", range(4))
def test_an_answer_behind_the_end_of_a_body_that_fills_a_buffer(place, tmp_path, attempt):
    """libcurl 7.88 keeps it in a buffer of its own until the server sends more, which this one does not."""
    held, counting = [], threading.Lock()
    seen = []

    def keep_two(answer, number):
        if "/attachments/" not in answer.path:
            return None
        with counting:
            seen.append(answer)
            if not held or len(answer.body) > 1 << 20:
                held.append(answer)
        return last_of_all if len(seen) == FILES else (lambda _: None) if answer in held else None

    def last_of_all(answer):
        if answer not in held:
            answer.send()
        small, large = sorted(held, key=lambda answer: len(answer.body))
        body, end = large.body[:-68_000], large.body[-68_000:]
        large.head()
        large.data(body)
        # The client takes all of it. Then so much comes at once that the last piece does not fit into the buffer.
        time.sleep(0.3)
        pieces = [frame(DATA, 0, large.stream, end[at:at + 4000]) for at in range(0, 60_000, 4000)]
        small.frames(*pieces, frame(DATA, END_STREAM, large.stream, end[60_000:]), small.whole)

    with Behind(place) as origin:
        origin.fault = keep_two
        dumps = place.configured(tmp_path / "dumps", origin.url)
        code, _, err, _ = place.refresh(dumps)
    assert code == rsdump.DONE, err
    assert "failed" not in err
    assert bundles(dumps) == bundles(place.plain)


# By name, what is sent in place of an answer, and what comes of it: GOOD is an answer for any client, REPEATED a fault that
# may be over a moment later, FINAL one for which the request is not repeated. EITHER is GOOD or REPEATED, by how much
# libcurl reads at once.
GOOD, REPEATED, FINAL, EITHER = "good", "repeated", "final", "either"
FAULTS = {}
# These last as long as a head or a body may stand still.
LASTING = []


def fault(name, expected=REPEATED):
    def add(send):
        FAULTS[name] = send, expected
        return send
    return add


def sending(name, *frames, close=False, expected=REPEATED):
    """Frames as bytes, or as functions of the answer."""
    def send(answer):
        for each in frames:
            answer.frames(each(answer) if callable(each) else each)
        if close:
            answer.connection.close()
    fault(name, expected)(send)


def whole(answer):
    return answer.whole


def headers(answer, block=b"", flags=END_HEADERS):
    return frame(HEADERS, flags, answer.stream, head(answer.status, *answer.fields) + block)


def data(body, flags=0):
    return lambda answer: frame(DATA, flags, answer.stream, body(answer) if callable(body) else body)


def half(answer):
    return answer.body[:len(answer.body) // 2]


def rest(answer):
    return answer.body[len(answer.body) // 2:]


def reset(code):
    return lambda answer: frame(RST_STREAM, 0, answer.stream, struct.pack(">I", code))


def answering(status, *fields, body=b""):
    def send(answer):
        answer.frames(
            frame(HEADERS, END_HEADERS, answer.stream, head(status, *fields)),
            frame(DATA, END_STREAM, answer.stream, body))
    return send


for code in range(14):
    sending(f"reset with code {code} before the head", reset(code))
    sending(f"reset with code {code} in the body", headers, data(half), reset(code))
for status in (429, 500, 502, 503, 504, 599):
    fault(f"status {status}")(answering(status))
for status in (400, 401, 403, 404, 408, 410, 421, 425, 431, 451):
    fault(f"status {status}", FINAL)(answering(status))
# To libcurl these are streams that the server has reset.
for status in ("", "0", "20", "1000", "2e2", "101"):
    fault(f"status {status!r}")(answering(status))
fault("status '099'", FINAL)(answering("099"))
sending("an end in the body", headers, data(half, END_STREAM))
sending("no body", lambda answer: headers(answer, flags=END_HEADERS | END_STREAM))
sending("more than the length", headers, data(lambda answer: answer.body), data(b"more", END_STREAM),
        expected=EITHER)
sending("other bytes of the same length", headers, data(lambda answer: b"{" * len(answer.body), END_STREAM), expected=FINAL)
sending("two lengths", lambda answer: headers(answer, field("content-length", "1")), data(lambda answer: answer.body, END_STREAM))
sending("a length that is no number", lambda answer: frame(
    HEADERS, END_HEADERS, answer.stream, head(200, ("content-length", "x"))), data(lambda answer: answer.body, END_STREAM))
sending("an encoding that nobody asked for", lambda answer: headers(answer, field("content-encoding", "br")),
        data(lambda answer: answer.body, END_STREAM), expected=FINAL)
sending("an end in the compressed stream", lambda answer: frame(
    HEADERS, END_HEADERS, answer.stream, head(200, ("content-encoding", "gzip"))), data(b"\x1f\x8b\x08", END_STREAM))
sending("GOAWAY before the head", lambda answer: frame(GOAWAY, payload=bytes(8)), close=True)
sending("GOAWAY in the body", headers, data(half), lambda answer: frame(GOAWAY, payload=bytes(8)), close=True)
sending("GOAWAY, and the answer", lambda answer: frame(GOAWAY, payload=struct.pack(">II", answer.stream, 0)), whole,
        expected=GOOD)
sending("closed before the head", close=True)
sending("closed in the body", headers, data(half), close=True)
sending("data before the head", data(b"x"), whole)
sending("an answer twice", whole, whole, expected=GOOD)
sending("trailers", headers, data(lambda answer: answer.body), lambda answer: frame(
    HEADERS, END_HEADERS | END_STREAM, answer.stream, field("a", "b")), expected=GOOD)
sending("trailers that do not end the stream", headers, data(half), lambda answer: frame(
    HEADERS, END_HEADERS, answer.stream, field("a", "b")), data(rest, END_STREAM))
sending("a name in capitals", lambda answer: headers(answer, field("Name", "b")), data(lambda answer: answer.body, END_STREAM))
sending("a field of HTTP/1", lambda answer: headers(answer, field("connection", "close")),
        data(lambda answer: answer.body, END_STREAM))
sending("an index beyond the table", lambda answer: headers(answer, b"\xff\xff\xff\x7f"))
sending("a bomb of fields", lambda answer: headers(
    answer, b"\x40" + field("a", "b" * 4000)[1:] + b"\xbe" * 4000))
sending("a flood of continuations", lambda answer: headers(answer, flags=0) + frame(
    CONTINUATION, 0, answer.stream, field("a", "b")) * 20_000)
sending("a frame of 16 MB", headers, lambda answer: frame(DATA, 0, answer.stream, b"", length=(1 << 24) - 1))
sending("a promise", lambda answer: frame(
    PUSH_PROMISE, END_HEADERS, answer.stream, struct.pack(">I", 2) + head(200)))
sending("data on stream 0", frame(DATA, 0, 0, b"x"))
sending("a window of zero bytes more", frame(WINDOW_UPDATE, payload=bytes(4)))
sending("an HTTP/1 answer", b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
sending("an unknown frame", frame(UNKNOWN, 0xFF, payload=b"x" * 1000), whole, expected=GOOD)
sending("a padded body", headers, lambda answer: frame(
    DATA, END_STREAM | 8, answer.stream, b"\x0a" + answer.body + bytes(10)), expected=GOOD)
sending("interim answers", lambda answer: frame(HEADERS, END_HEADERS, answer.stream, head(103)) * 50, whole, expected=GOOD)
sending("a body byte by byte", headers, lambda answer: b"".join(
    frame(DATA, 0, answer.stream, answer.body[at:at + 1]) for at in range(len(answer.body))), data(b"", END_STREAM),
    expected=GOOD)
sending("a flood of SETTINGS", frame(SETTINGS, payload=struct.pack(">HI", 9, 1)) * 20_000, whole,
        expected=EITHER)
sending("a flood of PING", frame(PING, payload=bytes(8)) * 20_000, whole,
        expected=EITHER)
sending("a flood of empty data", headers, lambda answer: frame(DATA, 0, answer.stream) * 20_000, whole)
sending("a flood of priorities", lambda answer: frame(PRIORITY, 0, answer.stream, struct.pack(">IB", 0, 1)) * 20_000, whole,
        expected=EITHER)


@fault("more than the window allows")
def more_than_the_window(answer):
    answer.frames(headers(answer), frame(DATA, 0, answer.stream, bytes(16_384)) * 1024)


@fault("a gzip bomb", FINAL)
def gzip_bomb(answer):
    packer = zlib.compressobj(9, wbits=31)
    answer.fields = [("content-encoding", "gzip"), ("content-type", "application/json")]
    answer.body = b"".join([*(packer.compress(bytes(MEBIBYTES)) for _ in range(512)), packer.flush()])
    answer.send()


@fault("a body without an end", FINAL)
def endless(answer):
    answer.fields = [("content-type", "application/json")]
    answer.head()
    while not answer.connection.is_closed:
        answer.data(b"[" + b" " * 16_000)


def lasting(name, *frames):
    sending(name, *frames)
    LASTING.append(name)


lasting("silence")
lasting("silence in the body", headers, data(half))
lasting("silence in a head", lambda answer: headers(answer)[:20])
for cut in [*range(10), *range(10, 30, 5), *range(30, 840, 90)]:
    sending(f"cut at byte {cut}", lambda answer, cut=cut: answer.whole[:cut], close=True)

# A changeset may have 256 MiB, and the memory for one grows by doubling.
PEAKS = {name: 700 * MEBIBYTES for name in ("a gzip bomb", "a body without an end")}
# A fault that each answer has takes three tries, so most of those that differ only by a number are tried once.
NUMBERED = "reset with code", "cut at byte"
ALWAYS = [
    name for name in FAULTS
    if name not in LASTING and (not name.startswith(NUMBERED) or name.startswith(("reset with code 7", "cut at byte 120")))]


@pytest.fixture(scope="module")
def outcomes(place, tmp_path_factory):
    """By fault and whether each answer has it: what came of a refresh, and its dumps."""
    folder = tmp_path_factory.mktemp("http2-faults")

    def run(case):
        name, always = case
        send, seen, counting = FAULTS[name][0], [], threading.Lock()

        def broken(answer, number):
            if not answer.path.startswith(f"/v2{TARGET}"):
                return None
            with counting:
                seen.append(number)
                return send if always or len(seen) == 1 else None

        with http2_origin.HTTP2Origin(place.certificate, place.key, honest.behind) as faulty:
            faulty.fault = broken
            dumps = place.configured(folder / f"{len(name)}-{abs(hash(case))}", faulty.url, ["main/one", "main/two"])
            return place.refresh(dumps), dumps

    cases = [(name, False) for name in sorted(FAULTS, key=lambda name: name not in LASTING)]
    cases += [(name, True) for name in ALWAYS]
    with Behind(place) as honest, concurrent.futures.ThreadPoolExecutor(16) as pool:
        return dict(zip(cases, pool.map(run, cases), strict=True))


def check_failed(place, dumps, code, report, err):
    """main/one has failed with an error that names its URL, main/two is there, and nothing else is."""
    assert code == rsdump.SOME_FAILED, err
    [failed] = [each for each in report["collections"] if each["collection"] == "main/one"]
    assert TARGET in failed["error"]["message"] and len(failed["error"]["message"]) < 600, failed
    assert sorted(dumps.files()) == ["dumps.lock.json", "dumps.yaml", "main/two.zip"]
    assert dumps.files()["main/two.zip"] == place.plain.files()["main/two.zip"]


def check_refreshed(place, dumps, code, err):
    assert code == rsdump.DONE, err
    expected = bundles(place.plain)
    assert bundles(dumps) == {name: expected[name] for name in ("main/one.zip", "main/two.zip")}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_one_answer(place, outcomes, name):
    (code, report, err, peak), dumps = outcomes[name, False]
    assert peak < PEAKS.get(name, 192 * MEBIBYTES)
    if FAULTS[name][1] == FINAL:
        check_failed(place, dumps, code, report, err)
    else:
        check_refreshed(place, dumps, code, err)


@pytest.mark.parametrize("name", ALWAYS)
def test_a_fault_of_each_answer(place, outcomes, name):
    (code, report, err, peak), dumps = outcomes[name, True]
    assert peak < PEAKS.get(name, 192 * MEBIBYTES)
    expected = FAULTS[name][1]
    if expected == GOOD or expected == EITHER and code == rsdump.DONE:
        check_refreshed(place, dumps, code, err)
    else:
        check_failed(place, dumps, code, report, err)


def beginning(*frames, settings=None, close=False):
    """A server that sends this before it has got a request."""
    def begin(peer):
        peer.preface() if settings is None else peer.greet(*settings)
        peer.send(*frames)
        return close
    return begin


CONNECTIONS = {
    "nothing but the handshake": lambda peer: True,
    "nothing but SETTINGS": beginning(settings=(), close=True),
    "GOAWAY": beginning(frame(GOAWAY, payload=bytes(8))),
    "GOAWAY after SETTINGS": beginning(frame(GOAWAY, payload=bytes(8)), settings=()),
    "another frame than SETTINGS": beginning(frame(PING, payload=bytes(8))),
    "SETTINGS too short": beginning(frame(SETTINGS, payload=b"x")),
    "a window larger than allowed": beginning(settings=[(INITIAL_WINDOW_SIZE, (1 << 32) - 1)]),
    "frames smaller than allowed": beginning(settings=[(MAX_FRAME_SIZE, 0)]),
    "PING too short": beginning(frame(PING, payload=b"x"), settings=()),
    "a stream of the server's": beginning(frame(HEADERS, END_HEADERS | END_STREAM, 2, head(200)), settings=()),
    "a head on stream 0": beginning(frame(HEADERS, END_HEADERS | END_STREAM, 0, head(200)), settings=()),
    "HTTP/1": beginning(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    **{f"SETTINGS cut at byte {cut}": beginning(frame(SETTINGS)[:cut], close=True) for cut in (1, 3, 5, 8)},
}


@pytest.mark.parametrize("name", CONNECTIONS)
def test_a_connection_that_breaks_before_the_first_request(place, tmp_path, name):
    with FaultyHTTP2(place.certificate, place.key) as server:
        dumps = place.configured(tmp_path / "dumps", server.url(CONNECTIONS[name]).rstrip("/"))
        code, _, err, peak = place.refresh(dumps)
    assert code == rsdump.UNREACHABLE and "https://127.0.0.1:" in err and len(err) < 2000, err
    assert peak < 192 * MEBIBYTES and list(dumps.files()) == ["dumps.yaml"]
