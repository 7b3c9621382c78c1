"""`rsdump refresh` over HTTP/2: one connection carries all requests, and faults of a server cost only time.

Each fault is in the response to one request; otherwise the origin is correct. If only the first response is faulty, the request
is repeated, and the bundles are the same as over HTTP/1.1. If every response is faulty, the refresh fails with an error that
contains the URL, other collections are refreshed, and no partial file remains.
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
    DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, PING, RST_STREAM, field, frame, head)
from nginx import free_port
from publishing import Team
from serve import Serving
from trusting import self_signed, trusting

MEBIBYTES = 1 << 20
FILES = 120
LARGE = 3 << 20
TARGET = "/buckets/main/collections/one/changeset"


class Place:
    """Shared by all tests: published dumps, a certificate, and the bundles that a refresh over HTTP/1.1 produces from them."""

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
        """Returns the exit code, report, standard error and peak memory."""
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
    """An HTTP/2 origin in front of `rsdump serve`, inside a `with` block."""

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


def test_http2_refresh_uses_one_connection(place, tmp_path):
    with Behind(place) as origin:
        dumps = place.configured(tmp_path / "dumps", origin.url)
        code, report, err, _ = place.refresh(dumps)
    assert code == rsdump.DONE, err
    assert bundles(dumps) == bundles(place.plain)
    assert len(origin.requests) >= FILES
    # The server and its attachments have the same host here.
    assert len({connection for connection, _ in origin.requests}) == 1


def test_http2_goaway_resends_unprocessed_requests(place, tmp_path):
    """Like nginx after keepalive_requests: streams up to the last one are answered, later ones are repeated."""
    with Behind(place) as origin:
        origin.keepalive_requests = 25
        dumps = place.configured(tmp_path / "dumps", origin.url)
        code, _, err, _ = place.refresh(dumps)
    assert code == rsdump.DONE, err
    # Requests that the server did not process are sent again silently.
    assert "failed" not in err
    assert bundles(dumps) == bundles(place.plain)
    assert len({connection for connection, _ in origin.requests}) > 3


def test_http2_closed_connection_resends_requests(place, tmp_path):
    """Requests without any response bytes are sent again over a new connection, silently."""
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
        # Wait until the client has received everything.
        time.sleep(0.3)
        answer.connection.close()

    with Behind(place) as origin:
        origin.fault = close_once
        dumps = place.configured(tmp_path / "dumps", origin.url)
        code, _, err, _ = place.refresh(dumps)
    assert code == rsdump.DONE, err
    # On a busy machine, the large file may be in transit when the connection closes.
    assert [line for line in err.splitlines() if "failed" in line and "the response body is truncated" not in line] == []
    assert bundles(dumps) == bundles(place.plain)


def test_http2_answer_held_in_libcurl_buffer(place, tmp_path):
    """libcurl 7.88 keeps the response in its buffer until the server sends more, which this server does not do."""
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
        # First the client reads everything. Then so much arrives at once that the last piece does not fit into the buffer.
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


# By name, the frames that replace a response, and the expected result: GOOD is a valid response, REPEATED a fault that may be
# temporary, FINAL one that is not retried. EITHER is GOOD or REPEATED, depending on how much libcurl reads at once. NetworkTests
# cover statuses, heads, lengths and silence, which are the same in HTTP/1.1. nghttp2 rejects frames that break the protocol;
# these are one of each kind.
GOOD, REPEATED, FINAL, EITHER = "good", "repeated", "final", "either"
FAULTS = {}


def fault(name, expected=REPEATED):
    def add(send):
        FAULTS[name] = send, expected
        return send
    return add


def sending(name, *frames, close=False, expected=REPEATED):
    """Each frame is bytes or a function of the response."""
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


def half(answer):
    return frame(DATA, 0, answer.stream, answer.body[:len(answer.body) // 2])


def reset(code):
    return lambda answer: frame(RST_STREAM, 0, answer.stream, struct.pack(">I", code))


for code in (0, 7):
    sending(f"reset with code {code} before the head", reset(code))
    sending(f"reset with code {code} in the body", headers, half, reset(code))
sending("an end in the body", headers, lambda answer: frame(DATA, END_STREAM, answer.stream, answer.body[:9]))
sending("other bytes of the same length", headers,
        lambda answer: frame(DATA, END_STREAM, answer.stream, b"{" * len(answer.body)), expected=FINAL)
sending("GOAWAY before the head", lambda answer: frame(GOAWAY, payload=bytes(8)), close=True)
sending("GOAWAY in the body", headers, half, lambda answer: frame(GOAWAY, payload=bytes(8)), close=True)
sending("GOAWAY, and the answer", lambda answer: frame(GOAWAY, payload=struct.pack(">II", answer.stream, 0)), whole,
        expected=GOOD)
sending("an index beyond the table", lambda answer: headers(answer, b"\xff\xff\xff\x7f"))
sending("a bomb of fields", lambda answer: headers(
    answer, b"\x40" + field("a", "b" * 4000)[1:] + b"\xbe" * 4000))
sending("a flood of PING", frame(PING, payload=bytes(8)) * 20_000, whole, expected=EITHER)
sending("a flood of empty data", headers, lambda answer: frame(DATA, 0, answer.stream) * 20_000, whole)


@fault("more than the window allows")
def more_than_the_window(answer):
    answer.frames(headers(answer), frame(DATA, 0, answer.stream, bytes(16_384)) * 1024)


@fault("a gzip bomb", FINAL)
def gzip_bomb(answer):
    packer = zlib.compressobj(9, wbits=31)
    answer.fields = [("content-encoding", "gzip"), ("content-type", "application/json")]
    answer.body = b"".join([*(packer.compress(bytes(MEBIBYTES)) for _ in range(512)), packer.flush()])
    answer.send()


for cut in (0, 5, 9, 30, 400):
    sending(f"cut at byte {cut}", lambda answer, cut=cut: answer.whole[:cut], close=True)

# A changeset may be 256 MiB, and its buffer grows by doubling.
PEAKS = {"a gzip bomb": 700 * MEBIBYTES}


@pytest.fixture(scope="module")
def outcomes(place, tmp_path_factory):
    """The result of a refresh and its dumps, by fault and by whether every response has it."""
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

    cases = [(name, always) for name in FAULTS for always in (False, True)]
    with Behind(place) as honest, concurrent.futures.ThreadPoolExecutor(16) as pool:
        return dict(zip(cases, pool.map(run, cases), strict=True))


def check_failed(place, dumps, code, report, err):
    """Checks that main/one failed with an error that contains its URL, and that only main/two was written."""
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
def test_http2_fault_in_one_answer(place, outcomes, name):
    (code, report, err, peak), dumps = outcomes[name, False]
    assert peak < PEAKS.get(name, 192 * MEBIBYTES)
    if FAULTS[name][1] == FINAL:
        check_failed(place, dumps, code, report, err)
    else:
        check_refreshed(place, dumps, code, err)


@pytest.mark.parametrize("name", FAULTS)
def test_http2_fault_in_each_answer(place, outcomes, name):
    (code, report, err, peak), dumps = outcomes[name, True]
    assert peak < PEAKS.get(name, 192 * MEBIBYTES)
    expected = FAULTS[name][1]
    if expected == GOOD or expected == EITHER and code == rsdump.DONE:
        check_refreshed(place, dumps, code, err)
    else:
        check_failed(place, dumps, code, report, err)
