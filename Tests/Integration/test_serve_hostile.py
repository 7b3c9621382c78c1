"""Clients that mean harm, or are only slow: each is refused, said once, and nobody else waits."""
import re
import socket
import threading
import time
import urllib.parse

import pytest

from serve import Serving, drain

LENGTH = "Content-Length: 5\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"


@pytest.fixture(scope="module")
def origin(refreshed_sample):
    with Serving("--dumps", refreshed_sample.path) as serving:
        yield serving


@pytest.fixture(autouse=True)
def others_are_served(origin):
    """Whatever a test does to the server, somebody else gets an answer before and after it."""
    assert origin.ask("/v1/").status == 200
    yield
    assert origin.ask("/v1/").status == 200
    assert origin.process.poll() is None


def statuses(answer):
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3})", answer)]


def request(head, body=b"", target="/v1/", method="GET", version="1.1"):
    return f"{method} {target} HTTP/{version}\r\nHost: x\r\n{head}\r\n".encode() + body


SMUGGLING = {
    "both lengths": request(LENGTH + CHUNKED, b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"),
    "two lengths": request("Content-Length: 5\r\nContent-Length: 6\r\n", b"hello!"),
    "a list of lengths": request("Content-Length: 5, 5\r\n", b"hello"),
    "a signed length": request("Content-Length: +5\r\n", b"hello"),
    "a negative length": request("Content-Length: -5\r\n", b"hello"),
    "a hexadecimal length": request("Content-Length: 0x5\r\n", b"hello"),
    "an endless length": request("Content-Length: 99999999999999999999999\r\n", b"hello"),
    "an unknown coding": request("Transfer-Encoding: xchunked\r\n", b"0\r\n\r\n"),
    "two codings": request("Transfer-Encoding: gzip, chunked\r\n", b"0\r\n\r\n"),
    "two coding headers": request(CHUNKED + CHUNKED, b"0\r\n\r\n"),
    "chunked in 1.0": request(CHUNKED, b"0\r\n\r\n", version="1.0"),
    "a space before the colon": request("Transfer-Encoding : chunked\r\n", b"0\r\n\r\n"),
    "a folded header": request("X-A: b\r\n c\r\nTransfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n"),
    "a chunk size that is none": request(CHUNKED, b"zz\r\nhello\r\n0\r\n\r\n"),
    "two hosts": request("Host: y\r\n"),
    "a NUL in a header": request("X-A: b\0c\r\n"),
}


@pytest.mark.parametrize("name", SMUGGLING)
def test_what_could_smuggle_a_request_ends_the_connection(origin, name):
    before = origin.metric('rsdump_requests_total{route="unknown"')
    found = statuses(origin.send(SMUGGLING[name] + b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"))
    assert found in ([], [400]), found
    assert origin.metric('rsdump_requests_total{route="unknown"') == before


MALFORMED = {
    "no host": b"GET /v1/ HTTP/1.1\r\n\r\n",
    "HTTP 2": b"GET /v1/ HTTP/2.0\r\nHost: x\r\n\r\n",
    "a fragment": request("", target="/v1/#x"),
    "no path": request("", target="v1/"),
    "an asterisk": request("", target="*"),
    "a broken escape": request("", target="/attachments/%zz"),
    "half an escape": request("", target="/attachments/%2"),
    "an encoded NUL": request("", target="/attachments/a%00b"),
    "an encoded line": request("", target="/attachments/a%0d%0ab"),
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 300,
    "nonsense": b"\xff" * 2000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_requests_are_refused(origin, name):
    before = origin.metric("rsdump_refused_total")
    assert statuses(origin.send(MALFORMED[name])) in ([400], [505], [])
    assert origin.metric("rsdump_refused_total") == before + 1


TRAVERSAL = [
    "/attachments/../../../../etc/passwd", "/attachments/..%2f..%2f..%2fetc%2fpasswd", "/attachments/%2e%2e/%2e%2e/etc/passwd",
    "/attachments/%252e%252e%252fetc%252fpasswd", "/attachments/..%5c..%5cetc%5cpasswd", "/attachments/..\\..\\etc\\passwd",
    "/attachments//etc/passwd", "/attachments/./dumps.yaml", "/attachments/..;/dumps.yaml", "/attachments/%c0%ae%c0%ae/dumps.yaml",
    "/chains/../dumps.lock.json", "/chains/..%2fdumps.lock.json", "/../dumps.yaml", "/dumps.yaml", "/main/regions.zip",
    "/v1/buckets/..%2f/collections/settings/changeset?_expected=0", "/attachments/bundles/..--..%2f..%2fdumps.zip",
    "/attachments/bundles/main--../regions.zip", "/v1/buckets/main/collections/%2e%2e/changeset?_expected=0",
]


@pytest.mark.parametrize("target", TRAVERSAL)
def test_no_path_leaves_what_is_served(origin, target):
    answer = origin.send(request("Connection: close\r\n", target=target))
    assert statuses(answer) in ([404], [400]), answer
    assert b"root:" not in answer and b"collections:" not in answer


def test_headers_have_limits(origin):
    for head in ["X-A: " + "a" * 100_000 + "\r\n", "".join(f"X-{n}: {'b' * 100}\r\n" for n in range(400))]:
        assert statuses(origin.send(request(head))) in ([431], [])
    assert statuses(origin.send(request("", target="/" + "a" * 100_000))) in ([431], [400], [])
    # Without an end, too: nothing is kept until one comes.
    assert statuses(origin.send(b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000)) in ([431], [400], [])
    assert origin.metric('rsdump_refused_total{reason="headers-too-large"}') >= 1


def test_a_body_has_a_limit(origin):
    assert statuses(origin.send(request("Content-Length: 10000000\r\n", b"x" * 1_000_000, method="POST"))) in ([413], [])
    answer = origin.send(request("Content-Length: 5\r\nConnection: close\r\n", b"hello"))
    assert statuses(answer) == [200]


def test_a_refusal_is_said_once(origin):
    before = origin.log().count("rsdump: refused ")
    origin.send(MALFORMED["no host"] * 50)
    assert origin.log().count("rsdump: refused ") == before + 1


def test_pipelined_requests_are_answered_in_order(origin):
    data = b"".join(request("", target=f"/nobody-{n}") for n in range(199)) + request("Connection: close\r\n")
    assert statuses(origin.send(data)) == [404] * 199 + [200]


def test_who_reads_late_gets_every_answer(origin):
    """Small answers, more of them than the sockets' buffers hold: the server stops reading, and goes on."""
    chain = urllib.parse.urlsplit(origin.changeset("main/icons").json()["metadata"]["signature"]["x5u"]).path
    size = len(origin.ask(chain).body)
    count = 20_000_000 // size
    with origin.connect() as connection:
        asking = threading.Thread(
            target=connection.sendall,
            args=[request("", target=chain) * (count - 1) + request("Connection: close\r\n", target=chain)])
        asking.start()
        assert origin.ask("/v1/").status == 200
        answers = drain(connection)
        asking.join()
    assert statuses(answers) == [200] * count
    assert len(answers) > count * size


def test_a_half_closed_connection_is_answered(origin):
    assert statuses(origin.send(request("") + request(""), half_close=True)) == [200, 200]
    assert statuses(origin.send(b"GET /v1/ HT", half_close=True)) in ([], [400])


def test_one_byte_at_a_time_is_answered(origin):
    with origin.connect() as connection:
        for byte in request("Connection: close\r\n"):
            connection.sendall(bytes([byte]))
        assert statuses(drain(connection)) == [200]


def test_http_1_0_closes_unless_asked(origin):
    assert statuses(origin.send(b"GET /v1/ HTTP/1.0\r\n\r\n")) == [200]
    with origin.connect() as connection:
        connection.sendall(b"GET /v1/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /v1/ HTTP/1.0\r\n\r\n")
        answer = drain(connection)
    assert statuses(answer) == [200, 200] and b"Connection: keep-alive" in answer


def test_slow_clients_slow_nobody(origin):
    """Requests that never end and answers that nobody reads, and all the while others are served."""
    slow = []
    try:
        for _ in range(150):
            connection = origin.connect()
            connection.sendall(b"GET /v1/ HTTP/1.1\r\nHost: x\r\nX-A: ")
            slow.append(connection)
        for _ in range(50):
            connection = origin.connect()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(request("", target="/v1/buckets/main/collections/large/changeset?_expected=0") * 100)
            slow.append(connection)
        assert all(origin.ask("/v1/").status == 200 for _ in range(50))
        assert origin.metric("rsdump_connections ") >= 200
        # Those that sent half a request are answered 408 when their time is up.
        slow[0].settimeout(60)
        assert statuses(drain(slow[0])) == [408]
    finally:
        for connection in slow:
            connection.close()
    deadline = time.monotonic() + 60
    while origin.metric("rsdump_connections ") > 1:
        assert time.monotonic() < deadline, "connections that are gone are still counted"


def test_ranges_are_not_abused(origin, refreshed_sample):
    record = next(r for r in refreshed_sample.bundle("main/icons").records)
    path = f"/attachments/{record['attachment']['location']}"
    many = "bytes=" + ",".join("0-" for _ in range(1000))
    answer = origin.ask(path, Range=many)
    assert answer.status == 200 and len(answer.body) == record["attachment"]["size"]
