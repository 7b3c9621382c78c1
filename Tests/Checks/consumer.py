#!/usr/bin/env python3
"""scripts/check consumer: tests an app that depends on this package without its tool.

A copy of Examples/OfflineExample in a temporary directory depends on this package by path, with `traits: []`. Then:
  - no package that only the tool needs is resolved or fetched, and there are at most four direct dependencies;
  - it builds against the library product;
  - the program needs no shared library and no symbol of libarchive, libyaml, NIO, AsyncHTTPClient or ArgumentParser, and
    loads libcurl only for its first request;
  - moved alone into an empty directory, and without a network (if permitted), it prints its records.
The tests of a copy of Examples/TestedApp, with the product RemoteSettingsTesting, also pass without a network, and leave no
file.

A copy of Tests/ConfigConsumer uses remote config. Each of its programs is one main.swift with exactly the lines of a start page
of the documentation, and runs in a directory prepared by the page's commands. Types with the same names as the library's, and an
older binding, compile next to them in both language modes.

The build is kept in .build-consumer. Set RSDUMP to use a tool other than .build/debug/rsdump.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = ROOT / ".build-consumer"
RSDUMP = os.path.realpath(os.environ.get("RSDUMP", ROOT / ".build/debug/rsdump"))
PAGES = ROOT / "Sources/Tool/rsdump/Documentation.docc"
TOOL_PACKAGES = {
    "swift-argument-parser", "swift-subprocess", "swift-nio", "swift-nio-ssl", "swift-nio-http2", "swift-nio-extras",
    "swift-nio-transport-services", "async-http-client", "swift-http-types", "hummingbird", "swift-service-lifecycle",
}
MOST_DIRECT = 4  # crypto, certificates, asn1, log
TOOL_SYMBOL = re.compile(r"^(archive_\w+|yaml_\w+|\$s\d+(NIO|AsyncHTTPClient|ArgumentParser)\w*)$")
# The output of a start page's program without a network. The last line is only compared up to its beginning.
START_PAGES = {
    "StartApp": ("start-app", ["au Australia", "br Brazil", "ch Switzerland", "in India", "jp Japan", "ke Kenya", "no Norway",
                               "nowhere Nowhere", "not synced: "]),
    "StartPublish": ("start-publish", ["Good morning packaged", "24 packaged", "not fetched: "]),
}


def swift(command, *arguments, package):
    full = ["swift", command, "--package-path", package, "--scratch-path", SCRATCH, *arguments]
    return subprocess.run(list(map(str, full)), check=True, stdout=subprocess.PIPE, text=True).stdout


def build(package, *arguments):
    """Builds a package, and returns the folder of its programs."""
    # No debug information. The index is kept, because XCTest needs it to find tests, and other flags would build everything twice.
    swift("build", *arguments, "-debug-info-format", "none", package=package)
    return pathlib.Path(swift("build", "--show-bin-path", package=package).strip())


def make_consumer(folder, example):
    package = folder / pathlib.Path(example).name
    ignored = shutil.ignore_patterns(".build*", ".swiftpm", "Package.resolved")
    shutil.copytree(ROOT / example, package, ignore=ignored)
    manifest = package / "Package.swift"
    text = manifest.read_text()
    changed = text.replace('path: "../.."', f'path: "{ROOT}"')
    if changed == text:
        raise SystemExit(f"check consumer: the manifest of {example} does not name this package as expected")
    manifest.write_text(changed)
    return package


def identities(node):
    yield node["identity"]
    for each in node["dependencies"]:
        yield from identities(each)


def dependency_problems(package):
    tree = json.loads(swift("package", "show-dependencies", "--format", "json", package=package))
    found = set(identities(tree)) - {tree["identity"]}
    # This package's dependencies, as SwiftPM resolves them for the consumer.
    count = len({each["identity"] for own in tree["dependencies"] for each in own["dependencies"]})
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


def lines_alone(program, folder):
    """The output of a program in a folder, after the program is moved alone into an empty folder below it."""
    empty = folder / f"{program.name}-alone"
    empty.mkdir()
    command = without_network([shutil.copy2(program, empty)])
    ended = subprocess.run(command, cwd=folder, env={}, capture_output=True, text=True)
    return ended.stdout.splitlines() + ([f"ended with {ended.returncode}: {ended.stderr}"] if ended.returncode else [])


def offline_example_problems(folder):
    package = make_consumer(folder, "Examples/OfflineExample")
    yield from dependency_problems(package)
    program = build(package) / "offline-example"
    yield from linkage_problems(program)
    printed = lines_alone(program, made(folder / "offline"))
    print("\n".join(printed[:3]))
    counts = dict(re.findall(r"^([\w-]+): (\d+) records", "\n".join(printed), re.MULTILINE))
    if len(counts) != 2 or "0" in counts.values() or printed[-1].startswith("ended with"):
        yield f"the program, moved alone, printed {printed}"


def tested_app_problems(folder):
    """Builds and runs an app's tests, those for Swift Testing and those for XCTest."""
    package = make_consumer(folder, "Examples/TestedApp")
    yield from dependency_problems(package)
    tests = build(package, "--build-tests") / "TestedAppPackageTests.xctest"
    place = made(folder / "tests")
    for library, count in (("swift-testing", r"Test run with (\d+) tests?.* passed after ([\d.]+) seconds"),
                           ("xctest", r"Executed (\d+) tests?, with 0 failures .* in ([\d.]+)")):
        arguments = ["--testing-library", library] if library == "swift-testing" else []
        # timeout(1) stops a hanging test, and its output is shown.
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


def fenced(page, language):
    """A start page's code blocks in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", (PAGES / f"{page}.md").read_text(), re.MULTILINE | re.DOTALL)


def made(place):
    place.mkdir()
    return place


def config_problems(folder):
    package = make_consumer(folder, "Tests/ConfigConsumer")
    for page, (name, _) in START_PAGES.items():
        # A further block that begins with imports is a separate program, which test_snippets compiles.
        first, *others = fenced(page, "swift")
        source = made(package / "Sources" / name) / "main.swift"
        source.write_text("\n".join([first, *(block for block in others if not block.startswith("import "))]))
    shutil.copytree(package / "Sources/moved", package / "Sources/moved-swift5")
    programs = build(package)
    # At most ten lines, nothing optional, no network: in a main.swift and in an actor.
    sources = [path.read_text() for path in (ROOT / "Tests/ConfigConsumer/Sources/first").iterdir()]
    records = json.loads((ROOT / "dumps/dumps.lock.json").read_text())["collections"]["main/password-rules"]["records"]
    printed = lines_alone(programs / "first", made(folder / "first"))
    if any(len(text.splitlines()) > 10 or "?" in text for text in sources) or len(printed) != 3 or printed[2] != str(records):
        yield f"the first program: expected at most ten lines without ?, and its records, printed {printed}"
    tools = made(folder / "bin")
    (tools / "rsdump").symlink_to(RSDUMP)
    for page, (name, expected) in START_PAGES.items():
        place = made(folder / page)
        subprocess.run(
            ["bash", "-c", "set -e -o pipefail\n" + "\n".join(fenced(page, "shell"))], cwd=place, check=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"})
        # The first start: nothing was ever synced.
        shutil.rmtree(place / "storage", ignore_errors=True)
        printed = lines_alone(programs / name, place)
        if len(printed) != len(expected) or printed[:-1] != expected[:-1] or not printed[-1].startswith(expected[-1]):
            yield f"{page}: expected {expected}, printed {printed}"


def main():
    if not os.access(RSDUMP, os.X_OK):
        raise SystemExit(f"check consumer: there is no {RSDUMP}; swift build --product rsdump makes it")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        problems = [*offline_example_problems(folder), *tested_app_problems(folder), *config_problems(folder)]
    for problem in problems:
        print(f"check consumer: {problem}")
    print(f"check consumer: {len(problems)} problems")
    sys.exit(1 if problems else 0)


main()
