#!/usr/bin/env python3
"""Type-checks every target on Linux as an Apple system would compile it; needs the debug build.

usage: scripts/check apple [TARGET...]

A copy of the sources cannot import modules that Apple systems lack (Glibc, FoundationEssentials, FoundationNetworking).
Tests/AppleSystems/Modules contains stand-ins for Darwin, Foundation, Network, os, SwiftUI and others. Each target uses its flags
from the debug build: strict memory safety, warnings as errors. An unchanged target that has passed is not compiled again. With
TARGET, only these targets and their imports are checked.

A target's privacy manifest must declare exactly the calls for which Apple requires a reason.

The check does not detect wrong stand-ins, the availability of APIs, or faults in linking and behavior: see
Tests/AppleSystems/README.md.
"""
import concurrent.futures
import graphlib
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / ".build/debug"
PLACE = ROOT / ".build/apple"
STANDINS = ROOT / "Tests/AppleSystems/Modules"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "Tests/AppleSystems"))
import privacy  # noqa: E402

TARGET_TRIPLE = "x86_64-unknown-linux-gnu"

# The conditions of branches. They are replaced, because the compiler evaluates them for Linux.
MISSING = re.compile(r"\bcanImport\((?:Glibc|Musl|Android|FoundationEssentials|FoundationNetworking)\)")
SYSTEM = re.compile(r"\bos\((\w+)\)")
CONDITION_LINE = re.compile(r"^\s*#(?:if|elseif)\b.*$", re.MULTILINE)
# The stand-in of Foundation has a different name, because packages that were built on Linux need Linux's Foundation.
BEFORE_IMPORT = r"^(\s*(?:@\S+\s+)*(?:public |package |internal |private )?import "
FOUNDATION = re.compile(BEFORE_IMPORT + r"(?:\w+ )?)Foundation\b", re.MULTILINE)
QUALIFIED = re.compile(r"\bFoundation\.(?=[A-Za-z])")
IMPORT = re.compile(BEFORE_IMPORT + r"(?:(?:struct|class|enum|func|protocol|typealias|let|var) )?)(\w+)", re.MULTILINE)
C_LIBRARY = re.compile(r"^\s*(?:@_exported )?import (?:RemoteSettingsModel|Darwin|AppleFoundation)$", re.MULTILINE)
DROPPED_WITH_VALUE = {
    "-emit-module-path", "-output-file-map", "-index-store-path", "-module-cache-path", "-emit-objc-header-path", "-o",
    "-I", "-target",
}
DROPPED = {
    "-emit-dependencies", "-emit-module", "-incremental", "-c", "-enable-batch-mode", "-serialize-diagnostics", "-j2",
    "-parseable-output", "-emit-objc-header", "-g", "-Onone", "-whole-module-optimization", "-emit-executable",
}


class Target:
    def __init__(self, name, sources, imports, args, system="macOS"):
        self.name, self.sources, self.imports, self.args, self.system = name, sources, imports, args, system

    def copies(self):
        """The paths of the source copies for the compiler."""
        return [PLACE / "sources" / self.system / source.relative_to(ROOT) for source in self.sources]


def dumped():
    """Returns Package.swift as JSON."""
    # A separate scratch path, so that it does not wait for a running build.
    dump = subprocess.run(
        ["swift", "package", "--scratch-path", str(PLACE / "package"), "dump-package"],
        check=True, capture_output=True, text=True, cwd=ROOT)
    return json.loads(dump.stdout)


def targets(package):
    """This package's Swift targets by name, with their flags and imports in the debug build."""
    manifest = ROOT / ".build/debug.yaml"
    if not manifest.exists():
        sys.exit("check apple: there is no debug build; run swift build --build-tests first")
    found, built, inputs = {}, {}, None
    for line in manifest.read_text().splitlines():
        line = line.strip()
        if line.startswith("inputs: ["):
            inputs = json.loads(line.removeprefix("inputs: "))
        elif line.startswith("args: [") and '"-module-name"' in line:
            args = json.loads(line.removeprefix("args: "))
            name = args[args.index("-module-name") + 1]
            # An imported program is listed as the program itself.
            modules = [path.stem.replace("-", "_") for path in map(pathlib.Path, inputs) if path.suffix in ("", ".swiftmodule")]
            built[name] = (modules, flags(args))
    for target in package["targets"]:
        folder = ROOT / (target.get("path") or f"{'Tests' if target['type'] == 'test' else 'Sources'}/{target['name']}")
        name, sources = target["name"].replace("-", "_"), sorted(folder.rglob("*.swift"))
        if target["type"] == "system" or not sources:
            continue
        if name not in built:
            sys.exit(f"check apple: the debug build has no target {target['name']}; run swift build --build-tests")
        found[name] = Target(name, sources, *built[name])
    # The screens of the sample app are not a target on Linux. They differ between systems, so two systems are checked.
    logic = found["SampleAppLogic"]
    for system in ("macOS", "iOS"):
        name = f"SampleApp_{system}"
        flags_of_app = ["SampleApp" if flag == "SampleAppLogic" else flag for flag in logic.args]
        found[name] = Target(
            name, sorted((ROOT / "Examples/SampleApp/App").rglob("*.swift")), [*logic.imports, "SampleAppLogic"],
            flags_of_app, system)
    for target in found.values():
        target.imports = [name for name in target.imports if name in found]
    return found


def flags(args):
    """The flags for the language and C modules in a target's command, without its files."""
    kept, index = [], 1
    while index < len(args):
        argument = args[index]
        if argument in DROPPED_WITH_VALUE:
            index += 2
        elif argument in DROPPED or argument.startswith(("@", "/")):
            index += 1
        elif argument in ("-Xcc", "-Xfrontend", "-module-name", "-package-name", "-swift-version", "-plugin-path"):
            kept += args[index:index + 2]
            index += 2
        else:
            kept.append(argument)
            index += 1
    return kept


def declared_by_darwin():
    """The functions, variables and types in the stand-in for Darwin, each with its kind."""
    text = (STANDINS / "Darwin.swift").read_text()
    found = re.findall(r"^(?:@\S+ )*public (func|var|struct|typealias) (\w+)", text, re.MULTILINE)
    constants = [name for line in re.findall(r"^public let .*", text, re.MULTILINE) for name in re.findall(r"(\w+):", line)]
    return {**{name: kind for kind, name in found}, **dict.fromkeys(constants, "let")}


def translated(source, darwin, system):
    """A source file as an Apple system reads it, with the same line numbers."""
    def condition(line):
        return SYSTEM.sub(lambda match: str(match.group(1) == system).lower(), MISSING.sub("false", line.group()))

    text = CONDITION_LINE.sub(condition, source.read_text())
    text = FOUNDATION.sub(r"\1AppleFoundation", text)
    # Packages that were built on Linux import Glibc; modules that are imported by name take precedence.
    words = sorted(set(re.findall(r"\w+", text)) & set(darwin) - {"stat"})
    named = "".join(f"; import {darwin[word]} Darwin.{word}" for word in words)
    text = C_LIBRARY.sub(lambda line: line.group() + named, text, count=1)
    return QUALIFIED.sub("AppleFoundation.", text)


def write(path, text):
    """Replaces a file if its content differs."""
    if not path.exists() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def digest(*parts):
    hashed = hashlib.sha256()
    for part in parts:
        hashed.update(part if isinstance(part, bytes) else str(part).encode())
        hashed.update(b"\0")
    return hashed.hexdigest()


def compile_module(name, sources, args, output, stamp):
    """Compiles a module, unless an identical one has passed before.

    Returns the compiler's messages, or None if there are none.
    """
    passed = PLACE / f"{name}.passed"
    if passed.exists() and passed.read_text() == stamp and output.exists():
        return None
    passed.unlink(missing_ok=True)
    run = subprocess.run(
        ["swiftc", "-emit-module", "-emit-module-path", str(output), "-whole-module-optimization",
         "-target", TARGET_TRIPLE, "-module-cache-path", str(BUILD / "ModuleCache"), "-I", str(PLACE / "modules"),
         "-I", str(PLACE / "dependencies"), *args, *map(str, sources)],
        capture_output=True, text=True, cwd=ROOT)
    if run.returncode == 0 and not run.stderr.strip():
        passed.write_text(stamp)
        return None
    said = run.stdout + run.stderr
    for prefix in (f"{PLACE}/sources/macOS/", f"{PLACE}/sources/iOS/", f"{ROOT}/"):
        said = said.replace(prefix, "")
    return said or "failed"


def standins():
    """Compiles the stand-ins in dependency order."""
    files = {("AppleFoundation" if path.stem == "Foundation" else path.stem): path for path in STANDINS.glob("*.swift")}
    others = re.compile(r"^(?:@_exported )?import (\w+)", re.MULTILINE)
    imports = {name: sorted(set(others.findall(files[name].read_text())) & set(files)) for name in sorted(files)}
    stamp = ""
    for name in graphlib.TopologicalSorter(imports).static_order():
        stamp = digest(stamp, name, files[name].read_bytes())
        said = compile_module(
            name, [files[name]], ["-module-name", name, "-parse-as-library", "-swift-version", "6"],
            PLACE / f"modules/{name}.swiftmodule", stamp)
        if said:
            sys.exit(f"check apple: the stand-in of {name} does not compile:\n{said}")
    return stamp


def dependencies(own):
    """Gives the compiler the modules of other packages, but not this package's own Linux modules."""
    place = PLACE / "dependencies"
    place.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: path for path in (BUILD / "Modules").glob("*.swiftmodule") if path.stem not in own}
    for link in place.iterdir():
        if link.name not in wanted:
            link.unlink()
    for name, path in wanted.items():
        if not (place / name).is_symlink():
            (place / name).symlink_to(path)


def apps_targets(manifest):
    """The names of the targets that apps link: those of the library products, except the one for tests."""
    targets = {target["name"]: target for target in manifest["targets"]}
    waiting = [name for product in manifest["products"] if "library" in product["type"]
               and product["name"] != "RemoteSettingsTesting" for name in product["targets"]]
    found = set()
    while waiting:
        name = waiting.pop()
        if name in targets and name not in found and name != "CurlTransport":
            found.add(name)
            waiting += [value[0] for dependency in targets[name]["dependencies"] for kind, value in dependency.items()
                        if kind != "product"]
    return found


def privacy_problems(manifest, texts):
    declaring = {target["name"] for target in manifest["targets"] if "PrivacyInfo.xcprivacy" in target["exclude"]}
    places = {target["name"]: ROOT / target["path"] for target in manifest["targets"] if target.get("path")}
    for name in sorted(apps_targets(manifest) & set(texts)):
        yield from privacy.problems(name, places[name], texts[name], declaring)


def main():
    manifest = dumped()
    found = targets(manifest)
    names = sys.argv[1:] or sorted(found)
    for name in names:
        if name not in found:
            sys.exit(f"check apple: there is no target {name} with Swift sources in the debug build")
    wanted, waiting = set(), list(names)
    while waiting:
        name = waiting.pop()
        if name not in wanted:
            wanted.add(name)
            waiting += found[name].imports
    (PLACE / "modules").mkdir(parents=True, exist_ok=True)
    dependencies(set(found))
    base = standins()
    darwin = declared_by_darwin()

    stamps, texts, failed, skipped = {}, {}, [], []

    def check(target):
        if not {*failed, *skipped}.isdisjoint(target.imports):
            skipped.append(target.name)
            return None
        sources = target.copies()
        read = {source: translated(source, darwin, target.system) for source in target.sources}
        for path, text in zip(sources, read.values()):
            write(path, text)
        texts[target.name] = read
        stamps[target.name] = digest(base, *target.args, *read.values(), *(stamps[name] for name in target.imports))
        return compile_module(
            target.name, sources, target.args, PLACE / f"modules/{target.name}.swiftmodule", stamps[target.name])

    running, order = {}, graphlib.TopologicalSorter({name: found[name].imports for name in sorted(wanted)})
    order.prepare()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        while order.is_active():
            running |= {pool.submit(check, found[name]): name for name in order.get_ready()}
            finished, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for future in finished:
                name = running.pop(future)
                said = future.result()
                if said:
                    failed.append(name)
                    print(f"== {name}\n{said}", flush=True)
                order.done(name)
    for name in skipped:
        print(f"check apple: {name} was not checked, because a target that it imports has failed")
    problems = list(privacy_problems(manifest, texts))
    for problem in problems:
        print(problem)
    print(f"check apple: {len(wanted) - len(failed) - len(skipped)} targets pass, {len(failed)} fail; "
          f"{len(problems)} other problems")
    sys.exit(1 if failed or skipped or problems else 0)


main()
