"""Examples/ConfigExample, the app with remote config: run as its users run it, in a pipe and in a terminal."""
import os
import pty
import subprocess
import time

import pytest

import rsdump
from serve import Serving

EXAMPLE = rsdump.BINARY.with_name("config-example")
DEFAULTS = 'banner "Hello" (default), new checkout off (default), colour #808080 (default)'
SOURCE = 'parameters: {{banner: "{}", colour: "#204080", new_checkout: true}}\n'


class Origin:
    """A directory with sources, keys and what is published from them, and its server."""

    def __init__(self, path):
        self.path = path
        (path / "sources/main").mkdir(parents=True)
        assert rsdump.run("keys", "create", "keys", cwd=path).code == rsdump.DONE
        self.root = rsdump.run("keys", "status", "keys", "--format", "json", cwd=path).json()["root"]
        self.publish("Welcome")

    def publish(self, banner):
        (self.path / "sources/main/app-config.yaml").write_text(SOURCE.format(banner))
        assert rsdump.run("publish", cwd=self.path).code == rsdump.DONE

    def command(self, server, *options):
        return [EXAMPLE, self.path / "app", f"{server.url}/v1", self.root, "app-config", *options]


@pytest.fixture
def origin(tmp_path):
    return Origin(tmp_path)


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=rsdump.environment(), **options)


def test_from_defaults_to_what_is_published_and_stays(origin):
    with Serving("--dumps", origin.path / "dumps") as server:
        once = run(origin.command(server, "--once"))
        assert (once.returncode, once.stdout) == (0, f"{DEFAULTS}\n")
        fetched = run(origin.command(server), stdin=subprocess.DEVNULL)
        shown = 'banner "Welcome" (remote), new checkout on (remote), colour #204080 (remote)'
        assert (fetched.returncode, fetched.stdout) == (0, f"{DEFAULTS}\n{shown}\n"), fetched.stderr
    offline = run(origin.command(server, "--interval", "0"), stdin=subprocess.DEVNULL)
    assert offline.returncode == 0
    lines = offline.stdout.splitlines()
    assert lines[0] == shown and lines[1].startswith("not fetched: ") and len(lines) == 2


def test_a_message_reaches_the_running_app(origin):
    with Serving("--dumps", origin.path / "dumps", "--watch") as server:
        app = subprocess.Popen(
            origin.command(server), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=rsdump.environment())
        try:
            assert app.stdout.readline() == f"{DEFAULTS}\n"
            assert '"Welcome" (remote)' in app.stdout.readline()
            before = server.ask("/v1/buckets/monitor/collections/changes/changeset?_expected=0").body
            origin.publish("Good morning")
            while server.ask("/v1/buckets/monitor/collections/changes/changeset?_expected=0").body == before:
                time.sleep(0.05)
            app.stdin.write("collection=other CONFIG_STATE=STALE\nCONFIG_STATE=STALE\n")
            app.stdin.close()
            rest = app.stdout.read().splitlines()
            assert rest[0] == "a message marks the values as stale" and '"Good morning" (remote)' in rest[1]
            assert len(rest) == 2 and app.wait(60) == 0
        finally:
            app.kill()
            app.wait()
            app.stdout.close()


def test_a_terminal_shows_the_colour(origin):
    controller, terminal = pty.openpty()
    with Serving("--dumps", origin.path / "dumps") as server:
        command = origin.command(server, "--seconds", "2")
        ended = subprocess.run(command, stdin=terminal, stdout=terminal, timeout=20, env=rsdump.environment())
    os.close(terminal)
    shown = os.read(controller, 65536).decode()
    os.close(controller)
    assert ended.returncode == 0
    # First the grey of the defaults, then the published #204080.
    assert shown.index("\x1b[48;2;128;128;128m") < shown.index("\x1b[48;2;32;64;128m")


@pytest.mark.parametrize("arguments", [[], list("abc"), [*"abcd", "--id"], [*"abcd", "--other", "e"]])
def test_usage(arguments):
    told = run([EXAMPLE, *arguments])
    assert told.returncode == 2 and told.stdout.startswith("usage: config-example STORAGE")
