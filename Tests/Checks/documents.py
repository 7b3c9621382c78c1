#!/usr/bin/env python3
"""scripts/check documents: holds ARCHITECTURE.md, CONTRIBUTING.md and all other documents against the package.

  - The tables under "The rooms" name every target of Package.swift but the test targets, and no other. A target imports only what
    stands above it. Test targets have the names of their rooms, or are named in the text.
  - A floor of Sources uses only floors before it, and Tool, Publish and Server use one another only in rsdump.
  - The stops under "The ways" are there: each file exists, and declares the type or the function that the stop names. Each stop
    after the first is mentioned in the files of earlier ones. If something stands between the two, the stop says
    "through `Name`": an earlier file mentions that name, and some file of Sources mentions both.
  - Every promise that SECURITY.md and README.md print bold has its row in the table of promises, and the suites and files that
    guard it exist.
  - CONTRIBUTING.md has a row for each stage of scripts/test, and each stage that is named after scripts/test exists.
  - What every .md file says of commands, options, files, numbers and exit codes holds: statements.py, which see.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import statements

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "DECISIONS.md", "SECURITY.md", "CHANGELOG.md", "FAQ.md", "GLOSSARY.md"]
# Where documents promise something, in bold.
PROMISING = {"SECURITY.md": "What is promised", "README.md": "What you can rely on"}
# Only Macs compile it: Package.swift adds it there.
ON_MACS = {"SampleApp"}
# The folders of Sources, each of which uses only those before it.
FLOORS = ["C", "Format", "Network", "Library", "Tool", "Publish", "Server"]
# These three are used by nothing but the commands and themselves.
LAST_FLOORS = {"Tool", "Publish", "Server"}
KIND = r"(?:struct|class|enum|actor|protocol|extension)"
MEMBER = r"(?:func|var|let|case|struct|class|enum|actor|typealias)"
STOP = re.compile(r"^(\d+)\. \[`[^`]+`\]\(([^)]+)\),\s+`([\w.]+)`(?:\s+\(through\s+`(\w+)`\))?:\s", re.MULTILINE)
SUITE = re.compile(r"`(?:(Tests/[\w/.+-]+)|(test_\w+)(?:\.(\w+))?|(\w+(?:Tests|Examples))(?:\.(\w+))?)`")


def manifest():
    """Package.swift as SwiftPM reads it. The scratch path is another one, so that no build is waited for."""
    with tempfile.TemporaryDirectory() as scratch:
        dump = subprocess.run(["swift", "package", "--scratch-path", scratch, "dump-package"],
                              cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(dump.stdout)


def dependencies(target):
    """The names of the package's own targets that a target depends on."""
    return {value[0] for dependency in target["dependencies"] for kind, value in dependency.items() if kind != "product"}


def section(text, heading):
    """The text under a heading of the second level."""
    found = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def rows(text):
    """The cells of each row of the tables in a text, without their headings."""
    found, heading = [], True
    for line in text.splitlines():
        if not line.startswith("|"):
            heading = True
        elif re.match(r"\| *:?-", line):
            heading = False
        elif not heading:
            found.append([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
    return found


def room_problems(architecture, package):
    listed = [name for row in rows(section(architecture, "The rooms")) for name in re.findall(r"`([\w-]+)`", row[0])]
    targets = {target["name"]: target for target in package["targets"] if target["type"] != "test"}
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield f"the room {name} is in the table more than once"
    for name in sorted(targets.keys() - set(listed) - ON_MACS):
        yield f"the target {name} of Package.swift is not in the table of rooms"
    for name in sorted(set(listed) - targets.keys()):
        yield f"the room {name} is in the table, and Package.swift has no such target"
    for target in package["targets"]:
        room = target["name"].removesuffix("Tests")
        if target["type"] == "test" and room not in targets and f"`{target['name']}`" not in section(architecture, "The rooms"):
            yield f"the tests {target['name']} belong to no room; name them under \"The rooms\""
    for position, name in enumerate(listed):
        below = dependencies(targets[name]) & set(listed[position + 1:]) if name in targets else set()
        for other in sorted(below):
            yield f"the room {name} imports {other}, which stands below it"


def floor_problems(package):
    floors = {target["name"]: target["path"].split("/")[1] for target in package["targets"]
              if target["path"].startswith("Sources/")}
    for name in sorted(name for name, floor in floors.items() if floor not in FLOORS):
        yield f"the room {name} is on no floor; expected Sources/FLOOR/{name} with one of {', '.join(FLOORS)}"
    for target in package["targets"]:
        name = target["name"]
        if floors.get(name) not in FLOORS or name == "rsdump":
            continue
        for other in sorted(dependencies(target)):
            floor, used = floors[name], floors.get(other)
            if used not in FLOORS:
                yield f"the room {name} uses {other}, which is on no floor"
            elif FLOORS.index(used) > FLOORS.index(floor) or used != floor and {floor, used} <= LAST_FLOORS:
                yield f"the room {name} of {floor} uses {other} of {used}"


def code(text):
    """A Swift file without its comments."""
    return re.sub(r"^\s*//.*$|(?<= )// .*$", "", text, flags=re.MULTILINE)


def declares(text, symbol):
    *types, member = symbol.split(".")
    if not types:
        return re.search(rf"\b{KIND} (?:\w+\.)*{member}\b", text) is not None
    if not re.search(rf"\b{KIND} (?:\w+\.)*{types[-1]}\b", text):
        return False
    return re.search(r"\binit\??[<(]" if member == "init" else rf"\b{MEMBER} {member}\b", text) is not None


def mentions(text, symbol):
    """Whether a text has all names that a symbol consists of; an initialiser is called by its type's."""
    return all(re.search(rf"\b{name}\b", text) for name in symbol.split(".") if name != "init")


def stop_problems(architecture, root=ROOT, read=lambda path: path.read_text()):
    ways = re.split(r"^### ", section(architecture, "The ways"), flags=re.MULTILINE)[1:]
    if len(ways) < 5:
        yield f"there are {len(ways)} ways, expected five"
    sources = None
    for way in ways:
        title = way.splitlines()[0]
        stops = STOP.findall(way)
        numbers = re.findall(r"^(\d+)\. ", way, re.MULTILINE)
        if len(stops) != len(numbers) or len(stops) < 3:
            yield f"{title}: of {len(numbers)} stops, {len(stops)} have the form: 1. [`File`](path), `Type.member`: text"
        earlier = ""
        for number, path, symbol, through in stops:
            if not (root / path).is_file():
                yield f"{title}: stop {number}: there is no file {path}"
                continue
            text = code(read(root / path))
            if not declares(text, symbol):
                yield f"{title}: stop {number}: {path} does not declare {symbol}"
            if earlier and not mentions(earlier, through or symbol):
                yield f"{title}: stop {number}: the files of the stops before it do not mention {through or symbol}"
            if through:
                sources = sources or [code(read(file)) for file in sorted((root / "Sources").rglob("*.swift"))]
                if not any(mentions(each, through) and mentions(each, symbol) for each in sources):
                    yield f"{title}: stop {number}: no file of Sources mentions both {through} and {symbol}"
            earlier += text


def promise_problems(contributing, promising, root=ROOT):
    """What is wrong with the table of promises; `promising` has each document that promises, as its name, text and heading."""
    table = rows(section(contributing, "What guards each promise"))
    swift = "\n".join(path.read_text() for path in sorted(root.glob("Tests/**/*Tests/**/*.swift")))
    for cells in table:
        promise, guards = cells[0], cells[-1]
        named = SUITE.findall(guards)
        if not named:
            yield f"the promise {promise!r} names no suite"
        for path, module, function, suite, test in named:
            if path and not (root / path).exists():
                yield f"the promise {promise!r} names {path}, which does not exist"
            file = root / f"Tests/Integration/{module}.py"
            if module and not (file.is_file() and (not function or f"def {function}(" in file.read_text())):
                yield f"the promise {promise!r} names {module}{'.' * bool(function)}{function}, which does not exist"
            if suite and not (re.search(rf"\b(?:struct|enum|class) {suite}\b", swift)
                              and (not test or f"func {test}(" in swift)):
                yield f"the promise {promise!r} names {suite}{'.' * bool(test)}{test}, which does not exist"
    mapped = " ".join(cells[0] for cells in table)
    for name, text, heading in promising:
        promises = re.findall(r"^- .*?\*\*(.+?)\*\*", section(text, heading), re.MULTILINE | re.DOTALL)
        if not promises:
            yield f"{name} has no promises under {heading!r}"
        for promise in promises:
            words = " ".join(promise.split()).rstrip(".")
            if words not in mapped:
                yield f"the promise {words!r} of {name} has no row in CONTRIBUTING.md"


def stage_table_problems(contributing, stages):
    named = {name for cells in rows(section(contributing, "Testing")) for name in re.findall(r"`(\w+)`", cells[0])}
    for stage in sorted(stages - named):
        yield f"CONTRIBUTING.md has no row for the stage {stage} of scripts/test"
    for stage in sorted(named - stages):
        yield f"CONTRIBUTING.md has a row for the stage {stage}, which scripts/test does not have"


def stage_problems(name, text, stages):
    for line in re.findall(r"`scripts/test ([a-z][a-z ]*)`", text):
        for stage in sorted(set(line.split()) - stages):
            yield f"{name}: scripts/test has no stage {stage}"


def problems():
    texts = {name: (ROOT / name).read_text() for name in DOCUMENTS}
    listed = subprocess.run([ROOT / "scripts/test", "--list"], check=True, capture_output=True, text=True)
    package = manifest()
    yield from room_problems(texts["ARCHITECTURE.md"], package)
    yield from floor_problems(package)
    yield from stop_problems(texts["ARCHITECTURE.md"])
    promising = [(name, texts[name], heading) for name, heading in PROMISING.items()]
    yield from promise_problems(texts["CONTRIBUTING.md"], promising)
    stages = set(listed.stdout.split())
    yield from stage_table_problems(texts["CONTRIBUTING.md"], stages)
    for name, text in texts.items():
        yield from stage_problems(name, text, stages | {"quick", "nightly"})
    yield from statements.problems()


def main():
    found = list(problems())
    for problem in found:
        print(f"check documents: {problem}")
    print(f"check documents: {len(statements.documents())} documents, {len(found)} problems")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
