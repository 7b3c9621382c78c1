"""Command output: each file in Tests/Integration/commands is a test that also serves as documentation.

    # A comment, between commands.
    -- NAME --           a file: the lines up to a line of two hyphens
    $ COMMAND            a shell command, run in a folder with these files; below it, standard output, then standard error
    [2]                  its exit code, unless it is 0

$REPOSITORY is this repository.

In expected output, ... matches any characters, and a line of ... matches any lines. ACCEPT=1 writes the actual output.
"""
import os
import pathlib
import re
import subprocess

import pytest

import rsdump
from git import AUTHOR, NO_SETTINGS

FOLDER = pathlib.Path(__file__).with_name("commands")


def steps(text):
    """Files and commands in order, each with its first line and the lines below."""
    found, is_file = [], False
    for line in text.splitlines():
        if is_file or not line.startswith(("$ ", "# ", "-- ")):
            if line == "--" and is_file:
                is_file = False
            elif found:
                found[-1][1].append(line)
        else:
            found.append((line, []))
            is_file = line.startswith("-- ")
    return found


def printed(command, folder):
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=rsdump.TIMEOUT,
        env=rsdump.environment({
            "PATH": f"{rsdump.BINARY.parent}:{os.environ['PATH']}", "REPOSITORY": str(rsdump.REPOSITORY), **AUTHOR, **NO_SETTINGS}))
    return (done.stdout + done.stderr).splitlines() + [f"[{done.returncode}]"] * (done.returncode != 0)


def fits(expected, lines):
    parts = [r"(?:.*\n)*" if line == "..." else re.escape(line).replace(r"\.\.\.", ".*") + r"\n" for line in expected]
    return re.fullmatch("".join(parts), "".join(f"{line}\n" for line in lines)) is not None


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_commands_print_what_their_text_says(path, tmp_path):
    kept, wrong, count = [], [], 0
    for head, lines in steps(path.read_text()):
        kept.append(head)
        if head.startswith("-- "):
            (tmp_path / head[3:-3]).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / head[3:-3]).write_text("".join(f"{line}\n" for line in lines))
            kept += [*lines, "--"]
            continue
        expected = [line for line in lines if line]
        if head.startswith("$ "):
            count += 1
            found = [line for line in printed(head[2:], tmp_path) if line]
            if not fits(expected, found):
                wrong.append("\n".join([head, *found]))
                expected = found
        kept += [*expected, *[""] * (lines[-1:] == [""])]
    if wrong and os.environ.get("ACCEPT"):
        path.write_text("\n".join(kept).rstrip() + "\n")
    assert count and not wrong, "\n\n".join(["these commands print different output:", *wrong])
