"""The library's update channel against a real `rsdump serve --watch`, through a proxy that makes the network fail."""
import contextlib
import queue
import socket
import struct
import subprocess
import threading
import time
import types

import pytest

import rsdump
from mirror import UpdatesMirror
from publishing import ON_CHANGE
from serve import Serving

APP = rsdump.BINARY.with_name("test-process")
SOURCE = "parameters: {{state: \"{}\"}}\n"
TIMEOUT = 120


class Origin:
    """A directory with sources, keys and what is published from them."""

    def __init__(self, path):
        self.path = path
        self.dumps = path / "dumps"
        (path / "sources/main").mkdir(parents=True)
        assert rsdump.run("keys", "create", "keys", cwd=path).code == rsdump.DONE
        self.root = rsdump.run("keys", "status", "keys", "--format", "json", cwd=path).json()["root"]
        self.publish("first")

    def publish(self, state):
        (self.path / "sources/main/app-config.yaml").write_text(SOURCE.format(state))
        assert rsdump.run("publish", cwd=self.path).code == rsdump.DONE


@pytest.fixture
def origin(tmp_path):
    return Origin(tmp_path)


class Proxy:
    """Passes connections on to a port, until it is told to fail."""

    def __init__(self, port):
        self.target = port
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs = []
        self.is_stalled = False
        self.is_closed = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(("127.0.0.1", self.target))
            except OSError:
                client.close()
                continue
            self.pairs.append((client, server))
            for source, sink in [(client, server), (server, client)]:
                threading.Thread(target=self.carry, args=(source, sink), daemon=True).start()

    def carry(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                while self.is_stalled:
                    time.sleep(0.01)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def cut(self, reset):
        """Ends the connections that there are, by a reset or properly."""
        pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for end in pair:
                with contextlib.suppress(OSError):
                    if reset:
                        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    # Wakes the thread that reads; a socket that is only closed goes on until then.
                    end.shutdown(socket.SHUT_RD if reset else socket.SHUT_RDWR)
                    if reset:
                        end.close()

    def close(self):
        self.listener.close()
        self.cut(reset=True)


class App:
    """The app that waits for what is published."""

    def __init__(self, origin, url):
        self.process = subprocess.Popen(
            [APP, "config", origin.path / "app", url, origin.root, "app-config", "watch"], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=rsdump.environment())
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())
        self.lines.put(None)

    def says(self, expected):
        """Waits for a line; states in between may be left out."""
        end = time.monotonic() + TIMEOUT
        while True:
            line = self.lines.get(timeout=max(0.1, end - time.monotonic()))
            assert line is not None, f"the app ended:\n{self.process.stderr.read()}"
            if line.split()[0] == expected:
                return

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(TIMEOUT)
        finally:
            self.process.kill()
            self.process.wait()


@contextlib.contextmanager
def app(origin, url):
    running = App(origin, url)
    try:
        yield running
    finally:
        running.close()


def test_what_is_published_arrives_in_a_waiting_app(origin):
    with Serving("--dumps", origin.dumps, "--watch") as server:
        proxy = Proxy(server.port)
        with app(origin, f"http://127.0.0.1:{proxy.port}/v2") as waiting, contextlib.closing(proxy):
            waiting.says("first")
            for state in ("second", "third", "fourth"):
                origin.publish(state)
                began = time.monotonic()
                waiting.says(state)
                # Without the channel, it would be hours.
                assert time.monotonic() - began < 60
            # The connection is reset, and another one opened within seconds; what was published meanwhile is not missed.
            for number, reset in enumerate([True, False]):
                proxy.cut(reset)
                origin.publish(f"cut-{number}")
                waiting.says(f"cut-{number}")
            # Nothing passes for a while.
            proxy.is_stalled = True
            origin.publish("late")
            time.sleep(2)
            proxy.is_stalled = False
            waiting.says("late")


def test_a_restart_of_the_server_loses_nothing(origin):
    with Serving("--dumps", origin.dumps, "--watch") as second, contextlib.ExitStack() as stack:
        with Serving("--dumps", origin.dumps, "--watch") as first:
            proxy = stack.enter_context(contextlib.closing(Proxy(first.port)))
            waiting = stack.enter_context(app(origin, f"http://127.0.0.1:{proxy.port}/v1"))
            waiting.says("first")
            origin.publish("second")
            waiting.says("second")
            # The first one tells its clients when to come back; they find the second one in its place.
            proxy.target = second.port
        origin.publish("third")
        waiting.says("third")


def test_the_library_reads_the_stream_of_nginx_with_nchan(origin, tmp_path):
    mirror = UpdatesMirror(tmp_path / "nginx")
    dumps = types.SimpleNamespace(path=origin.dumps)
    mirror.publish(dumps)
    with contextlib.ExitStack() as stack:
        with mirror:
            waiting = stack.enter_context(app(origin, f"{mirror.origin}/v2"))
            waiting.says("first")
            for state in ("second", "third"):
                origin.publish(state)
                mirror.publish(dumps, options=("--on-change", f"{ON_CHANGE}/webhook {mirror.publisher}"))
                waiting.says(state)
            # Nobody is told of this state, and nginx forgets its messages when it restarts.
            origin.publish("fourth")
            mirror.publish(dumps)
        with mirror:
            waiting.says("fourth")
