"""Measures how many bytes of code and data the package adds to an app, by target.

    size.py    builds two programs with -Osize in .build-size, and prints tables in Markdown

The programs are rsbench-app (the product RemoteSettings: reads, attachments, a sync) and config-example (RemoteConfiguration).
They are built without the tool's dependencies and with shared Swift libraries, as on Apple systems, and the linker removes dead
code. The sums are those of the sections in the linker's map, by object file. Parts of the file that belong to no object (unwind
tables, relocations, names for the dynamic linker) have a separate row.
"""
import collections
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = {"rsbench-app": "RemoteSettings", "config-example": "RemoteConfiguration"}
# Zero-initialized memory is not in the file.
ZEROS = {".bss", ".tbss"}


def sections(lines):
    """Parses a map of GNU gold: yields the output section, size and input of each part that is in the program's file."""
    output, is_loaded, name, began = None, False, None, False
    for line in lines:
        began = began or line.startswith("Memory map")
        if not began or not line.strip():
            continue
        place = re.search(r"\s(0x[0-9a-f]{16})\s+(0x[0-9a-f]+)(?:\s+(\S.*))?$", line)
        if not line.startswith(" "):
            output, is_loaded, name = line.split()[0], None, None
        elif not place:
            name = line.strip()
            continue
        if not place:
            continue
        if is_loaded is None:
            # Sections without an address, such as debug information, are not loaded.
            is_loaded = int(place[1], 16) != 0
        elif is_loaded and output not in ZEROS:
            own = line[:place.start()].strip() or name
            yield output, int(place[2], 16), place[3] or own
        name = None


def owner(source):
    """The target or the library of an input; `None` if the linker created it."""
    target = re.search(r"/release/([^/]+)\.build/", source)
    library = re.search(r"/lib([^/]+)\.a\(", source)
    return target[1] if target else f"lib{library[1]}" if library else None


def sizes(path):
    """Bytes by target and library; "linker" is the rest."""
    found = collections.Counter()
    with open(path, encoding="utf-8", errors="replace") as lines:
        for _, count, source in sections(line.rstrip("\n") for line in lines):
            found[owner(source) or "linker"] += count
    return found


def package(target, checkouts):
    """The package of a target; `None` for Swift's own libraries and for the linker."""
    if any(ROOT.glob(f"Sources/*/{target}")):
        return "this package"
    return next((each.parent.parent.name for each in checkouts.glob(f"*/Sources/{target}")), None)


def megabytes(count):
    return f"{count / 1e6:.2f}"


def build(product, options, scratch=".build"):
    """Builds a product, and returns the program and its map."""
    # Changing the linker's flags does not rebuild targets.
    maps = ROOT / scratch / "size"
    maps.mkdir(parents=True, exist_ok=True)
    path = maps / f"{product}.map"
    command = ["swift", "build", "--configuration", "release", "--scratch-path", scratch, *options]

    def run(*more):
        ended = subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True)
        if ended.returncode != 0:
            raise SystemExit(f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout[-3000:]}{ended.stderr[-3000:]}")
        return ended.stdout
    program = pathlib.Path(run("--show-bin-path").strip().splitlines()[-1]) / product
    if not path.exists():
        # The map is written only when the program is linked.
        program.unlink(missing_ok=True)
    run("--product", product, "-Xlinker", f"-Map={path}")
    return program, path


def stripped(program, folder):
    target = pathlib.Path(folder) / pathlib.Path(program).name
    subprocess.run(["strip", "-o", target, program], check=True)
    return target.stat().st_size


def empty(folder):
    """The size of an empty program with the same flags."""
    source = pathlib.Path(folder) / "empty.swift"
    source.write_text("")
    program = pathlib.Path(folder) / "empty"
    subprocess.run(["swiftc", "-Osize", "-wmo", source, "-o", program, "-Xlinker", "--gc-sections", "-Xlinker",
                    "--no-export-dynamic"], check=True)
    return stripped(program, folder)


def main():
    scratch = ".build-size"
    options = ["-Xswiftc", "-Osize", "-Xlinker", "--no-export-dynamic"]
    with tempfile.TemporaryDirectory() as folder:
        nothing = empty(folder)
        tables = {}
        for product in PROGRAMS:
            program, path = build(product, options, scratch)
            tables[product] = stripped(program, folder), sizes(path)
    checkouts = ROOT / scratch / "checkouts"
    packages = {}
    for product, (_, found) in tables.items():
        for target, count in found.items():
            name = package(target, checkouts)
            if name:
                packages.setdefault(name, {}).setdefault(target, {})[product] = count
    print(f"| bytes in the program, MB | {' | '.join(PROGRAMS.values())} |\n| --- |{' --- |' * len(PROGRAMS)}")

    def row(name, values):
        print(f"| {name} | {' | '.join(megabytes(value) for value in values)} |")
    row("a program with it, stripped", [size for size, _ in tables.values()])
    row("an empty program, stripped", [nothing for _ in tables])
    row("**what it adds**", [size - nothing for size, _ in tables.values()])
    for name, targets in sorted(packages.items(), key=lambda each: (each[0] != "this package", each[0])):
        row(f"**{name}**", [sum(each.get(product, 0) for each in targets.values()) for product in PROGRAMS])
        for target, counts in sorted(targets.items(), key=lambda each: -max(each[1].values())):
            if max(counts.values()) >= 50_000:
                row(f"{target}", [counts.get(product, 0) for product in PROGRAMS])
    row("unwinding, relocations, names", [found["linker"] for _, found in tables.values()])


if __name__ == "__main__":
    main()
