"""An HTTP/1.1 server on loopback that misbehaves on request, for tests.

The first segment of a path is a test's own name, for which requests are counted and recorded; the second chooses the
fault (a function below, with `-` for `_`). It prints its port, answers `/NAME/requests` with what it was asked under
that name (one JSON line a request), and ends when its standard input is closed.
"""

import base64
import collections
import gzip
import json
import os
import socket
import ssl
import sys
import threading
import urllib.parse
import zlib

FILE = bytes((i * 7 + i // 251) % 256 for i in range(200_000))
DOCUMENT = json.dumps({"data": [{"id": "record-%d" % i, "text": "x" * (i % 50)} for i in range(4000)]}).encode()

lock = threading.Lock()
requests = collections.defaultdict(list)
connections = collections.defaultdict(set)
sent = collections.Counter()
counts = collections.Counter()


class Request:
    def __init__(self, method, target, headers):
        self.method, self.target, self.headers = method, target, headers
        self.path, _, self.query = target.partition("?")
        parts = self.path.lstrip("/").split("/")
        self.name, self.fault, self.rest = parts[0], parts[1], parts[2:]
        with lock:
            self.count = counts[self.name, self.fault]
            counts[self.name, self.fault] += 1
            if self.fault not in QUESTIONS:
                requests[self.name].append({"target": target[len("/" + self.name):], "headers": headers})

    @property
    def range_start(self):
        text = self.headers.get("range", "")
        return int(text[len("bytes="):-1]) if text.startswith("bytes=") and text.endswith("-") else None


class Connection:
    def __init__(self, sock):
        self.sock, self.buffer, self.name = sock, b"", None

    def read_request(self):
        while b"\r\n\r\n" not in self.buffer:
            if self.buffer.startswith(b"\x16"):
                # A TLS ClientHello; servers that speak plain HTTP say so.
                self.head("400 Bad Request", ("Content-Length", 0))
                return None
            data = self.sock.recv(65536)
            if not data:
                return None
            self.buffer += data
        head, _, self.buffer = self.buffer.partition(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ")
        fields = (line.split(":", 1) for line in lines[1:])
        return Request(method, target, {name.lower(): value.strip() for name, value in fields})

    def send(self, data):
        self.sock.sendall(data)
        with lock:
            sent[self.name] += len(data)

    def head(self, status, *fields):
        lines = ["HTTP/1.1 %s" % status] + ["%s: %s" % field for field in fields]
        self.send(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))

    def answer(self, status, body, *fields):
        self.head(status, ("Content-Length", len(body)), *fields)
        self.send(body)

    def hang(self):
        """Says nothing more until the client goes away."""
        while self.sock.recv(65536):
            pass


FAULTS = {}


def fault(function):
    FAULTS[function.__name__.replace("_", "-")] = function
    return function


# A handler returns True where the connection may be used again.


@fault
def ok(c, r):
    c.answer("200 OK", DOCUMENT)
    return True


@fault
def raw(c, r):
    """The answer is spelled out in the path, base64url."""
    c.send(base64.urlsafe_b64decode(r.rest[0]))


@fault
def raw_once(c, r):
    if r.count == 0:
        return raw(c, r)
    return ok(c, r)


@fault
def gzip_ok(c, r):
    if "gzip" not in r.headers.get("accept-encoding", ""):
        return ok(c, r)
    c.answer("200 OK", gzip.compress(DOCUMENT), ("Content-Encoding", "gzip"))
    return True


@fault
def gzip_members(c, r):
    half = len(DOCUMENT) // 2
    body = gzip.compress(DOCUMENT[:half]) + gzip.compress(DOCUMENT[half:])
    c.answer("200 OK", body, ("Content-Encoding", "gzip"))
    return True


@fault
def gzip_chunked(c, r):
    body = gzip.compress(DOCUMENT)
    c.head("200 OK", ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked"))
    for start in range(0, len(body), 100):
        piece = body[start:start + 100]
        c.send(b"%x\r\n%s\r\n" % (len(piece), piece))
    c.send(b"0\r\n\r\n")
    return True


@fault
def gzip_cut_on_the_wire(c, r):
    body = gzip.compress(DOCUMENT)
    c.head("200 OK", ("Content-Encoding", "gzip"), ("Content-Length", len(body)))
    c.send(body[:len(body) // 2])


@fault
def gzip_cut_inside(c, r):
    """The connection gives all it announced, but the stream in it is cut."""
    body = gzip.compress(DOCUMENT)
    c.answer("200 OK", body[:-20], ("Content-Encoding", "gzip"))
    return True


@fault
def gzip_cut_chunked(c, r):
    body = gzip.compress(DOCUMENT)
    piece = body[:len(body) // 2]
    c.head("200 OK", ("Content-Encoding", "gzip"), ("Transfer-Encoding", "chunked"))
    c.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(piece), piece))
    return True


@fault
def gzip_damaged(c, r):
    body = bytearray(gzip.compress(DOCUMENT))
    body[-6] ^= 0xFF
    c.answer("200 OK", bytes(body), ("Content-Encoding", "gzip"))
    return True


@fault
def gzip_not(c, r):
    c.answer("200 OK", DOCUMENT, ("Content-Encoding", "gzip"))
    return True


@fault
def brotli(c, r):
    c.answer("200 OK", DOCUMENT, ("Content-Encoding", "br"))
    return True


@fault
def bomb(c, r):
    """About 10 GB of zeros in 10 MB: one deflate block after another."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = squeeze.compress(bytes(16 << 20)) + squeeze.flush(zlib.Z_FULL_FLUSH)
    head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03"
    c.head("200 OK", ("Content-Encoding", "gzip"), ("Content-Length", len(head) + 640 * len(block)))
    c.send(head)
    for _ in range(640):
        c.send(block)


@fault
def endless(c, r):
    c.head("200 OK", ("Transfer-Encoding", "chunked"))
    piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    while True:
        c.send(piece)


@fault
def endless_unframed(c, r):
    c.head("200 OK", ("Connection", "close"))
    while True:
        c.send(b"x" * 65536)


@fault
def announced_huge(c, r):
    c.head("200 OK", ("Content-Length", 10 ** 12))
    c.hang()


@fault
def cut_plain(c, r):
    c.head("200 OK", ("Content-Length", 1000))
    c.send(b"x" * 500)


@fault
def cut_once(c, r):
    return cut_plain(c, r) if r.count == 0 else ok(c, r)


@fault
def cut_in_chunk(c, r):
    c.head("200 OK", ("Transfer-Encoding", "chunked"))
    c.send(b"3e8\r\n" + b"x" * 500)


@fault
def cut_between_chunks(c, r):
    c.head("200 OK", ("Transfer-Encoding", "chunked"))
    c.send(b"5\r\nhello\r\n")


@fault
def closed(c, r):
    pass


@fault
def closed_once(c, r):
    return None if r.count == 0 else ok(c, r)


@fault
def silent(c, r):
    c.hang()


@fault
def stalled(c, r):
    c.head("200 OK", ("Content-Length", 1000))
    c.send(b"x" * 10)
    c.hang()


@fault
def loop(c, r):
    c.answer("302 Found", b"", ("Location", r.target))
    return True


@fault
def circle(c, r):
    step = {"v1": "a", "a": "b", "b": "a"}[r.rest[-2] if r.rest[-1] == "" else r.rest[-1]]
    c.answer("302 Found", b"round and round", ("Location", "/%s/circle/%s" % (r.name, step)))
    return True


@fault
def many(c, r):
    c.answer("302 Found", b"", ("Location", "/%s/many/%d" % (r.name, r.count)))
    return True


@fault
def moved(c, r):
    """One redirect with a body, to something that works."""
    c.answer("301 Moved Permanently", b"over there", ("Location", "../../ok/v1/?moved"))
    return True


@fault
def drops_since(c, r):
    if "_since" in r.query:
        kept = [f for f in r.query.split("&") if not f.startswith("_since")]
        c.answer("307 Temporary Redirect", b"", ("Location", r.path + "?" + "&".join(kept)))
    else:
        c.answer("200 OK", b"full")
    return True


@fault
def changes_since(c, r):
    if "_since=99" in r.query:
        c.answer("200 OK", b"some delta")
    else:
        c.answer("307 Temporary Redirect", b"", ("Location", r.path + "?_expected=1&_since=99"))
    return True


@fault
def keeps_since(c, r):
    if r.rest[0] == "elsewhere":
        c.answer("200 OK", b"delta")
    else:
        c.answer("307 Temporary Redirect", b"", ("Location", "/%s/keeps-since/elsewhere?%s" % (r.name, r.query)))
    return True


@fault
def quoted(c, r):
    """An old v1 server."""
    values = urllib.parse.parse_qs(r.query).get("_since", [])
    if all(v.startswith('"') for v in values):
        c.answer("200 OK", b"delta")
    else:
        c.answer("400 Bad Request", b'{"code": 400, "message": "_since in querystring is invalid"}')
    return True


def unavailable(c, r, times):
    """`unavailable-3/RETRY-AFTER/…`: 503 three times, with that Retry-After unless it is `-`; then it works."""
    if r.count < times:
        fields = [("Retry-After", urllib.parse.unquote(r.rest[0]))] if r.rest[0] != "-" else []
        c.answer("503 Service Unavailable", b'{"message": "storm"}', *fields)
        return True
    return ok(c, r)


@fault
def huge_header(c, r):
    c.head("200 OK", ("X-Huge", "x" * (1 << 20)), ("Content-Length", 0))


# Files, with and without ranges.

ETAG = '"one"'


def part(c, start, *fields):
    body = FILE[start:]
    c.head("206 Partial Content", ("Content-Length", len(body)), ("ETag", ETAG),
           ("Content-Range", "bytes %d-%d/%d" % (start, len(FILE) - 1, len(FILE))), *fields)
    c.send(body)
    return True


def whole(c, etag=ETAG):
    c.answer("200 OK", FILE, ("ETag", etag))
    return True


@fault
def file(c, r):
    start = r.range_start
    if start is None or r.headers.get("if-range", ETAG) != ETAG:
        return whole(c)
    if start >= len(FILE):
        c.answer("416 Range Not Satisfiable", b"", ("Content-Range", "bytes */%d" % len(FILE)))
        return True
    return part(c, start)


def broken_then(c, r, go_on):
    """Breaks off after 70,000 bytes until the client, having got some of them, asks for the rest."""
    if r.range_start is None:
        c.head("200 OK", ("Content-Length", len(FILE)), ("ETag", ETAG))
        c.send(FILE[:70_000])
        return None
    return go_on()


@fault
def file_breaks(c, r):
    return broken_then(c, r, lambda: file(c, r))


@fault
def file_breaks_often(c, r):
    """Each answer breaks off after 70,000 bytes."""
    start = r.range_start or 0
    left = len(FILE) - start
    if start:
        c.head("206 Partial Content", ("Content-Length", left), ("ETag", ETAG),
               ("Content-Range", "bytes %d-%d/%d" % (start, len(FILE) - 1, len(FILE))))
    else:
        c.head("200 OK", ("Content-Length", left), ("ETag", ETAG))
    c.send(FILE[start:start + 70_000])


@fault
def file_breaks_no_ranges(c, r):
    return broken_then(c, r, lambda: whole(c))


@fault
def file_changed(c, r):
    """The file is another one at the second request; If-Range makes the server send it whole."""
    return broken_then(c, r, lambda: whole(c, etag='"two"') if r.headers.get("if-range") != '"two"' else part(c, 0))


@fault
def file_changed_unnoticed(c, r):
    """The file is another one at the second request, and the server ignores If-Range."""
    def go_on():
        body = FILE[r.range_start:]
        c.answer("206 Partial Content", body, ("ETag", '"two"'),
                 ("Content-Range", "bytes %d-%d/%d" % (r.range_start, len(FILE) - 1, len(FILE))))
        return True
    return broken_then(c, r, go_on)


@fault
def file_wrong_range(c, r):
    return broken_then(c, r, lambda: part(c, r.range_start + 1))


@fault
def file_no_content_range(c, r):
    return broken_then(c, r, lambda: c.answer("206 Partial Content", FILE[r.range_start:]))


@fault
def file_wrong_length(c, r):
    def go_on():
        c.answer("206 Partial Content", FILE[r.range_start:-5],
                 ("Content-Range", "bytes %d-%d/%d" % (r.range_start, len(FILE) - 1, len(FILE))))
    return broken_then(c, r, go_on)


@fault
def file_gone_range(c, r):
    """The rest is refused, after that the whole file is not."""
    with lock:
        refused = ("refused", r.name) in counts
    if refused:
        return whole(c)

    def go_on():
        with lock:
            counts["refused", r.name] = 1
        c.answer("416 Range Not Satisfiable", b"", ("Content-Range", "bytes */10"))
        return True
    return broken_then(c, r, go_on)


@fault
def file_unasked_part(c, r):
    return part(c, 10)


@fault
def file_endless(c, r):
    return endless(c, r)


def tls(r):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(urllib.parse.unquote(r.query))
    return str(listen(context))


QUESTIONS = {
    "requests": lambda r: "\n".join(json.dumps(entry) for entry in requests[r.name]),
    "sent": lambda r: str(sent[r.name]),
    "connections": lambda r: str(len(connections[r.name])),
    "tls": tls,
}


def serve(sock, context):
    try:
        if context:
            sock = context.wrap_socket(sock, server_side=True)
    except OSError:
        sock.close()
        return
    c = Connection(sock)
    try:
        while True:
            r = c.read_request()
            if r is None:
                return
            if r.fault not in QUESTIONS:
                c.name = r.name
                with lock:
                    connections[r.name].add(c)
            if r.fault in QUESTIONS:
                with lock:
                    body = QUESTIONS[r.fault](r)
                c.answer("200 OK", body.encode())
                keep = True
            elif r.fault.startswith("unavailable-"):
                keep = unavailable(c, r, int(r.fault[len("unavailable-"):]))
            else:
                keep = FAULTS[r.fault](c, r)
            if not keep:
                return
    except OSError:
        pass
    finally:
        sock.close()


def listen(context=None):
    """Serves on a port of the system's choice, which it returns."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=128)

    def accept():
        while True:
            sock, _ = listener.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=serve, args=(sock, context), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return listener.getsockname()[1]


def main():
    print(listen(), flush=True)
    sys.stdin.buffer.read()
    os._exit(0)


main()
