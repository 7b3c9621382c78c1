#!/usr/bin/env python3
"""scripts/check guards [--print] KEY: runs the tests that guard a promise, by its key in CONTRIBUTING.md, "Tests for each guarantee".

It needs what scripts/test build has built. With --print it prints the commands and runs nothing. The exit status is 1 if one of
them failed, and 2 if there is no such key.
"""
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests/Checks"))
import documents


def commands(guards):
    """The commands that run what a row of the table names."""
    named = documents.SUITE.findall(guards)
    swift = [f"{suite}/{test}" if test else suite for _, _, _, suite, test in named if suite]
    python = [f"Tests/Integration/{module}.py" + f"::{function}" * bool(function)
              for _, module, function, _, _ in named if module]
    if swift:
        yield ["swift", "test", "--traits", "Server,Lab", "--skip-build", "--filter", "|".join(swift)]
    if python:
        yield [".cache/venv/bin/python", "-m", "pytest", *python]
    for path, *_ in named:
        if path:
            yield ["scripts/check", pathlib.Path(path).stem]
    for target in re.findall(r"fuzz target `([\w-]+)`", guards):
        yield ["Tests/Faults/fuzz", target, "10"]


def main():
    arguments = [each for each in sys.argv[1:] if each != "--print"]
    table = documents.rows(documents.section((ROOT / "CONTRIBUTING.md").read_text(), "Tests for each guarantee"))
    found = {cells[1].strip("`"): cells for cells in table}
    if len(arguments) != 1 or arguments[0] not in found:
        print(f"{__doc__}\nThe keys:", file=sys.stderr)
        for key, cells in found.items():
            print(f"  {key:12} {cells[0]}", file=sys.stderr)
        sys.exit(2)
    failed = False
    for command in commands(found[arguments[0]][2]):
        print(shlex.join(command), flush=True)
        if "--print" not in sys.argv[1:]:
            failed |= subprocess.run(command, cwd=ROOT).returncode != 0
    sys.exit(failed)


if __name__ == "__main__":
    main()
