"""A command that waited for a directory lock uses the directory's current content, not what it read before."""
import ctypes
import fcntl
import os
import re
import shutil
import signal
import struct
import subprocess

import pytest

import rsdump

SETTINGS = "main/settings"
OPENED, IS_DIRECTORY = 0x20, 0x40000000
EVENT = struct.Struct("iIII")


class Opening:
    """Waits until a process opens a directory, as a command does to lock it (inotify(7))."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.descriptor = libc.inotify_init1(os.O_CLOEXEC)
        assert libc.inotify_add_watch(self.descriptor, os.fsencode(path), OPENED) >= 0, ctypes.get_errno()

    def wait(self):
        while True:
            events = os.read(self.descriptor, 1 << 16)
            while events:
                _, mask, _, length = EVENT.unpack_from(events)
                # An event for a file in the directory contains that file's name.
                if mask & IS_DIRECTORY and not length:
                    os.close(self.descriptor)
                    return
                events = events[EVENT.size + length:]


def everything(dumps):
    """Every file, including hidden ones."""
    return {path.relative_to(dumps.path): path.read_bytes() for path in dumps.path.rglob("*") if path.is_file()}


def run_meanwhile(dumps, change, *arguments):
    """Runs a command while another process holds the directory lock. Once it waits, calls `change` and releases the lock."""
    held = os.open(dumps.path, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    opening = Opening(dumps.path)
    process = subprocess.Popen(
        [rsdump.BINARY, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, env=rsdump.environment())
    opening.wait()
    # Pause the command, because most commands wait for only a second.
    process.send_signal(signal.SIGSTOP)
    change()
    os.close(held)
    process.send_signal(signal.SIGCONT)
    return process.communicate(timeout=rsdump.TIMEOUT)[0], process.returncode


def test_waiting_refresh_respects_new_pin(dumps, sample):
    copy = dumps.copy(dumps.path.parent / "copy")
    sample.patch_record(SETTINGS, "telemetry", {"value": True})
    before = dumps.bundle(SETTINGS).timestamp

    def pin():
        assert rsdump.run("pin", SETTINGS, "--reason", "incident", "--dumps", copy.path).code == rsdump.DONE
        shutil.copy(copy.config, dumps.config)

    text, code = run_meanwhile(dumps, pin, "refresh", "--wait", "5m", "--dumps", dumps.path)
    assert code == rsdump.DONE and "pinned" in text, text
    assert dumps.bundle(SETTINGS).timestamp == before, text
    assert rsdump.run("verify", "--locked", "--dumps", dumps.path).code == rsdump.DONE


def refused_without_roots(dumps, *arguments):
    """Runs a command, replaces the roots in dumps.yaml while it waits, and checks that it changes nothing."""
    before = everything(dumps)

    def distrust():
        text = dumps.config.read_text()
        dumps.config.write_text(re.sub(r"\b[0-9a-fA-F]{64}\b", "0" * 64, text))
        assert dumps.config.read_text() != text
        before[dumps.config.relative_to(dumps.path)] = dumps.config.read_bytes()

    text, code = run_meanwhile(dumps, distrust, *arguments, "--dumps", dumps.path)
    assert code != rsdump.DONE and "root" in text, text
    assert everything(dumps) == before


@pytest.mark.parametrize("command", ["refresh", "pin", "import"])
def test_waiting_commands_respect_removed_root(dumps, sample, command):
    copy = dumps.copy(dumps.path.parent / "copy")
    refused_without_roots(dumps, *{
        "refresh": ("refresh", "--wait", "5m"), "pin": ("pin", SETTINGS), "import": ("import", copy.path, "--from", "dumps"),
    }[command])


def test_waiting_publish_respects_removed_root(team):
    team.change("one")
    refused_without_roots(team.dumps, *team.arguments())
