#!/usr/bin/env python3
"""A part of scripts/check consumer: proves what an app gets that uses remote config or moves over, from outside.

A copy of Tests/ConfigConsumer in a temporary directory depends on this package by path, without the tool. It is built, moved
alone into an empty directory, and started where there is no network, if that can be arranged: programs of one main.swift, made of
the lines that a start page of the documentation shows and of nothing else, in the directory that the page's commands have made.
Beside them, in both language modes, compiles what only an app has: types with the names of the library's own, and an older
binding. What Mozilla's names do is in LibraryTests, and that code compiles with its import changed in test_snippets.
What is built is kept in .build-consumer, so that the next time is short. RSDUMP names the tool, else .build/debug/rsdump.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = ROOT / ".build-consumer"
RSDUMP = os.path.realpath(os.environ.get("RSDUMP", ROOT / ".build/debug/rsdump"))
PAGES = ROOT / "Sources/Tool/rsdump/Documentation.docc"
# What the program of a start page prints without network; of the last line, its beginning.
START_PAGES = {
    "StartApp": ("start-app", ["au Australia", "br Brazil", "ch Switzerland", "in India", "jp Japan", "ke Kenya", "no Norway",
                               "nowhere Nowhere", "not synced: "]),
    "StartPublish": ("start-publish", ["Good morning packaged", "24 packaged", "not fetched: "]),
}


def swift(command, package, *arguments):
    full = ["swift", command, "--package-path", package, "--scratch-path", SCRATCH, *arguments]
    return subprocess.run(list(map(str, full)), check=True, stdout=subprocess.PIPE, text=True).stdout


def build(folder):
    package = folder / "consumer"
    ignored = shutil.ignore_patterns(".build*", ".swiftpm", "Package.resolved")
    shutil.copytree(ROOT / "Tests/ConfigConsumer", package, ignore=ignored)
    manifest = package / "Package.swift"
    text = manifest.read_text()
    changed = text.replace('path: "../.."', f'path: "{ROOT}"')
    if changed == text:
        raise SystemExit("check consumer: the manifest does not name this package as expected")
    manifest.write_text(changed)
    for page, (name, _) in START_PAGES.items():
        source = package / "Sources" / name / "main.swift"
        source.parent.mkdir()
        # A further block that begins with imports is a program of its own, which test_snippets compiles.
        first, *others = fenced(page, "swift")
        source.write_text("\n".join([first, *(block for block in others if not block.startswith("import "))]))
    shutil.copytree(package / "Sources/moved", package / "Sources/moved-swift5")
    # Nothing is debugged here. The flags are those of check-consumer, which has built the same modules.
    swift("build", package, "-debug-info-format", "none")
    (folder / "empty").mkdir()
    built = pathlib.Path(swift("build", package, "--show-bin-path").strip())
    for name in ("first", *(name for name, _ in START_PAGES.values())):
        shutil.copy2(built / name, folder / "empty")
    return folder / "empty"


def fenced(page, language):
    """A start page's blocks in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (PAGES / f"{page}.md").read_text(), re.MULTILINE | re.DOTALL)


def offline():
    """What to put before a command so that it has no network; nothing where that is not permitted."""
    if subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL).returncode == 0:
        return ["unshare", "--net"]
    print("check consumer: unshare --net is not permitted here, the network stays on")
    return []


def lines_of(command, folder):
    ended = subprocess.run(list(map(str, command)), cwd=folder, env={}, capture_output=True, text=True)
    return ended.stdout.splitlines() + ([f"ended with {ended.returncode}: {ended.stderr}"] if ended.returncode else [])


def problem(title, found, expected):
    """Compares lines; where an expected one ends with a space, it is the beginning of one."""
    fits = len(found) == len(expected) and all(
        line.startswith(start) if start.endswith(" ") else line == start for line, start in zip(found, expected))
    print(f"check consumer: {title}: expected {expected}, printed {found}" if not fits else f"{title}: {found[0]} …")
    return not fits


def first_program_problem(programs, folder):
    """At most ten lines, nothing optional, no network: in a main.swift and in an actor."""
    sources = [path.read_text() for path in sorted((ROOT / "Tests/ConfigConsumer/Sources/first").iterdir())]
    long = any(len(text.splitlines()) > 10 or "?" in text for text in sources)
    place = folder / "first-place"
    place.mkdir()
    lock = json.loads((ROOT / "dumps/dumps.lock.json").read_text())
    found = lines_of([*offline(), programs / "first"], place)
    fits = len(found) == 3 and found[2] == str(lock["collections"]["main/password-rules"]["records"])
    if long or not fits:
        print(f"check consumer: the first program: expected at most ten lines without ?, and its records, printed {found}")
    return long or not fits


def start_page_problems(programs, folder):
    tools = folder / "bin"
    tools.mkdir()
    (tools / "rsdump").symlink_to(RSDUMP)
    for page, (name, expected) in START_PAGES.items():
        place = folder / page
        place.mkdir()
        subprocess.run(
            ["bash", "-c", "set -e -o pipefail\n" + "\n".join(fenced(page, "shell"))], cwd=place, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
        # The first start: nothing was ever synced.
        shutil.rmtree(place / "storage", ignore_errors=True)
        yield problem(page, lines_of([*offline(), programs / name], place), expected)


def main():
    if not os.access(RSDUMP, os.X_OK):
        raise SystemExit(f"check consumer: there is no {RSDUMP}; swift build --product rsdump makes it")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = build(folder)
        problems = [first_program_problem(programs, folder), *start_page_problems(programs, folder)]
    print(f"check consumer: {len(problems)} programs with remote config, {sum(problems)} problems")
    return sum(problems)
