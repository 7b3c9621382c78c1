#!/usr/bin/env python3
"""scripts/check costs: prints the size of the package, and fails above the limits in MOST.

A line counts unless it is empty or only a comment. The limits for lines are those of the last merge, and may only decrease: lower
them with each change that removes code.
"""
import pathlib
import re
import sys

import sources

ROOT = pathlib.Path(__file__).resolve().parents[2]
MOST = {
    "lines of code": 50_912, "lines of tests": 39_628, "error types": 12, "commands of `rsdump`": 25, "options of `rsdump`": 124,
}
ERROR_TYPE = (r"^\s*(?:(?:@nonexhaustive|public|package|private|fileprivate|indirect|final) )*(?:struct|enum|class|extension) "
              r"[\w.]+\s*:[^{]*\b(?:Error)\b[^{]*\{")


def lines(folder):
    total = 0
    for path in (ROOT / folder).rglob("*"):
        if path.suffix in {".swift", ".c", ".h", ".py", ".mjs"} and ".build" not in path.parts:
            stripped = (line.strip() for line in path.read_text(errors="replace").splitlines())
            total += sum(1 for line in stripped if line and not line.startswith(("#" if path.suffix == ".py" else "//", "/*", "* ")))
    return total


def count(pattern, *folders, name="*.swift"):
    """The number of lines in Swift files that match a pattern."""
    paths = [path for folder in folders for path in (ROOT / folder).rglob(name)]
    return sum(len(re.findall(pattern, path.read_text(), re.MULTILINE)) for path in paths)


def main():
    tool = "".join(path.read_text() for path in (ROOT / "Sources/Tool/rsdump").rglob("*.swift"))
    kept = (ROOT / "Tests/Promises/options.txt").read_text()
    found = {
        "targets of the package": len(sources.manifest()["targets"]),
        "lines of code": lines("Sources"),
        "lines of Format, Network and Library": sum(map(lines, ["Sources/Format", "Sources/Network", "Sources/Library"])),
        "lines of tests": lines("Tests"),
        "error types": count(ERROR_TYPE, "Sources"),
        "commands of `rsdump`": len(re.findall(r"^[a-z ]+$", kept, re.MULTILINE)),
        "options of `rsdump`": len(re.findall(r"@(?:Option|Flag|Argument)\b", tool)),
    }
    print("| | now | limit |\n| --- | ---: | ---: |")
    for name, number in found.items():
        print(f"| {name} | {number:,} | {f'≤ {MOST[name]}' if name in MOST else ''} |")
    sys.exit(any(found[name] > most for name, most in MOST.items()))


if __name__ == "__main__":
    main()
