"""The library's update channel against a real `rsdump serve --watch` and a real nginx. UpdateFaultTests covers network
faults."""
import contextlib
import queue
import subprocess
import threading
import time
import types

import pytest

import rsdump
from mirror import UpdatesMirror
from publishing import ON_CHANGE, Origin
from serve import Serving

APP = rsdump.BINARY.with_name("test-process")
TIMEOUT = 120


def made_origin(path):
    return Origin(path, 'parameters: {{state: "{}"}}\n', "first")


@pytest.fixture
def origin(tmp_path):
    return made_origin(tmp_path)


class App:
    """An app that waits for published states."""

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
        """Waits for a line; intermediate states may be skipped."""
        end = time.monotonic() + TIMEOUT
        while True:
            line = self.lines.get(timeout=max(0.1, end - time.monotonic()))
            assert line is not None, f"the app exited:\n{self.process.stderr.read()}"
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
    """Also after the server was replaced by a new one, with the changes published in between."""
    with contextlib.ExitStack() as stack:
        with Serving("--dumps", origin.dumps, "--watch") as server:
            waiting = stack.enter_context(app(origin, f"{server.url}/v2"))
            waiting.says("first")
            for state in ("second", "third"):
                origin.publish(state)
                began = time.monotonic()
                waiting.says(state)
                # Without the update channel, this would take hours.
                assert time.monotonic() - began < 60
        origin.publish("fourth")
        with Serving("--dumps", origin.dumps, "--watch", "--port", server.port):
            waiting.says("fourth")


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
            # No client is notified of this state, and nginx loses its messages when it restarts.
            origin.publish("fourth")
            mirror.publish(dumps)
        with mirror:
            waiting.says("fourth")
