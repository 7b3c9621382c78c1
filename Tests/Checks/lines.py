#!/usr/bin/env python3
"""scripts/check lines: comments of Swift sources have at most 120 columns, as lines of code have by swift format, and no line of
a comment is repeated by the next one.

Text in a multi-line string is not a comment, whatever it looks like. The declarations of Apple's modules
(Tests/AppleSystems/Modules) are excluded: each has its source beside it, on one line.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = 120


def faulty_comments(text):
    """The numbers of the faulty lines of comments, each with what is wrong."""
    is_string = False
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not is_string and line.lstrip().startswith("//"):
            if len(line) > COLUMNS:
                yield number, f"the comment is longer than {COLUMNS} columns; wrap it"
            if line == before and line.strip(" /"):
                yield number, "this line of the comment repeats the one before it"
        before = line
        if line.count('"""') % 2:
            is_string = not is_string


def main():
    files = [path for folder in ("Sources", "Tests", "Examples", "Plugins") for path in (ROOT / folder).rglob("*.swift")
             if ".build" not in path.parts and "AppleSystems" not in path.parts]
    problems = 0
    for path in sorted([*files, ROOT / "Package.swift"]):
        for number, problem in faulty_comments(path.read_text()):
            print(f"{path.relative_to(ROOT)}:{number}: {problem}")
            problems += 1
    print(f"check lines: {len(files)} files, {problems} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
