# What these were at 1cf70e2, before the floors, counted alike; what they are to be.
BEFORE = {
    "targets of the package": ("106", "≤ 70"),
    "lines of `Package.swift`": ("612", "≤ 250"),
    "rooms; edges among them; with those to `C`": ("46; 231; 253", "≤ 110 edges"),
    "lines of code; of tests": ("50,881; 50,221", "≤ 42,000; ≤ 38,000"),
    "closure of `RemoteSettings`: rooms; lines": ("17; 20,481", ""),
    "commands; options": ("33; 159", "≤ 27; ≤ 120"),
}


def manifest():
    """Package.swift as SwiftPM reads it. The scratch path is another one, so that no build is waited for."""
    with tempfile.TemporaryDirectory() as scratch:
        dump = subprocess.run(["swift", "package", "--scratch-path", scratch, "dump-package"],
                              cwd=ROOT, check=True, capture_output=True, text=True)
    return {target["name"]: target for target in json.loads(dump.stdout)["targets"]}


def used(target):
    """The package's own targets that a target uses."""
    return [value[0] for dependency in target["dependencies"] for kind, value in dependency.items() if kind != "product"]


def figures(code, tests):
    """Each figure with what it was, what it is and what it is to be."""
    targets = manifest()
    rooms = {name for name, target in targets.items() if re.match(r"Sources/(?!C/)", target["path"])}
    edges = [other for name in rooms for other in used(targets[name])]
    closure, waiting = set(), ["RemoteSettings"]
    while waiting:
        name = waiting.pop()
        if name not in closure:
            closure.add(name)
            waiting += used(targets[name])
    inside = sum(lines(path) for name in closure for path in (ROOT / targets[name]["path"]).rglob("*") if path.suffix in SUFFIXES)
    helps = re.split(r"^== ", (ROOT / "Tests/Promises/help.txt").read_text(), flags=re.MULTILINE)[1:]
    commands = sum("SUBCOMMANDS:" not in text for text in helps)
    program = "".join(path.read_text() for path in (ROOT / targets["rsdump"]["path"]).rglob("*.swift"))
    options = len(re.findall(r"@(?:Option|Flag|Argument)\b", program))
    found = [
        f"{len(targets)}", f"{(ROOT / 'Package.swift').read_text().count(chr(10))}",
        f"{len(rooms)}; {sum(other in rooms for other in edges)}; {len(edges)}", f"{code:,}; {tests:,}",
        f"{len(closure & rooms)}; {inside:,}", f"{commands}; {options}",
    ]
    return [(name, before, now, goal) for (name, (before, goal)), now in zip(BEFORE.items(), found, strict=True)]

