"""A loopback server that breaks HTTP/2 over TLS frame by frame, one port for each fault.

Frames are bytes written here: a library for HTTP/2 would refuse to send most of them.
"""
import contextlib
import socket
import ssl
import struct
import threading

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
ALTSVC, ORIGIN, UNKNOWN = 0xA, 0xC, 0xBE
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE = 3, 4, 5
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags=0, stream=0, payload=b"", length=None):
    return struct.pack(">I", len(payload) if length is None else length)[1:] + struct.pack(
        ">BBI", kind, flags, stream) + payload


def integer(number, prefix=7):
    limit = (1 << prefix) - 1
    if number < limit:
        return bytes([number])
    encoded, number = bytes([limit]), number - limit
    while number >= 128:
        encoded, number = encoded + bytes([number & 127 | 128]), number >> 7
    return encoded + bytes([number])


def field(name, value):
    """One header field, literal and without a place in the table."""
    name, value = (text.encode("latin-1") for text in (name, value))
    return b"\0" + integer(len(name)) + name + integer(len(value)) + value


def head(status, *fields):
    return field(":status", str(status)) + b"".join(field(*each) for each in fields)


class Peer:
    """The server's side of one connection."""

    def __init__(self, connection):
        self.connection = connection
        self.stream = 0

    def send(self, *frames):
        self.connection.sendall(b"".join(frames))

    def take(self, count):
        taken = b""
        while len(taken) < count:
            more = self.connection.recv(count - len(taken))
            if not more:
                raise ConnectionError
            taken += more
        return taken

    def next(self):
        """Kind, flags, stream and payload of the client's next frame."""
        first = self.take(9)
        return first[3], first[4], struct.unpack(">I", first[5:])[0], self.take(int.from_bytes(first[:3], "big"))

    def preface(self):
        assert self.take(len(PREFACE)) == PREFACE

    def greet(self, *settings):
        self.preface()
        self.send(frame(SETTINGS, payload=b"".join(struct.pack(">HI", *each) for each in settings)))

    def head_of_request(self):
        while True:
            kind, _, stream, _ = self.next()
            if kind == HEADERS:
                self.stream = stream
                return

    def request(self):
        """Reads a request to its end and returns its stream."""
        while True:
            kind, flags, stream, _ = self.next()
            if kind in (HEADERS, DATA) and flags & END_STREAM:
                self.stream = stream
                return stream

    def headers(self, block, flags=END_HEADERS | END_STREAM):
        self.send(frame(HEADERS, flags, self.stream, block))

    def data(self, payload=b"", flags=0):
        self.send(frame(DATA, flags, self.stream, payload))


class FaultyHTTP2:
    """Runs as long as a `with` block does. `url(fault)` is where `fault(peer)` answers, each time it is asked."""

    def __init__(self, certificate, key):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["h2"])
        self.listeners = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for listener in self.listeners:
            listener.close()

    def url(self, fault):
        listener = socket.create_server(("127.0.0.1", 0))
        self.listeners.append(listener)
        threading.Thread(target=self.listen, args=(listener, fault), daemon=True).start()
        return f"https://127.0.0.1:{listener.getsockname()[1]}/"

    def listen(self, listener, fault):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection, fault), daemon=True).start()

    def serve(self, connection, fault):
        with contextlib.suppress(OSError, AssertionError):
            connection.settimeout(60)
            with self.context.wrap_socket(connection, server_side=True) as wrapped:
                peer = Peer(wrapped)
                # A fault that has said everything returns; one that returns True closes the connection, too.
                if not fault(peer):
                    while wrapped.recv(65536):
                        pass
