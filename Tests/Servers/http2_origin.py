"""An origin over HTTP/2 with TLS: it forwards each request to an HTTP/1.1 server, and damages answers on request.

`http2_faults` writes the frames, because an HTTP/2 library would refuse to send most invalid ones.
"""
import contextlib
import http.client
import select
import socket
import ssl
import struct
import threading

import hpack

from http2_faults import (
    ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, RST_STREAM, SETTINGS, WINDOW_UPDATE, Peer, frame,
    head)

FRAME = 16_384
WINDOW = 65_535
RESET = -1 << 40


class Answer:
    """The upstream server's answer to one request, and the stream that waits for it."""

    def __init__(self, connection, stream, path, response):
        self.connection, self.stream, self.path = connection, stream, path
        self.status, self.body = response.status, response.read()
        self.fields = [
            (name.lower(), value) for name, value in response.getheaders()
            if name.lower() not in ("connection", "keep-alive", "transfer-encoding")]

    def send(self):
        self.head()
        self.data(self.body)
        self.end()

    def head(self, flags=END_HEADERS):
        self.frames(frame(HEADERS, flags, self.stream, head(self.status, *self.fields)))

    def data(self, body):
        """Sends only as much as the client's windows allow, as a correct server does."""
        while body:
            count = self.connection.take_window(self.stream, min(len(body), FRAME))
            self.frames(frame(DATA, 0, self.stream, body[:count]))
            body = body[count:]

    def end(self):
        self.frames(frame(DATA, END_STREAM, self.stream))

    def frames(self, *frames):
        self.connection.send(*frames)

    @property
    def whole(self):
        """All frames of the response, ignoring flow control."""
        pieces = [self.body[at:at + FRAME] for at in range(0, len(self.body), FRAME)]
        return b"".join([
            frame(HEADERS, END_HEADERS, self.stream, head(self.status, *self.fields)),
            *(frame(DATA, 0, self.stream, piece) for piece in pieces), frame(DATA, END_STREAM, self.stream)])


class SharedSocket:
    """A TLS socket that one thread reads and others write, with one OpenSSL call at a time."""

    def __init__(self, wrapped):
        self.wrapped, self.lock = wrapped, threading.Lock()
        wrapped.setblocking(False)

    def wait(self, reading):
        if self.wrapped.fileno() < 0:
            raise ConnectionError("the connection was closed meanwhile")
        ready = select.select(*(([self.wrapped], []) if reading else ([], [self.wrapped])), [], 120)
        if not any(ready):
            raise TimeoutError

    def recv(self, count):
        while True:
            with self.lock, contextlib.suppress(ssl.SSLWantReadError):
                return self.wrapped.recv(count)
            self.wait(reading=True)

    def sendall(self, data):
        while data:
            with self.lock, contextlib.suppress(ssl.SSLWantWriteError):
                data = data[self.wrapped.send(data):]
                continue
            self.wait(reading=False)


class Connection:
    """One connection. Its requests are answered concurrently."""

    def __init__(self, origin, socket_):
        self.origin, self.socket, self.peer = origin, socket_, Peer(SharedSocket(socket_))
        self.writing = threading.Lock()
        self.windows = threading.Condition()
        self.initial, self.window, self.streams = WINDOW, WINDOW, {}
        self.is_closed = False
        # The last stream that is answered after a GOAWAY.
        self.last = float("inf")

    def send(self, *frames):
        try:
            with self.writing:
                self.peer.send(*frames)
        except OSError:
            self.is_closed = True

    def close(self):
        with self.writing, contextlib.suppress(OSError):
            self.socket.shutdown(socket.SHUT_WR)

    def take_window(self, stream, wanted):
        with self.windows:
            while True:
                window = self.streams.get(stream, self.initial)
                if window == RESET:
                    raise ConnectionError("the client has reset the stream")
                count = min(wanted, self.window, window)
                if count > 0:
                    break
                if self.is_closed or not self.windows.wait(60):
                    raise ConnectionError("the client's window stays closed")
            self.window -= count
            self.streams[stream] = self.streams.get(stream, self.initial) - count
            return count

    def serve(self):
        try:
            self.take_requests()
        finally:
            self.is_closed = True
            with self.windows:
                self.windows.notify_all()

    def take_requests(self):
        self.peer.greet(*self.origin.settings)
        decoder = hpack.Decoder()
        number = 0
        while True:
            kind, flags, stream, payload = self.peer.next()
            if kind == SETTINGS and not flags & ACK:
                self.change_settings(payload)
                self.send(frame(SETTINGS, ACK))
            elif kind == WINDOW_UPDATE:
                self.open_window(stream, *struct.unpack(">I", payload))
            elif kind == RST_STREAM:
                self.reset(stream)
            elif kind == HEADERS:
                assert flags & END_HEADERS, "requests of the tests fit into one frame"
                fields = dict(decoder.decode(payload[5:] if flags & 0x20 else payload))
                number += 1
                if number == self.origin.keepalive_requests:
                    self.last = stream
                    self.send(frame(GOAWAY, payload=struct.pack(">II", stream, 0)))
                with self.origin.counting:
                    self.origin.requests.append((id(self), fields[":path"]))
                threading.Thread(target=self.answer, args=(stream, fields, number), daemon=True).start()

    def change_settings(self, payload):
        with self.windows:
            for at in range(0, len(payload), 6):
                name, value = struct.unpack(">HI", payload[at:at + 6])
                if name == INITIAL_WINDOW_SIZE:
                    change, self.initial = value - self.initial, value
                    self.streams = {stream: window + change for stream, window in self.streams.items()}
            self.windows.notify_all()

    def open_window(self, stream, count):
        with self.windows:
            if stream == 0:
                self.window += count
            elif self.streams.get(stream) != RESET:
                self.streams[stream] = self.streams.get(stream, self.initial) + count
            self.windows.notify_all()

    def reset(self, stream):
        """Aborts a stream that the client has reset, including threads that wait for its window."""
        with self.windows:
            self.streams[stream] = RESET
            self.windows.notify_all()

    def answer(self, stream, fields, number):
        with contextlib.suppress(OSError, http.client.HTTPException):
            behind = http.client.HTTPConnection(*self.origin.behind, timeout=60)
            behind.request("GET", fields[":path"], headers={
                name: value for name, value in fields.items() if not name.startswith(":")})
            answer = Answer(self, stream, fields[":path"], behind.getresponse())
            behind.close()
            fault = self.origin.fault(answer, number)
            if stream <= self.last:
                (fault or Answer.send)(answer)


class HTTP2Origin:
    """Runs during a `with` block, in front of the server at `behind`, a host and a port.

    `fault` gets each answer and its number on the connection, and returns a replacement for `Answer.send`, or None.
    `settings` are sent at the start. After `keepalive_requests`, a connection accepts no more, like nginx. `requests`
    lists the connections and paths of all requests.
    """

    def __init__(self, certificate, key, behind=None, settings=(), port=0):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, key)
        self.context.set_alpn_protocols(["h2"])
        self.behind, self.settings = behind, settings
        self.fault = lambda answer, number: None
        self.keepalive_requests = None
        self.counting, self.requests = threading.Lock(), []
        self.listener = socket.create_server(("127.0.0.1", port), backlog=128)
        self.url = f"https://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self.listen, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def listen(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError, AssertionError):
            connection.settimeout(120)
            with self.context.wrap_socket(connection, server_side=True) as wrapped:
                Connection(self, wrapped).serve()
