#!/usr/bin/env python3
"""scripts/check documents: compares ARCHITECTURE.md, CONTRIBUTING.md and all other documents with the package.

  - The table under "The modules" lists exactly the targets of Package.swift, except the test targets.
  - The steps under "The data flows" exist: each file, and in it the type or the function that the step names. Each step
    after the first is mentioned in the files of earlier ones. For an indirect call, the step has "through `Name`": an earlier
    file mentions that name, and some file of Sources mentions both.
  - Every guarantee that is bold in SECURITY.md and README.md has a row in the table of guarantees, and its suites and files
    exist.
  - CONTRIBUTING.md has a row for each stage of scripts/test, and each stage after `scripts/test` in a document exists.
  - JSONOutput.md names every member of the JSON documents; DOCUMENTATION.md lists every article.
  - The commands, options, files, numbers and exit codes in every .md file are right: see statements.py.
"""
import pathlib
import re
import subprocess
import sys

import sources
import statements
from statements import rows, section

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "DECISIONS.md", "SECURITY.md", "CHANGELOG.md", "FAQ.md", "GLOSSARY.md"]
TOOL = ROOT / "Sources/Tool/rsdump/Documentation.docc"
# The headings under which guarantees are in bold.
PROMISING = {"SECURITY.md": "Guarantees", "README.md": "Guarantees"}
# Package.swift adds it on macOS only.
ON_MACS = {"SampleApp"}
KIND = r"(?:struct|class|enum|actor|protocol|extension)"
MEMBER = r"(?:func|var|let|case|struct|class|enum|actor|typealias)"
STEP = re.compile(r"^(\d+)\. \[`[^`]+`\]\(([^)]+)\),\s+`([\w.]+)`(?:\s+\(through\s+`(\w+)`\))?:\s", re.MULTILINE)
SUITE = re.compile(r"`(?:(Tests/[\w/.+-]+)|(test_\w+)(?:\.(\w+))?|(\w+(?:Tests|Examples))(?:\.(\w+))?)`")


def module_problems(architecture, package):
    listed = [name for row in rows(section(architecture, "The modules")) for name in re.findall(r"`([\w-]+)`", row[0])]
    targets = {target["name"] for target in package["targets"] if target["type"] != "test"}
    for name in sorted((targets - set(listed) - ON_MACS) | (set(listed) - targets)):
        yield f"the table of modules and Package.swift disagree about {name}"


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
    """Whether a text has all names of a symbol; an initializer is called by its type's name."""
    return all(re.search(rf"\b{name}\b", text) for name in symbol.split(".") if name != "init")


def step_problems(architecture):
    flows = re.split(r"^### ", section(architecture, "The data flows"), flags=re.MULTILINE)[1:]
    if len(flows) < 5:
        yield f"there are {len(flows)} data flows, expected five"
    every = [code(file.read_text()) for file in sorted((ROOT / "Sources").rglob("*.swift"))]
    for flow in flows:
        title = flow.splitlines()[0]
        steps = STEP.findall(flow)
        numbers = re.findall(r"^(\d+)\. ", flow, re.MULTILINE)
        if len(steps) != len(numbers) or len(steps) < 3:
            yield f"{title}: of {len(numbers)} steps, {len(steps)} have the form: 1. [`File`](path), `Type.member`: text"
        earlier = ""
        for number, path, symbol, through in steps:
            if not (ROOT / path).is_file():
                yield f"{title}: step {number}: there is no file {path}"
                continue
            text = code((ROOT / path).read_text())
            if not declares(text, symbol):
                yield f"{title}: step {number}: {path} does not declare {symbol}"
            if earlier and not mentions(earlier, through or symbol):
                yield f"{title}: step {number}: the files of the steps before it do not mention {through or symbol}"
            if through and not any(mentions(each, through) and mentions(each, symbol) for each in every):
                yield f"{title}: step {number}: no file of Sources mentions both {through} and {symbol}"
            earlier += text


def promise_problems(contributing, promising):
    """The problems of the table of guarantees; `promising` lists the documents with guarantees: name, text and heading."""
    table = rows(section(contributing, "Tests for each guarantee"))
    swift = "\n".join(path.read_text() for path in sorted(ROOT.glob("Tests/**/*Tests/**/*.swift")))
    for cells in table:
        promise, guards = cells[0], cells[-1]
        named = SUITE.findall(guards)
        if not named:
            yield f"the promise {promise!r} names no suite"
        for path, module, function, suite, test in named:
            if path and not (ROOT / path).exists():
                yield f"the promise {promise!r} names {path}, which does not exist"
            file = ROOT / f"Tests/Integration/{module}.py"
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


def json_problems(article, kept):
    """Each member of a command in Tests/Promises/json.txt is in its section of JSONOutput.md, or in the shared objects."""
    shared = section(article, "Shared objects")
    for line in kept.splitlines():
        command, _, path = line.rpartition(" ")[0].partition(": ")
        place = section(article, "verify" if command == "rebuild" else command) + shared
        for name in re.findall(r"[\w-]+", re.split(r"\.guards\.|\.fields\[\]\.(?:old|new)\.", path)[0]) if command != "dumps.lock.json" else []:
            if f"`{name}" not in place:
                yield f"JSONOutput.md: the section {command} does not name {name}"


def index_problems(index, read=lambda path: path.read_text()):
    """Each article is in DOCUMENTATION.md, and in a group of topics of the site."""
    articles = sorted(ROOT.glob("Sources/*/*/Documentation.docc/*.md"))
    topics = " ".join(re.findall(r"^- <doc:/?(\w+)>", "".join(map(read, articles)), re.MULTILINE))
    for path in articles:
        if f"({path.relative_to(ROOT)})" not in index:
            yield f"DOCUMENTATION.md does not list {path.relative_to(ROOT)}"
        if not re.search(rf"\b{path.stem}\b", topics) and path.stem != "swift-remote-settings":
            yield f"{path.relative_to(ROOT)} is in no group of topics"


def problems():
    texts = {name: (ROOT / name).read_text() for name in DOCUMENTS}
    listed = subprocess.run([ROOT / "scripts/test", "--list"], check=True, capture_output=True, text=True)
    yield from module_problems(texts["ARCHITECTURE.md"], sources.manifest())
    yield from step_problems(texts["ARCHITECTURE.md"])
    promising = [(name, texts[name], heading) for name, heading in PROMISING.items()]
    yield from promise_problems(texts["CONTRIBUTING.md"], promising)
    stages = set(listed.stdout.split())
    yield from stage_table_problems(texts["CONTRIBUTING.md"], stages)
    for name, text in texts.items():
        yield from stage_problems(name, text, stages | {"quick", "nightly", "one"})
    yield from json_problems((TOOL / "JSONOutput.md").read_text(), (ROOT / "Tests/Promises/json.txt").read_text())
    yield from index_problems((ROOT / "DOCUMENTATION.md").read_text())
    yield from statements.problems()


def main():
    found = list(problems())
    for problem in found:
        print(f"check documents: {problem}")
    print(f"check documents: {len(statements.documents())} documents, {len(found)} problems")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
