"""The example flag server: layers of values, a value per user, and a flag that changes on publication."""
import subprocess
import time
import urllib.request

import pytest

import rsdump
from publishing import Origin
from serve import Serving

PROGRAM = rsdump.REPOSITORY / ".build/debug/flag-server"
SOURCE = """parameters:
  greeting:
    value: {}
    when: [{{filter: 'env.id == "ada"', value: Hello Ada}}]
"""


class Flags:
    """The example server, with `variables` added to its environment."""

    def __init__(self, *arguments, **variables):
        self.arguments, self.variables = arguments, variables

    def __enter__(self):
        self.process = subprocess.Popen(
            [PROGRAM, *map(str, self.arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            env=rsdump.environment() | self.variables)
        self.url = self.process.stdout.readline().strip()
        assert self.url.startswith("http"), "the flag server did not start"
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            # A graceful exit: the schedule and the update channel stop with the server.
            assert self.process.wait(30) in (0, -15)
        finally:
            self.process.kill()
            self.process.stdout.close()

    def greeting(self, user=""):
        with urllib.request.urlopen(f"{self.url}/?user={user}", timeout=30) as answer:
            return answer.read().decode()

    def wait_for(self, greeting):
        began = time.monotonic()
        while (found := self.greeting()) != greeting:
            assert time.monotonic() - began < 60, f"expected {greeting}, found {found}"
            time.sleep(0.02)
        return time.monotonic() - began


@pytest.fixture
def origin(tmp_path):
    (tmp_path / "defaults.env").write_text("GREETING=by default\n")
    return Origin(tmp_path, SOURCE, "Hello", "flags")


def test_a_flag_changes_when_it_is_published(origin):
    path = origin.path
    with Serving("--dumps", origin.dumps, "--watch") as serving:
        arguments = (f"{serving.url}/v2", origin.root, "flags", path / "storage", path / "defaults.env")
        with Flags(*arguments) as flags:
            flags.wait_for("Hello")
            assert flags.greeting("ada") == "Hello Ada" and flags.greeting("bob") == "Hello"
            origin.publish("Welcome")
            seconds = flags.wait_for("Welcome")
            print(f"the flag changed {seconds:.2f} s after rsdump publish had ended")
            assert flags.greeting("ada") == "Hello Ada"
        with Flags(*arguments, GREETING="of the machine") as flags:
            assert flags.greeting() == "of the machine"
    # Stored values remain available without the server.
    with Flags(*arguments) as flags:
        assert flags.greeting() == "Welcome"


def test_without_anything_published_the_file_counts(origin):
    path = origin.path
    with Flags("http://127.0.0.1:9/v2", origin.root, "flags", path / "new", path / "defaults.env") as flags:
        assert flags.greeting() == "by default"
