#!/usr/bin/env python3
"""scripts/check consumer: proves what an app gets that depends on this package without its tool.

A copy of Examples/OfflineExample in a temporary directory depends on this package by path, with `traits: []`. Then:
  - no package that only the tool needs is among its dependencies, nor fetched, and there are at most four direct ones;
  - it builds against the library product;
  - the program needs no shared library and no symbol of libarchive, libyaml, NIO, AsyncHTTPClient or ArgumentParser, and
    libcurl only from its first request on;
  - moved alone into an empty directory, and without network where that can be arranged, it prints its records.
So do the tests of a copy of Examples/TestedApp with the product RemoteSettingsTesting: they pass without network, and leave no
file. What is built is kept in .build-consumer, so that the next time is short.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import config_consumer

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = ROOT / ".build-consumer"
TOOL_PACKAGES = {
    "swift-argument-parser", "swift-subprocess", "swift-nio", "swift-nio-ssl", "swift-nio-http2", "swift-nio-extras", "swift-nio-transport-services",
    "async-http-client", "swift-http-types", "hummingbird", "swift-service-lifecycle",
}
MOST_DIRECT = 4  # crypto, certificates, asn1, log
TOOL_SYMBOL = re.compile(r"^(archive_\w+|yaml_\w+|\$s\d+(NIO|AsyncHTTPClient|ArgumentParser)\w*)$")


def swift(*arguments, package, scratch=SCRATCH):
    command = ["swift", arguments[0], "--package-path", package, "--scratch-path", scratch, *arguments[1:]]
    return subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True).stdout


# Nothing is debugged here. The index stays: XCTest's tests are found by it, and other flags would build everything twice.
LEAN = ["-debug-info-format", "none"]


def make_consumer(folder, example):
    package = folder / example
    ignored = shutil.ignore_patterns(".build*", ".swiftpm", "Package.resolved")
    shutil.copytree(ROOT / "Examples" / example, package, ignore=ignored)
    manifest = package / "Package.swift"
    text = manifest.read_text()
    changed = text.replace('path: "../.."', f'path: "{ROOT}"')
    if changed == text:
        raise SystemExit("check consumer: the example's manifest does not name this package as expected")
    manifest.write_text(changed)
    return package


def identities(node):
    yield node["identity"]
    for each in node["dependencies"]:
        yield from identities(each)


def dependencies(package, scratch):
    tree = json.loads(
        swift("package", "show-dependencies", "--format", "json", package=package, scratch=scratch))
    return set(identities(tree)) - {tree["identity"]}


def direct(package):
    """What this package itself depends on, as SwiftPM resolves it for the consumer."""
    tree = json.loads(swift("package", "show-dependencies", "--format", "json", package=package))
    return {each["identity"] for own in tree["dependencies"] for each in own["dependencies"]}


def dependency_problems(package):
    found = dependencies(package, SCRATCH)
    count = len(direct(package))
    if count > MOST_DIRECT:
        yield f"{count} direct packages are resolved, expected at most {MOST_DIRECT}"
    print(f"check consumer: depends on {', '.join(sorted(found))}")
    for name in sorted(found & TOOL_PACKAGES):
        yield f"{name} is a dependency"
    for pin in json.loads((package / "Package.resolved").read_text())["pins"]:
        if pin["identity"] in TOOL_PACKAGES:
            yield f"{pin['identity']} was fetched"


def linkage_problems(program):
    libraries = subprocess.run(["ldd", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    for name in ("libarchive", "libcurl", "libyaml"):
        if name in libraries:
            yield f"the program does not start without {name}"
    symbols = subprocess.run(["nm", program], check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in symbols.splitlines():
        if TOOL_SYMBOL.match(line.split()[-1]):
            yield f"the program has the symbol {line.split()[-1]}"
            return


def without_network(command):
    if subprocess.run(["unshare", "--net", "true"], stderr=subprocess.DEVNULL).returncode == 0:
        return ["unshare", "--net", *command]
    print("check consumer: unshare --net is not permitted here, the network stays on")
    return command


def run_alone(program, folder):
    empty = folder / "empty"
    empty.mkdir()
    moved = shutil.copy2(program, empty)
    ended = subprocess.run(without_network([moved]), cwd=empty, env={}, stdout=subprocess.PIPE, text=True)
    print("\n".join(ended.stdout.splitlines()[:3]))
    counts = dict(re.findall(r"^([\w-]+): (\d+) records", ended.stdout, re.MULTILINE))
    if ended.returncode != 0 or len(counts) != 2 or "0" in counts.values():
        yield f"the program, moved alone, ended with {ended.returncode} and printed {counts or 'no records'}"


def test_problems(folder):
    """Builds and runs an app's tests, those for Swift Testing and those for XCTest."""
    package = make_consumer(folder, "TestedApp")
    yield from dependency_problems(package)
    swift("build", "--build-tests", *LEAN, package=package)
    tests = pathlib.Path(swift("build", "--show-bin-path", package=package).strip()) / "TestedAppPackageTests.xctest"
    place = folder / "tests"
    place.mkdir()
    for library, count in (("swift-testing", r"Test run with (\d+) tests?.* passed after ([\d.]+) seconds"),
                           ("xctest", r"Executed (\d+) tests?, with 0 failures .* in ([\d.]+)")):
        arguments = ["--testing-library", library] if library == "swift-testing" else []
        # timeout(1) ends a test that waits for ever, and what it printed until then is shown.
        ended = subprocess.run(
            ["timeout", "60", *without_network([tests, *arguments])], cwd=place,
            env={"PATH": "/usr/bin:/bin", "TMPDIR": str(place), "HOME": str(place)},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        passed = re.search(count, ended.stdout)
        if ended.returncode != 0 or not passed or passed[1] == "0":
            print(ended.stdout)
            yield f"the tests of Examples/TestedApp for {library} ended with {ended.returncode}"
        else:
            print(f"check consumer: {passed[1]} tests of an app with {library} took {passed[2]} s")
    for left in sorted(place.iterdir()):
        yield f"the tests of Examples/TestedApp left {left.name}"


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        package = make_consumer(folder, "OfflineExample")
        problems = list(dependency_problems(package))
        swift("build", *LEAN, package=package)
        program = pathlib.Path(swift("build", "--show-bin-path", package=package).strip()) / "offline-example"
        problems += linkage_problems(program)
        problems += run_alone(program, folder)
        problems += test_problems(folder)
    for problem in problems:
        print(f"check consumer: {problem}")
    print(f"check consumer: {len(problems)} problems")
    sys.exit(1 if config_consumer.main() or problems else 0)


main()
