#!/usr/bin/env python3
"""Checks that what an app links needs neither libarchive nor NIO nor any other tool-side package.

First by the manifest: everything that a runtime-side target depends on, directly or not. Then by the build: no object
file of a runtime-side target refers to a symbol of libarchive or of NIO. And, for all targets: what is declared as a
dependency is imported somewhere in the target; the build itself refuses the reverse.
"""
import json
import pathlib
import re
import subprocess
import sys

RUNTIME = {
    "CZlib", "CCurl", "CPlatform", "RemoteSettingsModel", "SnapshotBundle", "TargetFilter", "RemoteSettingsHTTP",
    "CurlTransport", "URLSessionTransport", "RemoteSettings", "MozillaBinding", "RemoteSettingsBlocking", "ConfigParameters", "RemoteConfiguration",
}
ALLOWED_PRODUCTS = {"X509", "SwiftASN1", "Crypto", "Logging"}
NOT_IMPORTED = {"test-process"}  # what tests start
IMPORT = re.compile(r"^ *(?:@\w+(?:\([^)]*\))? +)*(?:public |package |internal |private )?"
                    r"import (?:struct |class |enum |func |protocol |typealias |let |var )?(\w+)", re.MULTILINE)
FORBIDDEN_SYMBOL = re.compile(r"^(archive_\w+|yaml_\w+|\$s\d+NIO\w*|\$s\d+AsyncHTTPClient\w*)$")


def dependencies(target):
    """The names of the targets and products that a target depends on, in two sets."""
    targets, products = set(), set()
    for dependency in target["dependencies"]:
        (kind, value), = ((k, v) for k, v in dependency.items())
        (products if kind == "product" else targets).add(value[0])
    return targets, products


def manifest_problems(package):
    for target in package["targets"]:
        if target["name"] not in RUNTIME or target["type"] == "test":
            continue
        targets, products = dependencies(target)
        for name in sorted(targets - RUNTIME):
            yield f"{target['name']} depends on the target {name}, which is not one of the runtime's"
        for name in sorted(products - ALLOWED_PRODUCTS):
            yield f"{target['name']} depends on the product {name}, which is not one that an app may come to link"


def unused_dependencies(package):
    for target in package["targets"]:
        sources = pathlib.Path(target.get("path") or f"Tests/{target['name']}").rglob("*.swift")
        imported = {name for source in sources for name in IMPORT.findall(source.read_text())}
        targets, products = dependencies(target)
        for name in sorted((targets | products) - imported - NOT_IMPORTED):
            yield f"{target['name']} declares the dependency {name} and imports it nowhere"


def object_problems(objects):
    listing = subprocess.run(["nm", "-A", "--undefined-only", *objects], check=True, capture_output=True, text=True)
    for line in listing.stdout.splitlines():
        path, symbol = line.split(":", 1)[0], line.split()[-1]
        if FORBIDDEN_SYMBOL.match(symbol):
            yield f"{path} refers to {symbol}"


def main():
    dump = subprocess.run(["swift", "package", "dump-package"], check=True, capture_output=True, text=True)
    package = json.loads(dump.stdout)
    problems = [*manifest_problems(package), *unused_dependencies(package)]
    names = sorted(t["name"] for t in package["targets"] if t["name"] in RUNTIME and t["type"] != "system")
    objects = []
    for name in names:
        found = sorted(str(path) for path in pathlib.Path(".build/debug", f"{name}.build").rglob("*.o"))
        if not found:
            problems.append(f"{name} has no object files under .build/debug: build first")
        objects += found
    if objects:
        problems += object_problems(objects)
    for problem in problems:
        print(f"check linkage: {problem}")
    print(f"check linkage: {len(names)} targets, {len(objects)} object files, {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
