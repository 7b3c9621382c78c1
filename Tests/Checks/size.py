#!/usr/bin/env python3
"""scripts/check size [--accept]: measures what the package adds to an app, and compares it with Tests/Benchmark/size.json.

  --accept   writes the sizes of this build into that file; commit it with the change that explains them

It fails if the code and data of this package and its dependencies have grown by more than 2 % in a program, or those of one
target by more than 10 % and 10 KB. The programs are built as those of the check of instructions are, which has built most of
them; -Osize would build everything anew. Tests/Benchmark/bench size does that, and prints what an app on a phone gets.
Sizes depend on the compiler: those of another one are not compared, and the check fails.
"""
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Benchmark"))

import size

KEPT = ROOT / "Tests/Benchmark/size.json"
MOST, MOST_OF_ONE, LEAST = 1.02, 1.10, 10_000


def fail(text):
    print(f"check size: {text}", file=sys.stderr)
    sys.exit(1)


def compiler():
    told = subprocess.run(["swift", "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"swift-\S+|Swift version \S+", told)
    return found[0] if found else "unknown"


def measured():
    """Bytes by program and target, without Swift's own libraries and what the linker makes."""
    found = {}
    for product in size.PROGRAMS:
        _, path = size.build(product, ["--traits", "Server,Lab", "--static-swift-stdlib"])
        sizes = size.sizes(path)
        if not sizes.get("RemoteSettings"):
            fail(f"{path} has nothing of RemoteSettings; expected a map of the linker")
        found[product] = {
            target: count for target, count in sorted(sizes.items()) if size.package(target, ROOT / ".build/checkouts")}
    return found


def compare(found, kept):
    """Prints a table; returns what has grown too much."""
    grown = []
    for product, targets in found.items():
        before = kept.get(product, {})
        rows = [("all of it", sum(targets.values()), sum(before.values()), MOST, 0),
                *((target, count, before.get(target, 0), MOST_OF_ONE, LEAST) for target, count in targets.items())]
        for name, count, old, most, least in rows:
            is_grown = count > old * most and count - old > least
            if is_grown:
                grown.append(f"{name} in {product}")
            if is_grown or name == "all of it":
                print(f"{product:14} {name:24} {count / 1e6:7.3f} MB {f'{count / old - 1:+7.1%}' if old else '    new'}")
    return grown


def main():
    arguments = sys.argv[1:]
    if arguments not in ([], ["--accept"]):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    here = compiler()
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {"swift": "", "bytes": {}}
    found = measured()
    if arguments:
        compare(found, kept["bytes"])
        KEPT.write_text(json.dumps({"swift": here, "bytes": found}, indent=2) + "\n")
        print(f"check size: written to {KEPT.relative_to(ROOT)}; commit it with the change that explains the sizes")
        return
    if kept["swift"] != here:
        fail(f"{KEPT.relative_to(ROOT)} was measured with {kept['swift'] or 'nothing'}, found {here} here.\n"
             "Check out the commit before your change, run scripts/check size --accept, and commit the file; then check your "
             "change against it.")
    grown = compare(found, kept["bytes"])
    if grown:
        fail(f"more than in {KEPT.relative_to(ROOT)}: {'; '.join(grown)}.\n"
             "If the change is worth that, run scripts/check size --accept, and commit the file with the reason.")


main()
