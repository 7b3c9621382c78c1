"""Malicious or slow clients: each is rejected and logged once, and no other client has to wait."""
import contextlib
import http.client
import re
import resource
import select
import socket
import struct
import threading
import time
import urllib.parse

import pytest

from publishing import LargeFiles
from serve import Serving, drain

LENGTH = "Content-Length: 5\r\n"
CHUNKED = "Transfer-Encoding: chunked\r\n"


@pytest.fixture(scope="module")
def origin(refreshed_sample):
    with Serving("--dumps", refreshed_sample.path) as serving:
        yield serving


@pytest.fixture(autouse=True)
def others_are_served(origin):
    """Other clients get responses before and after each test."""
    assert origin.ask("/v1/").status == 200
    yield
    assert origin.ask("/v1/").status == 200
    assert origin.process.poll() is None


def statuses(answer):
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3})", answer)]


def request(head, body=b"", target="/v1/", method="GET", version="1.1"):
    return f"{method} {target} HTTP/{version}\r\nHost: x\r\n{head}\r\n".encode() + body


# RequestTests covers parsed heads that RequestCheck rejects; these test the parsing of bytes.
SMUGGLING = {
    "both lengths": request(LENGTH + CHUNKED, b"0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"),
    "a signed length": request("Content-Length: +5\r\n", b"hello"),
    "chunked in 1.0": request(CHUNKED, b"0\r\n\r\n", version="1.0"),
    "a space before the colon": request("Transfer-Encoding : chunked\r\n", b"0\r\n\r\n"),
    "a folded header": request("X-A: b\r\n c\r\nTransfer-Encoding:\r\n chunked\r\n", b"0\r\n\r\n"),
    "a chunk size that is none": request(CHUNKED, b"zz\r\nhello\r\n0\r\n\r\n"),
    "a NUL in a header": request("X-A: b\0c\r\n"),
    "the same length twice": request(LENGTH + LENGTH, b"hello"),
    "a length after an empty coding": request("Transfer-Encoding:\r\n" + LENGTH, b"hello"),
    "chunked, and then something": request("Transfer-Encoding: chunked, identity\r\n", b"0\r\n\r\n"),
    "an identity": request("Transfer-Encoding: identity\r\n"),
    "a negative chunk": request(CHUNKED, b"-5\r\nhello\r\n0\r\n\r\n"),
    "a signed chunk": request(CHUNKED, b"+5\r\nhello\r\n0\r\n\r\n"),
    "a prefixed chunk": request(CHUNKED, b"0x5\r\nhello\r\n0\r\n\r\n"),
    "a chunk beyond 64 bits": request(CHUNKED, b"FFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n"),
    "a chunk size with a space": request(CHUNKED, b"5 \r\nhello\r\n0\r\n\r\n"),
    "chunks with line feeds": request(CHUNKED, b"5\nhello\n0\n\n"),
    "an extension that ends in a line feed": request(CHUNKED, b"5;a=b\nhello\r\n0\r\n\r\n"),
    "a chunk longer than its size": request(CHUNKED, b"5\r\nhello!\r\n0\r\n\r\n"),
    "a chunk without an end": request(CHUNKED, b"5\r\nhello0\r\n\r\n"),
    "a coding in a trailer": request(CHUNKED, b"0\r\n" + CHUNKED.encode() + b"\r\n"),
    "a length in a trailer": request(CHUNKED, b"0\r\n" + LENGTH.encode() + b"\r\n"),
    "line feeds alone": b"GET /v1/ HTTP/1.1\nHost: x\n\n",
    "a line feed in the head": b"GET /v1/ HTTP/1.1\r\nHost: x\nX-A: b\r\n\r\n",
    "a head that ends in a line feed": b"GET /v1/ HTTP/1.1\r\nHost: x\r\n\n",
    "a carriage return in the head": b"GET /v1/ HTTP/1.1\r\nHost: x\rX-A: b\r\n\r\n",
    "a carriage return in a value": request("X-A: b\rc\r\n"),
    "a line without a colon": request("X-A\r\n"),
    "a header without a name": request(": b\r\n"),
    "a header with a space in its name": request("X A: b\r\n"),
    "a first header that is folded": b"GET /v1/ HTTP/1.1\r\n X-A: b\r\nHost: x\r\n\r\n",
    "a body with an Expect header": request(LENGTH + "Expect: 100-continue\r\n", b"hello", method="POST"),
}


@pytest.mark.parametrize("name", SMUGGLING)
def test_request_smuggling_ends_the_connection(origin, name):
    before = origin.metric('rsdump_requests_total{route="unknown"')
    found = statuses(origin.send(SMUGGLING[name] + b"GET /smuggled HTTP/1.1\r\nHost: x\r\n\r\n"))
    assert found in ([], [400], [417]), found
    assert origin.metric('rsdump_requests_total{route="unknown"') == before


# Rare but valid requests, and features that the server may ignore: each gets one response, and the next request is read from its
# first byte.
PASSED_OVER = {
    "a body": request(LENGTH, b"hello"),
    "a length behind a tab": request("Content-Length:\t5\r\n", b"hello"),
    "chunks": request(CHUNKED, b"5\r\nhello\r\n1;a=b;c=\"d\"\r\n!\r\n0;x\r\nX-Trailer: y\r\n\r\n"),
    "a coding in capitals": request("Transfer-Encoding: CHUNKED\r\n", b"00000000000000000005\r\nhello\r\n0\r\n\r\n"),
    "empty lines before": b"\r\n\r\n" + request(""),
    "an absolute target": request("", target="http://x/v1/"),
    "a length with an underscore": request("Content_Length: 5\r\n"),
}


@pytest.mark.parametrize("name", PASSED_OVER)
def test_valid_body_keeps_next_pipelined_request(origin, name):
    before = origin.metric("rsdump_refused_total")
    answer = origin.send(PASSED_OVER[name] + request("Connection: close\r\n", target="/nobody"))
    assert statuses(answer) == [200, 404]
    assert b"evil" not in answer
    assert origin.metric("rsdump_refused_total") == before


@pytest.mark.parametrize("protocol", ["websocket", "h2c"])
def test_protocol_upgrade_is_ignored_and_closes(origin, protocol):
    """The decoder reads nothing after it, so the client must be told to use a new connection."""
    head = f"Connection: Upgrade\r\nUpgrade: {protocol}\r\n"
    answer = origin.send(request(head) + request("", target="/nobody"))
    assert statuses(answer) == [200] and b"\r\nConnection: close\r\n" in answer
    answer = origin.send(request("", method="CONNECT") + request("", target="/nobody"))
    assert statuses(answer) == [405]


MALFORMED = {
    "no host": b"GET /v1/ HTTP/1.1\r\n\r\n",
    "a NUL in the target": b"GET /v1/\0 HTTP/1.1\r\nHost: x\r\n\r\n",
    "bytes above ASCII in the target": b"GET /v1/\xc0\xae\xc0\xae/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "a space before the request": b" " + request(""),
    "tabs in the request line": b"GET\t/v1/\tHTTP/1.1\r\nHost: x\r\n\r\n",
    "a method in small letters": request("", method="get"),
    "a method that is none": request("", method="FETCH"),
    "HTTP 0.9": b"GET /v1/\r\n\r\n",
    "HTTP 2's preface": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a tunnel": b"CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "a TLS hello": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 300,
    "nonsense": b"\xff" * 2000 + b"\r\n\r\n",
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_requests_are_refused(origin, name):
    before = origin.metric("rsdump_refused_total")
    assert statuses(origin.send(MALFORMED[name])) in ([400], [505], [])
    assert origin.metric("rsdump_refused_total") == before + 1


# RequestTests covers targets that two parsers could read differently.
TRAVERSAL = [
    "/attachments/../../../../etc/passwd", "/attachments/..%2f..%2f..%2fetc%2fpasswd", "/attachments/%252e%252e%252fetc%252fpasswd",
    "/attachments/..\\..\\etc\\passwd", "/attachments//etc/passwd", "/attachments/%c0%ae%c0%ae/dumps.yaml",
    "/chains/..%2fdumps.lock.json", "/../dumps.yaml", "/dumps.yaml", "/main/markets.zip", "/.git/config",
    "/v1/buckets/..%2f/collections/settings/changeset?_expected=0", "/attachments/bundles/..--..%2f..%2fdumps.zip",
    "/collections/main/icons/records/petals-22/..%2fdownload", "/collections/main/settings/changes?from=../../x",
    "/attachments/bundles/main--icons.zip%00.txt", "/attachments/file:///etc/passwd",
]


@pytest.mark.parametrize("target", TRAVERSAL)
def test_path_traversal_is_refused(origin, target):
    answer = origin.send(request("Connection: close\r\n", target=target))
    assert statuses(answer) in ([404], [400]), answer
    assert b"root:" not in answer and b"collections:" not in answer


def test_headers_have_limits(origin):
    for head in ["X-A: " + "a" * 100_000 + "\r\n", "".join(f"X-{n}: {'b' * 100}\r\n" for n in range(400))]:
        assert statuses(origin.send(request(head))) in ([431], [])
    assert statuses(origin.send(request("", target="/" + "a" * 100_000))) in ([431], [400], [])
    # Also without an end: the server does not buffer it.
    assert statuses(origin.send(b"GET / HTTP/1.1\r\nX: " + b"a" * 200_000)) in ([431], [400], [])
    assert origin.metric('rsdump_refused_total{reason="headers-too-large"}') >= 1


@pytest.mark.parametrize("head, more", [
    (request("Content-Length: 10000000\r\n", method="POST"), b"x" * 10_000),
    (request(CHUNKED, method="POST"), b"1\r\nx\r\n" * 10_000),
    # Also endless, but neither header nor body.
    (request(CHUNKED) + b"5;", b"a" * 10_000),
    (request(CHUNKED), b"0" * 10_000),
    (request(CHUNKED) + b"0\r\n", b"X-A: b\r\n" * 1000),
    (request(CHUNKED) + b"0\r\nX-A: ", b"b" * 10_000),
    (b"", b"\r\n" * 10_000),
], ids=["body", "chunks", "chunk extension", "chunk size", "trailers", "a trailer", "empty lines"])
def test_endless_request_is_refused(origin, head, more):
    before = origin.metric("rsdump_refused_total")
    with origin.connect() as connection:
        sent = 0
        try:
            connection.sendall(head)
            while sent < 64 << 20:
                connection.sendall(more)
                sent += len(more)
        except (ConnectionResetError, BrokenPipeError):
            pass
        assert sent < 64 << 20, "the server did not stop reading"
    assert origin.metric("rsdump_refused_total") == before + 1


def test_refusal_is_logged_once_per_connection(origin):
    before = origin.log().count("rsdump: closed the connection of ")
    origin.send(MALFORMED["no host"] * 50)
    assert origin.log().count("rsdump: closed the connection of ") == before + 1


def test_pipelined_requests_are_answered_in_order(origin):
    data = b"".join(request("", target=f"/nobody-{n}") for n in range(59)) + request("Connection: close\r\n")
    assert statuses(origin.send(data)) == [404] * 59 + [200]


def test_late_reader_gets_all_pipelined_answers(origin):
    """Small responses, but more than the sockets' buffers hold: the server pauses reading, then continues."""
    chain = urllib.parse.urlsplit(origin.changeset("main/icons").json()["metadata"]["signature"]["x5u"]).path
    size = len(origin.ask(chain).body)
    # The server sends at most 80 responses per second on a connection with waiting requests (RequestGuard.pause).
    count = 700_000 // size
    with socket.socket() as connection:
        # With loopback's large segments, each side would buffer megabytes.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1000)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        connection.settimeout(60)
        connection.connect((origin.host, origin.port))
        before = origin.metric("rsdump_requests_total")
        connection.sendall(request("", target=chain) * (count - 1) + request("Connection: close\r\n", target=chain))

        def stands_still():
            answered = origin.metric("rsdump_requests_total")
            time.sleep(0.5)
            # Reading the metrics is a request too.
            return origin.metric("rsdump_requests_total") == answered + 1

        wait_for(origin, stands_still)
        assert origin.metric("rsdump_requests_total") < before + count
        answers = drain(connection)
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


def test_unread_answers_stop_request_reading(origin):
    """Responses without a body also wait for the client: the server stops reading, so its memory does not fill up."""
    heads = request("", method="HEAD") * 1000
    with origin.connect() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.setblocking(False)
        sent = 0
        # Much more than the buffers of both sockets: when nothing moves for a while, they are full.
        while sent < 24 << 20 and select.select([], [connection], [], 3)[1]:
            sent += connection.send(heads)
        assert sent < 24 << 20, "the server did not stop reading"


def test_pipelining_flood_uses_bounded_stack(refreshed_sample):
    """Requests queued behind a page that another thread renders are answered iteratively, not recursively."""
    limits = resource.getrlimit(resource.RLIMIT_STACK)
    resource.setrlimit(resource.RLIMIT_STACK, (512 << 10, limits[1]))    # of every thread, inherited by the server
    try:
        serving = Serving("--dumps", refreshed_sample.path).__enter__()
    finally:
        resource.setrlimit(resource.RLIMIT_STACK, limits)
    with contextlib.closing(serving.connect()) as connection:
        try:
            data = request("", target="/") + request("", method="HEAD") * 400 + request("Connection: close\r\n")
            sender = threading.Thread(target=connection.sendall, args=(data,))
            sender.start()
            assert statuses(drain(connection)) == [200] * 402
            sender.join()
            assert serving.process.poll() is None
        finally:
            serving.__exit__()


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    return LargeFiles(tmp_path_factory.mktemp("large"))


@pytest.fixture
def large_origin(large):
    with Serving("--dumps", large.dumps.path) as serving:
        yield serving
        assert serving.process.poll() is None


def take_nothing(serving, target, count, addresses, stack, headers=""):
    """Opens that many connections that send a request and read nothing: only their socket buffers fill."""
    before = serving.metric("rsdump_requests_total")
    connections = []
    for number in range(count):
        connection = stack.enter_context(serving.connect(f"127.4.0.{1 + number % addresses}"))
        connection.sendall(request(headers, target=target))
        connections.append(connection)
    wait_for(serving, lambda: serving.metric("rsdump_requests_total") >= before + count)
    for connection in connections:
        assert connection.recv(1, socket.MSG_PEEK)
    return connections


def read_slowly(connection, size, rate):
    """Reads the body of one response at the given rate in bytes per second."""
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(1 << 10)
    body = received.split(b"\r\n\r\n", 1)[1]
    began = time.monotonic()
    while len(body) < size and (piece := connection.recv(1 << 12)):
        body += piece
        time.sleep(max(0, began + len(body) / rate - time.monotonic()))
    return body


@pytest.mark.parametrize("name", ["stored", "deflated"])
def test_stalled_downloads_use_bounded_memory(large, large_origin, name):
    """Each download once kept two pieces of 256 KiB in memory. Now their total is bounded, and a client that reads gets its data,
    even slowly, and even from the address with the most unread data."""
    target, content = large.targets[name], large.files[name]
    assert large_origin.ask(target).body == content
    before = large_origin.memory()
    with contextlib.ExitStack() as stack:
        takers = take_nothing(large_origin, target, 600, 3, stack)
        assert large_origin.memory() - before < 80
        # The budget is in use, but some is left for other addresses.
        assert 16 << 20 < large_origin.metric("rsdump_untaken_bytes ") < 32 << 20
        assert large_origin.ask(target).body == content
        for source in ("127.0.0.1", "127.4.0.1"):
            slow = stack.enter_context(large_origin.connect(source))
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
            # Ranges of stored files are also read in pieces, and need no extra memory.
            asked = large.targets["stored"]
            slow.sendall(request("Range: bytes=100-300099\r\nConnection: close\r\n", target=asked))
            assert read_slowly(slow, 300_000, 100_000) == large.files["stored"][100:300_100]
        assert large_origin.metric('rsdump_refused_total{reason="slow-reader"}') == 0
        for taker in takers:
            taker.close()
    wait_for_no_connections(large_origin)
    assert large_origin.metric("rsdump_untaken_bytes ") == 0


def test_unread_pages_use_bounded_memory(large, large_origin):
    """A page is rendered per client, and is in memory until the client has read it."""
    target = large.targets["page"]

    def page():
        # Ages shown on the page change meanwhile.
        return re.sub(rb"just now|\d+ \w+( ago)?", b"", large_origin.ask(target, Accept="text/html").body)

    whole = page()
    with contextlib.ExitStack() as stack:
        takers, found = [], []
        # On a busy machine, the kernel may buffer whole pages before the next one is rendered.
        while 503 not in found and len(takers) < 240:
            takers += take_nothing(large_origin, target, 60, 2, stack, "Accept: text/html\r\n")
            found = [statuses(taker.recv(1 << 10, socket.MSG_PEEK))[0] for taker in takers]
        assert set(found) == {200, 503}
        assert large_origin.metric("rsdump_untaken_bytes ") < 32 << 20
        refused = takers[found.index(503)].recv(1 << 12)
        assert b"\r\nRetry-After: 1\r\n" in refused and b"Too many responses are in progress" in refused
        # Another address gets its page, and the same address gets responses that need no extra memory.
        assert page() == whole
        changeset = stack.enter_context(large_origin.connect("127.4.0.1"))
        changeset.sendall(request("Connection: close\r\n", target=large.targets["changeset"]))
        assert statuses(drain(changeset)) == [200]


def test_update_streams_do_not_use_address_limit(refreshed_sample):
    """With 600 open files, 88 connections are allowed, of them 66 from one address, not counting those that wait for updates."""
    with Serving("--dumps", refreshed_sample.path, wrapper=("prlimit", "--nofile=600:600")) as serving:
        with contextlib.ExitStack() as stack:
            for _ in range(40):
                stream = stack.enter_context(serving.connect("127.0.0.2"))
                stream.sendall(request("", target="/v1/updates"))
                assert statuses(stream.recv(1 << 12)) == [200]
            ordinary = [stack.enter_context(serving.connect("127.0.0.2")) for _ in range(40)]
            assert all(exchange(connection) == [200] for connection in ordinary)
            assert all(is_open(connection) for connection in ordinary)
            assert serving.metric("rsdump_connections ") == 81


def test_reset_connections_are_released(origin):
    for number in range(300):
        with origin.connect() as connection:
            connection.sendall(request("", target="/v1/buckets/main/collections/large/changeset?_expected=0")[: 10 * number % 90])
            # A reset instead of a normal close.
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    wait_for_no_connections(origin)


def test_slow_clients_time_out_and_delay_nobody(origin):
    """Requests that never end and responses that no client reads, while others are served. Each slow connection is closed and
    logged once when its time is up."""
    large = request("", target="/v1/buckets/main/collections/large/changeset?_expected=0")
    halves = [b"GET /v1/ HTTP/1.1\r\nHost: x\r\nX-A: ", request(LENGTH, b"hel", method="POST"),
              request(CHUNKED, b"5\r\nhel"), b"\r\n", b""]
    refusals = {reason: origin.metric(refusal(reason)) for reason in ("slow-request", "slow-reader")}
    logged = origin.log().count("rsdump: closed the connection of ")
    slow, unread = [], []
    try:
        for number in range(150):
            connection = origin.connect()
            connection.sendall(halves[number % len(halves)])
            slow.append(connection)
        for _ in range(50):
            connection = origin.connect()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(large * 100)
            unread.append(connection)
        assert all(origin.ask("/v1/").status == 200 for _ in range(50))
        assert origin.metric("rsdump_connections ") >= 200
        drip = threading.Thread(target=dripping, args=(slow[0],))
        drip.start()
        for connection in slow:
            # Bytes that arrive after the close may reset the connection before its last response is read.
            assert statuses(drain(connection)) in ([408], [] if connection is slow[0] else [408])
        drip.join()
        wait_for(origin, lambda: origin.metric(refusal("slow-reader")) == refusals["slow-reader"] + 50)
        assert origin.metric(refusal("slow-request")) == refusals["slow-request"] + 150
        assert origin.log().count("rsdump: closed the connection of ") == logged + 200
    finally:
        for connection in slow + unread:
            connection.close()
    wait_for_no_connections(origin)


def refusal(reason):
    return f'rsdump_refused_total{{reason="{reason}"}}'


def dripping(connection):
    """A byte now and then does not count as progress."""
    try:
        while True:
            connection.sendall(b"a")
            time.sleep(0.1)
    except OSError:
        pass


def wait_for(origin, condition):
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline and origin.process.poll() is None, origin.log()
        time.sleep(0.05)


def wait_for_no_connections(origin):
    # The connection that reads the metrics.
    wait_for(origin, lambda: origin.metric("rsdump_connections ") <= 1)


def is_open(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except ConnectionResetError:
        return False
    finally:
        connection.settimeout(60)


def exchange(connection):
    connection.sendall(request(""))
    answer = b""
    while b"\r\n\r\n" not in answer:
        piece = connection.recv(1 << 16)
        assert piece, "the connection was closed"
        answer += piece
    length = int(re.search(rb"(?i)content-length: (\d+)", answer)[1])
    while len(answer.split(b"\r\n\r\n", 1)[1]) < length:
        answer += connection.recv(1 << 16)
    return statuses(answer)


def test_new_connections_replace_idle_ones(refreshed_sample):
    """88 connections, 66 from one address: new clients once waited 43 seconds until idle connections timed out."""
    with Serving("--dumps", refreshed_sample.path, wrapper=("prlimit", "--nofile=600:600")) as serving:
        busy = serving.connect("127.0.0.9")
        assert exchange(busy) == [200]
        flood = []
        try:
            # More than all slots, with some slow readers: a new client is served at once, and so is one with occasional requests.
            for number in range(400):
                connection = serving.connect(f"127.0.0.{2 + number % 3}")
                if number % 4 == 0:
                    connection.sendall(b"GET /v1/ HT")
                elif number % 4 == 1:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    connection.sendall(request("", target="/v1/buckets/main/collections/large/changeset?_expected=0") * 20)
                flood.append(connection)
                if number % 20 == 0:
                    assert exchange(busy) == [200]
                    began = time.monotonic()
                    with serving.connect("127.0.0.8") as newcomer:
                        assert exchange(newcomer) == [200]
                    assert time.monotonic() - began < 5
            assert serving.metric("rsdump_connections ") <= 88
        finally:
            for connection in flood:
                connection.close()
        # A single address gets at most its share, and makes room by closing its idle connections.
        wait_for(serving, lambda: serving.metric("rsdump_connections ") <= 2)
        crowd = []
        try:
            for _ in range(100):
                crowd.append(serving.connect("127.0.0.2"))
                assert exchange(crowd[-1]) == [200]
            assert serving.metric("rsdump_connections ") <= 66 + 2
            # Of the connections considered together, those idle the longest are closed first.
            wait_for(serving, lambda: not any(is_open(connection) for connection in crowd[:30]))
            assert is_open(crowd[-1]) and exchange(crowd[-1]) == [200]
            assert exchange(busy) == [200]
        finally:
            for connection in crowd:
                connection.close()
        busy.close()
        assert serving.metric('rsdump_refused_total{reason="too-many-connections"}') == 0


@pytest.mark.parametrize("length", [0, 5000])
def test_bundle_truncated_in_place_while_serving(dumps, length):
    """As with `cp` over a bundle: reading the mapped file would then cause a SIGBUS."""
    bundle = dumps.path / "main" / "large.zip"
    whole = bundle.read_bytes()
    target = "/v1/buckets/main/collections/large/changeset?_expected=0"
    with Serving("--dumps", dumps.path, "--watch") as serving:
        good = serving.ask(target).body
        icons = serving.changeset("main/icons").body
        delta = f"{target}&_limit=1000000"
        newest = serving.ask(delta).body
        page = serving.ask("/collections/main/large").status
        assert page == 200
        stop = threading.Event()
        failures, answers = [], []

        def reading():
            while not stop.is_set():
                try:
                    for path, right in ((target, good), (delta, newest)):
                        answer = serving.ask(path)
                        answers.append(answer.status)
                        if answer.status == 200 and answer.body != right:
                            failures.append(path)
                    answers.append(serving.ask("/collections/main/large?show=all").status)
                except (http.client.HTTPException, OSError):
                    answers.append(0)

        readers = [threading.Thread(target=reading) for _ in range(4)]
        for reader in readers:
            reader.start()
        try:
            for _ in range(3):
                with open(bundle, "r+b") as file:
                    file.truncate(length)
                time.sleep(1.5)
                assert serving.process.poll() is None, serving.log()
                with open(bundle, "r+b") as file:
                    file.write(whole)
                wait_for(serving, lambda: serving.ask(target).body == good)
                wait_for(serving, lambda: serving.changeset("main/icons").body == icons)
        finally:
            stop.set()
            for reader in readers:
                reader.join()
        assert not failures and 200 in answers
        assert set(answers) <= {200, 404, 500, 503, 0}, set(answers)
        assert "was truncated while it was served" in serving.log()
