"""Makes Package.swift from the tree: the rooms of plan.py that are there, each with what its sources import."""
import functools
import pathlib
import re

import plan
from swift_text import IMPORT, import_lines

# Targets outside of the floors: (place, name, kind). "lab" ones are there with the trait Lab only.
OTHERS = [
    ("Tests/Network/FaultyServer", "FaultyServer", "target"),
    ("Tests/Lab/FuzzTargets", "FuzzTargets", "lab target"),
    ("Tests/Lab/rsfuzz", "rsfuzz", "lab program"),
    ("Tests/Lab/FuzzTargetsTests", "FuzzTargetsTests", "lab tests"),
    ("Tests/Lab/rsbench", "rsbench", "lab program"),
    ("Tests/Lab/rsbench-app", "rsbench-app", "lab program"),
    ("Tests/Lab/soak", "soak", "lab program"),
    ("Tests/Lab/storage-process", "storage-process", "lab program"),
    ("Tests/Lab/release-process", "release-process", "lab program"),
    ("Tests/Lab/blocking-process", "blocking-process", "lab program"),
    ("Tests/Lab/config-process", "config-process", "lab program"),
    ("Examples/ConfigExample", "config-example", "program"),
    ("Examples/SampleApp/EmbeddedSampleDumps", "EmbeddedSampleDumps", "C"),
    ("Examples/SampleApp/Logic", "SampleAppLogic", "target"),
    ("Examples/SampleApp/Terminal", "sample-terminal", "program"),
    ("Examples/SampleApp/Tests", "SampleAppTests", "tests"),
]
C_ROOMS = {"CZlib", "CLZ4", "CYAML", "CArchive", "CCurl", "CThreads", "CMappedFaults", "EmbeddedFirefoxDumps"}
# Which processes a test starts; no import shows it.
STARTED = {"RemoteSettingsTests": ["storage-process", "blocking-process"], "RemoteConfigurationTests": ["config-process"]}
# Rooms that are imported under a condition of platforms.
PLATFORMS = {
    "RemoteSettings": "networks", "RemoteSettingsTests": "networks",
}
FLOOR_TEXTS = {
    "C": "C: libraries of the system, and the few lines that Swift cannot have",
    "Format": "Format: what a snapshot is, without network",
    "Network": "Network: how one gets it",
    "Library": "Library: what apps link",
    "Tool": "Tool: what the night and the release engineer run",
    "Publish": "Publish: keys, sources, signing",
    "Server": "Server: what an origin serves; NIO is here only, with the trait `Server`",
}

@functools.cache
def targets(root):
    """The module of each folder, the longest folders first."""
    found = {}
    for new, _, _ in plan.ROOMS:
        if not new.startswith("Tests/Lab"):
            found[new] = new.rpartition("/")[2]
    found["Sources/Format/ContentSigning"] = "ContentSigning"
    for place, name, _ in OTHERS:
        found[place] = name.replace("-", "_")
    return {folder: found[folder] for folder in sorted(found, key=len, reverse=True) if (root / folder).is_dir()}


def forget():
    targets.cache_clear()


def imports(root, place):
    """The modules that a target's sources import, each with the conditions under which whole files do."""
    found = {}
    for path in sorted((root / place).rglob("*.swift")):
        lines = path.read_text().split("\n")
        guard = next((line[4:].strip() for line in lines if line and not line.startswith("//")), "") if any(
            line.startswith("#if ") for line in lines) else ""
        first = next((line for line in lines if line.strip() and not line.startswith("//")), "")
        condition = first[4:].strip() if first.startswith("#if ") and re.search(r"\b(Server|Lab)\b", first) else ""
        for number in import_lines(lines):
            found.setdefault(IMPORT.match(lines[number])["module"], set()).add(condition)
    return found


def order(names):
    """Own modules first, in the order of the floors; then those of other packages."""
    known = {place.rpartition("/")[2]: index for index, place in enumerate(
        [*(f"Sources/C/{each}" for each in C_ROOMS), *ORDER])}
    return sorted(names, key=lambda name: (name in PACKAGES, known.get(name, 1000), name))


PACKAGES = {**plan.MODULES_OF_PACKAGES, **plan.SERVER_MODULES}
ORDER = list(dict.fromkeys(
    [place for place, _, _ in plan.ROOMS if place.startswith("Sources/Format")]
    + ["Sources/Format/ContentSigning"] + [place for place, _, _ in plan.ROOMS if place.startswith("Sources/")]))
ORDER.remove("Sources/Format/ContentSigning")
ORDER.insert(ORDER.index("Sources/Format/SnapshotTrust") + 1, "Sources/Format/ContentSigning")


def listed(names, indent, first):
    """Names for Swift as one text, of several lines where one is too long."""
    line = first + '"' + " ".join(names) + '"'
    if len(indent) + len(line) <= 119:
        return [indent + line]
    lines, current = [f'{indent}{first}"""'], ""
    for name in names:
        if current and len(indent) + 4 + len(current) + 1 + len(name) > 119:
            lines.append(f"{indent}    {current}")
            current = ""
        current += (" " if current else "") + name
    return [*lines, f"{indent}    {current}", indent + '    """']


def used(root, place, name, problems):
    """The rooms and the modules of other packages that a target imports."""
    own = set(targets(root).values())
    modules = set()
    for module in imports(root, place):
        if module in plan.SYSTEM or module == name:
            continue
        if module in own or module in PACKAGES:
            modules.add(module)
        else:
            problems.append(f"{place} imports {module}, which nobody knows")
    return modules


def room_lines(root, place, problems):
    name = place.rpartition("/")[2]
    modules = used(root, place, name, problems)
    also, options = [], []
    if name in PLATFORMS:
        modules -= {"CurlTransport", "URLSessionTransport"}
        also.append("networks()")
    if name == "rsdump" and "SnapshotServer" in modules:
        modules.remove("SnapshotServer")
        also.append('[module("SnapshotServer", trait: "Server")]')
    if name == "RemoteSettingsModel":
        options.append('settings: [.enableExperimentalFeature("Lifetimes")]')
    if name == "rsdump":
        options.append("as: .executable")
    given = set(modules) | {"RemoteSettingsModel", name}
    modules.discard("RemoteSettingsModel")
    tests = f"Tests/{place.removeprefix('Sources/')}Tests"
    lines = []
    arguments = [[f'        "{place.removeprefix("Sources/")}"']]
    if modules:
        arguments.append(listed(order(modules), "        ", "uses: "))
    if also:
        arguments.append([f"        also: {' + '.join(also)}"])
    arguments += [[f"        {option}"] for option in options]
    if (root / tests).is_dir():
        testing = used(root, tests, f"{name}Tests", problems)
        testing -= given
        also = []
        if f"{name}Tests" in PLATFORMS:
            testing -= {"CurlTransport", "URLSessionTransport"}
        started = STARTED.get(f"{name}Tests", [])
        if started:
            also.append(f"[{', '.join(f'''module({quoted(each)}, trait: {quoted('Lab')})''' for each in started)}]")
        arguments.append(listed(order(testing), "        ", "tests: "))
        if also:
            arguments.append([f"        testsAlso: {' + '.join(also)}"])
    return lines + call("    room(", arguments)


def quoted(name):
    return f'"{name}"'


def call(opening, arguments):
    """A call on one line if it fits, else with as many arguments a line as fit."""
    flat = ", ".join(argument[0].strip() for argument in arguments)
    if all(len(argument) == 1 for argument in arguments) and len(opening) + len(flat) + 2 <= 119:
        return [f"{opening}{flat}),"]
    lines, current = [opening], ""
    for index, argument in enumerate(arguments):
        end = "" if index == len(arguments) - 1 else ","
        if len(argument) > 1:
            if current:
                lines.append(f"        {current}")
                current = ""
            lines += [*argument[:-1], argument[-1] + end]
        else:
            word = argument[0].strip() + end
            if current and 8 + len(current) + 1 + len(word) > 119:
                lines.append(f"        {current}")
                current = ""
            current += f"{' ' if current else ''}{word}"
    if current:
        lines.append(f"        {current}")
    lines[-1] += "),"
    return lines


def other_lines(root, place, name, kind, problems):
    if kind == "C":
        return [f'    [.target(name: "{name}", path: "{place}")],']
    modules = used(root, place, name.replace("-", "_"), problems)
    modules.discard("RemoteSettingsModel")
    arguments = [[f'        "{name}"']] + ([] if kind.startswith("lab") else [[f'        at: "{place}"']])
    if modules:
        arguments.append(listed(order(modules), "        ", "uses: "))
    if kind == "lab target":
        arguments.append(["        as: .regular"])
    if kind == "program":
        arguments.append(["        as: .executable"])
    if "tests" in kind:
        arguments.append(["        as: .test"])
    return call("    lab(" if kind.startswith("lab") else "    target(", arguments)


def text(root, problems):
    template = (pathlib.Path(__file__).parent / "texts/Package.swift").read_text()
    floors = []
    for floor in plan.FLOORS[1:]:
        lines = [f"    // MARK: {FLOOR_TEXTS[floor]}"]
        for place in ORDER:
            name = place.rpartition("/")[2]
            if not place.startswith(f"Sources/{floor}/") or not (root / place).is_dir():
                continue
            if name == "EmbeddedFirefoxDumps":
                lines.append(f'    [.target(name: "{name}", path: "{place}")],')
            else:
                lines += room_lines(root, place, problems)
        floors.append("\n".join(lines))
    lab = [line for place, name, kind in OTHERS if kind.startswith("lab") and (root / place).is_dir()
           for line in other_lines(root, place, name, kind, problems)]
    examples = [line for place, name, kind in OTHERS if not kind.startswith("lab") and (root / place).is_dir()
                and (place.startswith("Examples") or place.endswith("FaultyServer"))
                for line in other_lines(root, place, name, kind, problems)]
    # Which modules of the server are imported at all.
    imported = {module for folder in targets(root) for module in imports(root, folder)}
    server = {module: package for module, package in plan.SERVER_MODULES.items() if module in imported}
    needed = set(server.values()) | set(plan.MODULES_OF_PACKAGES.values())
    result = template
    result = result.replace("FLOORS\n", "\n\n".join(floors) + "\n")
    result = result.replace("LAB\n", "\n".join(lab) + "\n").replace("EXAMPLES\n", "\n".join(examples) + "\n")
    result = result.replace("SERVER_MODULES\n", wrapped(
        dict(sorted(server.items()))) + "\n")
    result = re.sub(r"^ *\.package\(url: \"[^\"]*/([\w-]+?)(?:\.git)?\".*\n",
                    lambda found: found[0] if found[1] in needed else "", result, flags=re.MULTILINE)
    for place in ("CLZ4", "CYAML", "CArchive", "CCurl", "CThreads", "CMappedFaults"):
        if not (root / f"Sources/C/{place}").is_dir():
            result = re.sub(rf'^    \.(?:systemLibrary|target)\(\s*name: "{place}".*?\n(?=    \.|\])', "", result,
                            flags=re.MULTILINE | re.DOTALL)
    return result


def wrapped(pairs):
    lines, current = [], ""
    for module, package in pairs.items():
        word = f'"{module}": "{package}",'
        if current and 4 + len(current) + 1 + len(word) > 119:
            lines.append(f"    {current}")
            current = ""
        current += f"{' ' if current else ''}{word}"
    return "\n".join([*lines, f"    {current}"])
