#!/usr/bin/env python3
"""scripts/check promises [--accept]: compares the stable interfaces with the texts in Tests/Promises.

These are the public API of the libraries' modules, the names and options of the commands, and the members of the JSON documents
that commands print. The check fails if a text differs, and prints the difference; --accept writes the texts of this build, so
that a commit shows its changes of the interfaces. The article Commands.md, which is generated from the help texts, is checked
and written in the same way. The check also fails for a public enumeration that is neither @nonexhaustive nor documented as
closed. It needs the build of `scripts/test build`; set RSDUMP to use a different rsdump.
"""
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "Tests/Promises"
BUILD = ROOT / ".build/debug"
RSDUMP = os.environ.get("RSDUMP", str(BUILD / "rsdump"))
# The products' modules, and modules whose types appear in their API.
MODULES = ["RemoteSettings", "MozillaBinding", "RemoteConfiguration", "RemoteSettingsTesting", "FirefoxDumps",
           "RemoteSettingsModel", "RemoteSettingsHTTP", "SnapshotBundle"]
GIVEN = "0.1.0"
# The path from Tests/Promises.
COMMANDS = "../../Sources/Tool/rsdump/Documentation.docc/Commands.md"
REFERENCE = """# Commands and options

Every command of `rsdump`; `rsdump help COMMAND` has the details, and `scripts/check promises --accept` writes this page.
"""


def output(*command, codes=(0,), **options):
    environment = {**os.environ, "SWIFT_BACKTRACE": "enable=no", "COLUMNS": "80"}
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment, **options)
    if ended.returncode not in codes:
        sys.exit(f"check promises: {' '.join(map(str, command))} ended with {ended.returncode}:\n"
                 f"{ended.stdout[-2000:]}{ended.stderr[-2000:]}")
    return ended.stdout


def public_api(module, graphs):
    """The public declarations of a module, one per line, each with its full path; sorted."""
    if not (BUILD / "Modules" / f"{module}.swiftmodule").exists():
        sys.exit(f"check promises: the debug build has no module {module}; run scripts/test build")
    maps = [*ROOT.glob("Sources/C/*/module.modulemap"), *ROOT.glob("Sources/*/*/include/module.modulemap"),
            *ROOT.glob(".build/checkouts/*/Sources/*/include/module.modulemap"), *BUILD.glob("*.build/module.modulemap")]
    output("swift-symbolgraph-extract", "-module-name", module, "-I", BUILD / "Modules", *(
        word for path in maps for word in ("-Xcc", f"-fmodule-map-file={path}")),
        "-target", "x86_64-unknown-linux-gnu" if os.uname().machine == "x86_64" else "aarch64-unknown-linux-gnu",
        "-minimum-access-level", "public", "-skip-synthesized-members", "-output-dir", graphs)
    lines = set()
    for path in [graphs / f"{module}.symbols.json", *graphs.glob(f"{module}@*.symbols.json")]:
        graph = json.loads(path.read_text())
        names = {symbol["identifier"]["precise"]: ".".join(symbol["pathComponents"]) for symbol in graph["symbols"]}
        for symbol in graph["symbols"]:
            declaration = "".join(part["spelling"] for part in symbol["declarationFragments"])
            lines.add(f"{'.'.join(symbol['pathComponents'])}: {' '.join(declaration.split())}")
        for relation in graph["relationships"]:
            if relation["kind"] == "conformsTo" and relation["source"] in names:
                target = names.get(relation["target"]) or relation.get("targetFallback") or relation["target"]
                lines.add(f"{names[relation['source']]} conforms to {target}")
    return "".join(f"{line}\n" for line in sorted(lines))


def is_nonexhaustive(symbol):
    text = pathlib.Path(symbol["location"]["uri"].removeprefix("file://")).read_text()
    return f"@nonexhaustive public enum {symbol['names']['title'].split('.')[-1]}:" in text


def undecided_enums(graphs):
    """The public enumerations that are neither @nonexhaustive nor documented as closed, which CHANGELOG.md guarantees."""
    for module in MODULES:
        symbols = json.loads((graphs / f"{module}.symbols.json").read_text())["symbols"]
        # An enumeration without cases is a namespace.
        owners = {tuple(symbol["pathComponents"][:-1]) for symbol in symbols if symbol["kind"]["identifier"] == "swift.enum.case"}
        for symbol in symbols:
            text = " ".join(line["text"] for line in symbol.get("docComment", {"lines": []})["lines"])
            if symbol["kind"]["identifier"] == "swift.enum" and tuple(symbol["pathComponents"]) in owners and not re.search(
                    r"Closed: no version adds a case", text) and not is_nonexhaustive(symbol):
                yield ".".join([module, *symbol["pathComponents"]])


def subcommands(*command):
    text = output(RSDUMP, *command, "--help")
    listed = text.split("SUBCOMMANDS:", 1)
    return re.findall(r"^  ([a-z][a-z-]*) ", listed[1], re.MULTILINE) if len(listed) > 1 else []


def options():
    """Each command with its arguments and options, one per line, sorted. The help texts themselves may change."""
    lines = []
    for name in subcommands():
        for command in [(name, below) for below in subcommands(name)] or [(name,)]:
            text = output(RSDUMP, *command, "--help")
            found = re.findall(r"^  ((?:-\w, )?--[\w-]+(?: <[^>]+>)?|<[^>]+>)", text[text.index("USAGE:"):], re.MULTILINE)
            lines += [" ".join(command), *(f"{' '.join(command)} {each}" for each in found if not each.startswith(("--version", "-h,")))]
    return "".join(f"{line}\n" for line in sorted(set(lines)))


def described(text):
    """The arguments and options of a help text, each with the first sentence of its description."""
    found, part = {}, text[text.index("USAGE:"):]
    for label, first, rest in re.findall(
            r"^  ((?:-\w, )?--[\w-]+(?: <[^>]+>)?|<[^>]+>)[ ]*(.*)\n((?: {8,}.*\n)*)", part, re.MULTILINE):
        if not label.startswith(("--version", "-h,")):
            sentence = re.split(r"\.(?= |$)| \((?:values|default):", " ".join(f"{first} {rest}".split()))[0]
            # Omit examples and clauses after a semicolon, unless the words before it are too few.
            clause = re.split(r";|, such as ", sentence)[0]
            found[label] = clause if len(clause.split()) > 3 else sentence
    return found


def reference():
    """The article Commands: a line for each command, argument and option. Shared ones are listed only once."""
    helps = {}
    for name in subcommands():
        for command in [(name, below) for below in subcommands(name)] or [(name,)]:
            helps[" ".join(command)] = output(RSDUMP, *command, "--help")
    every = {command: described(text) for command, text in helps.items()}
    uses = [pair for options in every.values() for pair in options.items()]
    shared = {pair for pair in uses if uses.count(pair) > 2}

    def block(pairs):
        width = max((len(label) for label, _ in pairs), default=0)
        return "```text\n" + "".join(f"{label:{width}}  {text}\n" for label, text in pairs) + "```\n"
    page = [REFERENCE, "## Shared arguments and options\n", block(sorted(shared))]
    for command, options in every.items():
        overview = re.search(r"OVERVIEW: (.*?)\n\n", helps[command], re.DOTALL)[1]
        own = [pair for pair in options.items() if pair not in shared]
        page += [f"## {command}\n", " ".join(overview.split()) + "\n", *([block(own)] if own else [])]
    return "\n".join(page)


def members(value, path=""):
    """Each member of a JSON document with its type: `collections[].timestamp: number`."""
    if isinstance(value, dict):
        for name, inside in value.items():
            # Objects keyed by a collection's name or by a hash have one shape for all keys.
            name = "*" if "/" in name or re.fullmatch(r"[0-9a-f]{64}", name) else name
            yield from members(inside, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        for inside in value:
            yield from members(inside, f"{path}[]")
    else:
        kind = {bool: "bool", int: "number", float: "number", str: "string", type(None): "null"}[type(value)]
        yield f"{path}: {kind}"


def refresh_report(dumps, folder):
    """The output of a refresh from rsdump serve, into a directory with one of the two bundles missing."""
    behind = folder / "behind"
    shutil.copytree(dumps, behind)
    (behind / "main/files.zip").unlink()
    with subprocess.Popen([RSDUMP, "serve", "--port", "0", "--dumps", dumps], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True) as server:
        try:
            address = server.stdout.readline().strip()
            return output(RSDUMP, "refresh", "--server", f"{address}/v2", "--dumps", behind, "--format", "json")
        finally:
            server.terminate()


def json_members():
    """The members of --format json documents, for commands that need no network except loopback."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        dumps, new = folder / "dumps", folder / "new"
        shutil.copytree(KEPT / GIVEN / "dumps", dumps)
        (folder / "sources/main").mkdir(parents=True)
        (folder / "sources/main/app-config.yaml").write_text("parameters:\n  greeting: Hi\n")
        output(RSDUMP, "keys", "create", "keys", cwd=folder)
        base = ("--dumps", dumps, "--format", "json")
        documents = {
            "status": output(RSDUMP, "status", "--offline", *base),
            "verify": output(RSDUMP, "verify", "--locked", *base),
            "rebuild": output(RSDUMP, "verify", "--rebuild", *base),
            "show": output(RSDUMP, "show", dumps / "main/files.zip", "--attachments", "--format", "json"),
            "keys status": output(RSDUMP, "keys", "status", "keys", "--format", "json", cwd=folder),
            "publish": output(RSDUMP, "publish", "--server", "http://127.0.0.1:9/v2", "--dumps", new, "--format", "json",
                              cwd=folder),
            "diff": output(RSDUMP, "diff", dumps, new, "--format", "json", cwd=folder),
            "export": output(RSDUMP, "export", "--to", "mirror", "--url", "http://127.0.0.1:9", "--output", folder / "mirror",
                             *base),
            "refresh": refresh_report(dumps, folder),
            "pin": output(RSDUMP, "pin", "main/files", *base),
        }
        lines = {f"{command}: {line}" for command, text in documents.items() for line in members(json.loads(text))}
        lines |= {f"dumps.lock.json: {line}" for line in members(json.loads((dumps / "dumps.lock.json").read_text()))}
    return "".join(f"{line}\n" for line in sorted(lines))


def texts():
    """The texts of this build, by file name."""
    with tempfile.TemporaryDirectory() as graphs:
        found = {f"api/{module}.txt": public_api(module, pathlib.Path(graphs)) for module in MODULES}
        if undecided := list(undecided_enums(pathlib.Path(graphs))):
            sys.exit("check promises: declare as @nonexhaustive, or write 'Closed: no version adds a case.' into the documentation of: "
                     f"{', '.join(undecided)}")
    return {**found, "options.txt": options(), "json.txt": json_members(), COMMANDS: reference()}


def differences(found, kept=KEPT):
    """A unified difference for each text that differs from the stored one."""
    for name, text in found.items():
        path = kept / name
        before = path.read_text() if path.exists() else ""
        if before != text:
            yield name, list(difflib.unified_diff(
                before.splitlines(), text.splitlines(), f"kept {name}", f"this build's {name}", n=0, lineterm=""))
    for path in sorted((kept / "api").glob("*.txt")):
        if f"api/{path.name}" not in found:
            yield f"api/{path.name}", [f"-{line}" for line in path.read_text().splitlines()]


def main():
    if not pathlib.Path(RSDUMP).exists() or "serve" not in subcommands():
        sys.exit(f"check promises: {RSDUMP} is missing; run scripts/test build")
    found = texts()
    if sys.argv[1:] == ["--accept"]:
        for name, text in found.items():
            (KEPT / name).parent.mkdir(exist_ok=True)
            (KEPT / name).write_text(text)
        print(f"check promises: {len(found)} texts written to {KEPT.relative_to(ROOT)}; commit them with the change")
        return 0
    changed = dict(differences(found))
    for name, lines in changed.items():
        print("\n".join(lines[:60]))
        if name == COMMANDS:
            print("check promises: Commands.md is stale; run scripts/check promises --accept")
            continue
        gone = sum(1 for line in lines if re.match(r"-(?!--)", line))
        if gone:
            print(f"check promises: {name}: {gone} lines are gone or have changed. If that is meant, CHANGELOG.md has to say "
                  "so; then run scripts/check promises --accept")
        else:
            print(f"check promises: {name}: there is more than before; run scripts/check promises --accept")
    print(f"check promises: {len(found)} texts, {len(changed)} differ from {KEPT.relative_to(ROOT)}")
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
