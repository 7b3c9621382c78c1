"""Runs rsdump and records the result."""
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
BINARY = pathlib.Path(os.environ.get("RSDUMP", REPOSITORY / ".build/debug/rsdump")).resolve()
MEASURE = REPOSITORY / "Tests/Servers/measure.py"
TIMEOUT = 300

DONE, SOME_FAILED, USAGE, VERIFICATION, BACKOFF, UNREACHABLE, WOULD_CHANGE, TRY_AGAIN = range(8)


@dataclasses.dataclass(repr=False)
class Outcome:
    command: str
    code: int
    out: str
    err: str
    peak: int
    wall: float

    def json(self):
        """Parses standard output as one JSON document; anything before or after it is an error."""
        return json.loads(self.out)

    def says(self, *words):
        """Whether the output contains every word."""
        return all(word in self.out + self.err for word in words)

    def __repr__(self):
        return f"{self.command}\nexit code {self.code}\n--- stdout\n{self.out}\n--- stderr\n{self.err}"


def environment(changes=None):
    """A minimal environment like a CI job's, so that this machine's settings do not affect the results and no real server is
    contacted."""
    names = ("PATH", "HOME", "TMPDIR", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM")
    kept = {name: os.environ[name] for name in names if name in os.environ}
    nobody = {"https_proxy": "http://127.0.0.1:9", "no_proxy": "localhost,127.0.0.1,::1"}
    return {**kept, **nobody, "LANG": "C.UTF-8", "SWIFT_BACKTRACE": "enable=no", **(changes or {})}


def start(*arguments, env=None, cwd=None):
    """Starts rsdump, discards its output, and does not wait."""
    return subprocess.Popen(
        [BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=environment(env), cwd=cwd)


def run(*arguments, env=None, cwd=None, umask=-1):
    arguments = [str(argument) for argument in arguments]
    with tempfile.NamedTemporaryFile("r", suffix=".json") as result:
        finished = subprocess.run(
            [sys.executable, "-I", "-S", MEASURE, result.name, BINARY, *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT,
            env=environment(env), cwd=cwd, umask=umask)
        measured = json.load(result)
    return Outcome(
        " ".join(["rsdump", *arguments]), measured["code"], finished.stdout, finished.stderr, measured["peak"],
        measured["wall"])
