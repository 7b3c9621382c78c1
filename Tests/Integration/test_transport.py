"""Limits for data from servers and proxies that only libcurl sees."""
import contextlib
import gzip
import json
import socket
import subprocess
import sys
import tempfile
import threading

import pytest

import rsdump
from nginx_examples import BehindNginx
from serve import Serving
from test_tls import certificate, configure

PROCESS = rsdump.BINARY.parent / "test-process"
MUCH = 48 << 20


class Endless:
    """A server on loopback that sends `head` on each connection, then `piece` endlessly."""

    def __init__(self, head, piece):
        self.head, self.piece = head, piece
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]

    def __enter__(self):
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self.listener.accept()
                threading.Thread(target=self.answer, args=(connection,), daemon=True).start()

    def answer(self, connection):
        with connection, contextlib.suppress(OSError):
            connection.recv(65536)
            connection.sendall(self.head)
            while True:
                connection.sendall(self.piece)


def request(server, seconds, env=None):
    """Returns the output of `test-process request` and its peak memory. The main test is that it exits at all."""
    with tempfile.NamedTemporaryFile("r", suffix=".json") as result:
        ran = subprocess.run(
            [sys.executable, "-I", "-S", rsdump.MEASURE, result.name, PROCESS, "request", server, str(seconds)],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, env=rsdump.environment(env))
        return ran.stdout, json.load(result)["peak"]


@pytest.mark.parametrize("status, piece, words", [
    ("407 Proxy Authentication Required\r\nContent-Length: 99999999999\r\n\r\n", "x" * 65536, "no connection within 3 s"),
    ("200 OK\r\n", "X-Field: " + "x" * 4000 + "\r\n", "header"),
])
def test_endless_proxy_answer_is_refused(status, piece, words):
    """Only libcurl reads a proxy's response to CONNECT, and it does not check the timeout while bytes arrive."""
    with Endless(f"HTTP/1.1 {status}".encode(), piece.encode()) as proxy:
        told, peak = request("https://settings.invalid/v1", 3, {"https_proxy": f"http://127.0.0.1:{proxy.port}"})
    assert words in told, told
    assert peak < MUCH, told


def test_endless_trailers_are_refused():
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n"
    with Endless(head, b"X-Trailer: " + b"x" * 4000 + b"\r\n") as server:
        told, peak = request(f"http://127.0.0.1:{server.port}/v1", 60)
    assert "its headers are longer than 262144 bytes" in told
    assert peak < MUCH, told


def test_unrequested_transfer_encoding_is_refused():
    """libcurl would decompress the body itself, before its bytes are counted."""
    bomb = gzip.compress(gzip.compress(b"\0" * (1 << 28), 9), 9)
    head = (f"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, gzip, chunked\r\n\r\n{len(bomb):x}\r\n").encode()
    with Endless(head + bomb + b"\r\n", b"") as server:
        told, peak = request(f"http://127.0.0.1:{server.port}/v1", 60)
    assert "the Transfer-Encoding gzip, gzip, chunked was not requested" in told
    assert peak < MUCH, told


def test_a_body_of_the_allowed_size_is_in_memory_once():
    size = 250 << 20
    piece = b" " * (1 << 20)

    class Once(Endless):
        def answer(self, connection):
            with connection, contextlib.suppress(OSError):
                connection.recv(65536)
                connection.sendall(self.head)
                for _ in range(size // len(piece)):
                    connection.sendall(piece)

    with Once(b"HTTP/1.1 200 OK\r\n\r\n", piece) as server:
        told, peak = request(f"http://127.0.0.1:{server.port}/v1", 60)
    assert told == f"{size} bytes\n"
    assert peak < size + MUCH, peak


@pytest.mark.parametrize("variables", [("CURL_CA_BUNDLE",), ("SSL_CERT_FILE",), ("SSL_CERT_DIR",), ("SSL_CERT_FILE", "CURL_CA_BUNDLE")])
def test_tls_certificate_authority_variables(tmp_path, variables):
    """Same as curl: CURL_CA_BUNDLE takes precedence."""
    tls = certificate(tmp_path / "tls")
    folder = tmp_path / "authorities"
    folder.mkdir()
    (folder / "company.pem").write_bytes(tls[0].read_bytes())
    subprocess.run(["openssl", "rehash", folder], check=True, capture_output=True)
    values = {name: str(folder if name == "SSL_CERT_DIR" else tls[0]) for name in variables}
    if len(variables) > 1:
        values["SSL_CERT_FILE"] = str(tmp_path / "none.pem")
    with BehindNginx(tmp_path / "nginx", tls=tls) as front, \
            Serving("--demo", "--port", front.upstream_port, "--public-url", front.origin) as serving:
        configure(tmp_path / "dumps", front.origin, serving.root)
        refused = rsdump.run("refresh", "--dumps", tmp_path / "dumps", env={variables[-1]: ""})
        assert refused.code == rsdump.UNREACHABLE and "certificate" in refused.err
        ran = rsdump.run("refresh", "--dumps", tmp_path / "dumps", env=values)
        assert ran.code == rsdump.DONE, ran
