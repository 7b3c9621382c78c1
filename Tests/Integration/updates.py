"""Clients of the update channel: an event stream, read by WHATWG's rules, and WebSocket's frames, polite or not."""
import base64
import hashlib
import json
import os
import socket
import struct

TIMEOUT = 60
MONITOR = "remote-settings/monitor_changes"


class EventStream:
    """GET of an event stream on a connection of its own. `events()` yields (name, data, id), and comments where asked to.

    The rules are those of the WHATWG's HTML standard, section 9.2.6, not what this server happens to send.
    """

    def __init__(self, serving, path="/v2/updates", source=None, http="1.1", headers="", receive_buffer=None):
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(TIMEOUT)
        if source is not None:
            self.socket.bind((source, 0))
        self.socket.connect((serving.host, serving.port))
        self.socket.sendall(
            f"GET {path} HTTP/{http}\r\nHost: x\r\nAccept: text/event-stream\r\n{headers}\r\n".encode())
        self.retry, self.last_id = None, ""
        self.is_open = True

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if hasattr(self, "file"):
            self.file.close()
        self.socket.close()

    def head(self):
        """The status line, and the headers by their names in small letters."""
        self.file = self.socket.makefile("rb")
        status = self.file.readline().decode().strip()
        headers = {}
        while line := self.file.readline().strip():
            name, value = line.decode().split(":", 1)
            headers[name.lower()] = value.strip()
        self.is_chunked = headers.get("transfer-encoding") == "chunked"
        return status, headers

    def _pieces(self):
        if not hasattr(self, "file"):
            status, _ = self.head()
            assert " 200 " in status, status
        while True:
            if not self.is_chunked:
                piece = self.file.read1(1 << 16)
                if not piece:
                    break
                yield piece
                continue
            size = int(self.file.readline(), 16)
            piece = self.file.read(size)
            assert len(piece) == size and self.file.readline() == b"\r\n", "a chunk that is cut off"
            if not size:
                assert self.file.read() == b""
                break
            yield piece
        self.is_open = False

    def _lines(self):
        rest, ended_in_return = b"", False
        for piece in self._pieces():
            if ended_in_return and piece.startswith(b"\n"):
                piece = piece[1:]
            if piece:
                ended_in_return = piece.endswith(b"\r")
            *lines, rest = (rest + piece).replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
            yield from lines

    def events(self, with_comments=False):
        name, data, identity = "", [], ""
        for line in self._lines():
            if not line:
                self.last_id = identity
                if data:
                    yield name or "message", json.loads("\n".join(data)), identity
                name, data = "", []
                continue
            field, _, value = line.decode().partition(":")
            value = value[1:] if value.startswith(" ") else value
            if not field:
                if with_comments:
                    yield "comment", value, None
            elif field == "event":
                name = value
            elif field == "data":
                data.append(value)
            elif field == "id" and "\0" not in value:
                identity = value
            elif field == "retry" and value.isdigit():
                self.retry = int(value)


TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class WebSocket:
    """A client of RFC 6455 that can also break its rules."""

    def __init__(self, serving, path="/push", headers="", key=None, **kwargs):
        self.socket = serving.connect(**kwargs)
        key = base64.b64encode(os.urandom(16)).decode() if key is None else key
        self.socket.sendall(
            f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n{headers}\r\n".encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        while line := self.file.readline().strip():
            name, value = line.decode().split(":", 1)
            self.headers[name.lower()] = value.strip()
        if self.status == 101:
            accept = hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()
            assert self.headers["sec-websocket-accept"] == base64.b64encode(accept).decode()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    @staticmethod
    def frame(opcode, data, is_final=True, is_masked=True, reserved=0):
        mask = os.urandom(4) if is_masked else b""
        length = struct.pack("!B", len(data)) if len(data) < 126 else \
            struct.pack("!BH", 126, len(data)) if len(data) < 65536 else struct.pack("!BQ", 127, len(data))
        first = (0x80 if is_final else 0) | reserved << 4 | opcode
        length = bytes([length[0] | (0x80 if is_masked else 0)]) + length[1:]
        payload = bytes(b ^ mask[i % 4] for i, b in enumerate(data)) if is_masked else data
        return bytes([first]) + length + mask + payload

    def send(self, message, **kwargs):
        data = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.socket.sendall(self.frame(TEXT, data, **kwargs))

    def receive(self):
        """(opcode, data); `None` at the end of the connection."""
        try:
            head = self.file.read(2)
            if len(head) < 2:
                return None
            assert not head[1] & 0x80, "a server's frame is not masked"
            length = head[1]
            if length == 126:
                length, = struct.unpack("!H", self.file.read(2))
            return head[0] & 0x0F, self.file.read(length)
        except ConnectionResetError:
            return None

    def message(self):
        opcode, data = self.receive()
        assert opcode == TEXT, (opcode, data)
        return json.loads(data)

    def closed(self):
        """The code that the server closes with, after what else it sends; `None` where it sends none."""
        while (frame := self.receive()) is not None:
            if frame[0] == CLOSE:
                code, = struct.unpack("!H", frame[1][:2])
                assert self.receive() is None
                return code
        return None

    def hello(self, **broadcasts):
        self.send({"messageType": "hello", "use_webpush": True, "broadcasts": broadcasts.get("known", {})})
        return self.message()
