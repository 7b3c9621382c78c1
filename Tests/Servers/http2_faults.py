"""Frames of HTTP/2 as bytes: an HTTP/2 library would refuse to send most of the frames that `http2_origin` sends."""
import struct

DATA, HEADERS, _, RST_STREAM, SETTINGS, _, PING, GOAWAY, WINDOW_UPDATE = range(9)
END_STREAM = ACK = 0x1
END_HEADERS = 0x4
INITIAL_WINDOW_SIZE = 4
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
    """One header field, literal and without indexing."""
    name, value = (text.encode("latin-1") for text in (name, value))
    return b"\0" + integer(len(name)) + name + integer(len(value)) + value


def head(status, *fields):
    return field(":status", str(status)) + b"".join(field(*each) for each in fields)


class Peer:
    """The server's side of one connection."""

    def __init__(self, connection):
        self.connection = connection

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
        """Returns the type, flags, stream and payload of the client's next frame."""
        first = self.take(9)
        return first[3], first[4], struct.unpack(">I", first[5:])[0], self.take(int.from_bytes(first[:3], "big"))

    def preface(self):
        assert self.take(len(PREFACE)) == PREFACE

    def greet(self, *settings):
        self.preface()
        self.send(frame(SETTINGS, payload=b"".join(struct.pack(">HI", *each) for each in settings)))
