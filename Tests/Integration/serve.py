"""Runs `rsdump serve` and sends requests with the standard library; with raw sockets for misbehaving clients."""
import dataclasses
import http.client
import json
import pathlib
import re
import socket
import subprocess
import tempfile
import urllib.parse

import rsdump

TIMEOUT = 60


@dataclasses.dataclass
class Answer:
    status: int
    headers: dict
    body: bytes

    def json(self):
        return json.loads(self.body)


class Serving:
    """A running server, which stops at the end of the `with` block. `log()` returns its error output."""

    def __init__(self, *arguments, wrapper=()):
        """`wrapper` is a command that starts the server."""
        self.arguments = [str(argument) for argument in arguments]
        self.wrapper = wrapper
        self.root = None

    def __enter__(self):
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [*self.wrapper, rsdump.BINARY, "serve", "--port", "0", *self.arguments], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=self.errors, text=True, env=rsdump.environment())
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http"), f"the server did not start:\n{self.log()}"
        if "--demo" in self.arguments:
            self.root = self.process.stdout.readline().split()[1]
        parts = urllib.parse.urlsplit(self.url)
        self.host, self.port = parts.hostname, parts.port
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(TIMEOUT)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.errors.close()

    def log(self):
        self.errors.seek(0)
        return self.errors.read()

    def ask(self, path, method="GET", **headers):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)
        try:
            connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def changeset(self, name, version="v2", **query):
        bucket, collection = name.split("/")
        query = {"_expected": 0, **query}
        return self.ask(f"/{version}/buckets/{bucket}/collections/{collection}/changeset?" + urllib.parse.urlencode(query))

    def memory(self, field="VmRSS"):
        """The memory of the whole process in MiB; `VmHWM` is the peak."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+)", status)[1]) / 1024

    def connect(self, source=None):
        """`source` is the client's address: all of 127/8 belongs to this machine."""
        return socket.create_connection(
            (self.host, self.port), timeout=TIMEOUT, source_address=None if source is None else (source, 0))

    def send(self, data, half_close=False):
        """Returns everything the server sends on a new connection until it closes it."""
        with self.connect() as connection:
            try:
                connection.sendall(data)
                if half_close:
                    connection.shutdown(socket.SHUT_WR)
                return drain(connection)
            except (ConnectionResetError, BrokenPipeError):
                # The server closed the connection before it read everything we sent.
                return b""

    def metric(self, pattern):
        """The sum of all samples whose line begins with the pattern."""
        lines = self.ask("/metrics").body.decode().splitlines()
        return sum(int(line.rsplit(" ", 1)[1]) for line in lines if re.match(pattern, line))


def drain(connection):
    received = b""
    while True:
        try:
            part = connection.recv(1 << 16)
        except ConnectionResetError:
            return received
        if not part:
            return received
        received += part
