#!/usr/bin/env python3
"""Finds arithmetic that can end the program over a number that comes from outside.

Swift's `+`, `-`, `*`, `Int(…)` and `UInt64(…)` trap where the result does not fit. A size or a time that a server, a file or
an archive claims must not do that: it is refused where it is read, and after that it is added with `saturatingAdding`,
summed with `saturatingSum`, and converted with `Int(clamping:)` or `Int(exactly:)`.

Looked at are the members listed below, which carry such numbers, in every line of Sources. A line whose numbers are bounded
says so at its end: `// bounded: ` and by what.
"""
import pathlib
import re
import sys

# Sizes that records, manifests, locks, archives, staging files and answers claim, and times in milliseconds.
MEMBERS = "size|bundleSize|packedSize|compressedSize|milliseconds"
# Constants of a type (`Self.size`) are not from outside.
PATH = r"(?<![\w$])(?:[\w$]+(?:\(\))?[?!]?\.)*(?:[a-z$]\w*(?:\(\))?[?!]?\.)"
MEMBER = rf"{PATH}(?:{MEMBERS})\b(?!\()"
FORBIDDEN = [
    (re.compile(rf"\bU?Int(?:8|16|32|64)?\({MEMBER}\)"), "a conversion that traps; use clamping: or exactly:"),
    (re.compile(rf"(?<![&|<>=!-]) (?:\+|-|\*) {MEMBER}"), "arithmetic that traps; use saturatingAdding or …ReportingOverflow"),
    (re.compile(rf"{MEMBER} (?:\+|-|\*) "), "arithmetic that traps; use saturatingAdding or …ReportingOverflow"),
    (re.compile(rf"(?:\+=|-=|\*=) .*?{MEMBER}"), "arithmetic that traps; use saturatingAdding"),
    (re.compile(r"reduce\(0, \+\)"), "a sum that traps; use saturatingSum"),
]
BOUNDED = re.compile(r"// bounded: \w")
COMMENT = re.compile(r"^\s*//")


def problems(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if COMMENT.match(line) or BOUNDED.search(line):
            continue
        # What is in a text is shown, not computed with, unless it is an interpolation.
        code = re.sub(r'"[^"\\]*"', '""', line)
        for pattern, problem in FORBIDDEN:
            if pattern.search(code):
                yield f"{path}:{number}: {problem}: {line.strip()}"
                break


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    files = [root / name for name in sys.argv[1:]] or sorted((root / "Sources").rglob("*.swift"))
    found = [problem for path in files for problem in problems(path)]
    for problem in found:
        print(problem, file=sys.stderr)
    if not found:
        print(f"{len(files)} files: no trapping arithmetic on {MEMBERS.replace('|', ', ')}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
