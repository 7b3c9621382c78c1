"""Runs `rsdump watch` and reads its lines."""
import json
import queue
import signal
import subprocess
import threading
import time

import rsdump

TIMEOUT = 90


class Watching:
    """A running `rsdump watch`; its lines are read as they come. The end of the `with` block ends it by SIGTERM."""

    def __init__(self, url, *arguments, env=None):
        self.process = subprocess.Popen(
            [rsdump.BINARY, "watch", "--server", url, *map(str, arguments)], stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=rsdump.environment(env))
        self.errors = []
        self.reader = threading.Thread(target=lambda: self.errors.extend(self.process.stderr), daemon=True)
        self.reader.start()
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        code = self.end()
        assert code == 0, f"exit code {code}: {''.join(self.errors)}"

    def end(self, number=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(number)
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()
            self.reader.join(10)

    def next(self, *names):
        """The next line of one of these kinds, or of any."""
        end = time.monotonic() + TIMEOUT
        while line := self.lines.get(timeout=max(0.1, end - time.monotonic())):
            event = json.loads(line)
            if not names or event["event"] in names:
                return event
        raise AssertionError(f"rsdump watch has ended: {''.join(self.errors)}")
