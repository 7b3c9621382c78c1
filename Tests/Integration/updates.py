"""A client of the update channel: an event stream, read by WHATWG's rules."""
import json
import socket

TIMEOUT = 60


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
