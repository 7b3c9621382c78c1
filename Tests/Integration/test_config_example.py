"""Examples/ConfigExample, the app with remote config, run as a user would run it: in a pipe and in a terminal."""
import os
import pty
import subprocess
import time

import pytest

import rsdump
from publishing import Origin
from serve import Serving

EXAMPLE = rsdump.BINARY.with_name("config-example")
DEFAULTS = 'banner "Hello" (default), new checkout off (default), colour #808080 (default)'
SOURCE = 'parameters: {{banner: "{}", colour: "#204080", new_checkout: true}}\n'


def command(origin, server, *options):
    return [EXAMPLE, origin.path / "app", f"{server.url}/v1", origin.root, "app-config", *options]


@pytest.fixture
def origin(tmp_path):
    return Origin(tmp_path, SOURCE, "Welcome")


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=rsdump.environment(), **options)


def test_from_defaults_to_what_is_published_and_stays(origin):
    with Serving("--dumps", origin.dumps) as server:
        once = run(command(origin, server, "--once"))
        assert (once.returncode, once.stdout) == (0, f"{DEFAULTS}\n")
        fetched = run(command(origin, server), stdin=subprocess.DEVNULL)
        shown = 'banner "Welcome" (remote), new checkout on (remote), colour #204080 (remote)'
        assert (fetched.returncode, fetched.stdout) == (0, f"{DEFAULTS}\n{shown}\n"), fetched.stderr
    offline = run(command(origin, server, "--interval", "0"), stdin=subprocess.DEVNULL)
    assert offline.returncode == 0
    lines = offline.stdout.splitlines()
    assert lines[0] == shown and lines[1].startswith("not fetched: ") and len(lines) == 2


def test_a_message_reaches_the_running_app(origin):
    with Serving("--dumps", origin.dumps, "--watch") as server:
        app = subprocess.Popen(
            command(origin, server), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=rsdump.environment())
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
    with Serving("--dumps", origin.dumps) as server:
        words = command(origin, server, "--seconds", "2")
        ended = subprocess.run(words, stdin=terminal, stdout=terminal, timeout=20, env=rsdump.environment())
    os.close(terminal)
    shown = os.read(controller, 65536).decode()
    os.close(controller)
    assert ended.returncode == 0
    # First the gray of the defaults, then the published #204080.
    assert shown.index("\x1b[48;2;128;128;128m") < shown.index("\x1b[48;2;32;64;128m")


@pytest.mark.parametrize("arguments", [[], list("abc"), [*"abcd", "--id"], [*"abcd", "--other", "e"]])
def test_usage(arguments):
    told = run([EXAMPLE, *arguments])
    assert told.returncode == 2 and told.stdout.startswith("usage: config-example STORAGE")
