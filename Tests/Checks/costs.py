#!/usr/bin/env python3
"""scripts/check costs: prints the two tables of ARCHITECTURE.md that say what the package and each feature cost.

A line counts if it is neither empty nor only a comment. A file belongs to the feature that names it most closely, so that no line
counts twice. A Swift file, a C file or a test that belongs to none is an error: a new room gets its place here.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = {".swift", ".c", ".h", ".py", ".mjs"}
I = "Tests/Integration/"
# What a feature is, who uses it, its code, its tests. Paths are files, folders, or the beginnings of names.
FEATURES = [
    ("catalogues", "apps and jobs that want states which belong together", [
        "Sources/Format/SnapshotTrust/Catalogue", "Sources/Library/RemoteSettings/Catalogue", "Sources/Library/RemoteSettings/API/CatalogueStatus",
        "Sources/Library/RemoteSettings/API/RemoteSettingsService+Catalogue", "Sources/Tool/DumpsRefresh/Catalogue",
        "Sources/Format/Dumps/Directory/DumpsDirectory+Catalogue", "Sources/Format/Dumps/Verify/CatalogueVerification",
        "Sources/Publish/Publish/NextCatalogue", "Sources/Library/RemoteSettingsTesting/InMemoryOrigin/OriginTransport+Catalogue"], [
        "Tests/Format/SnapshotTrustTests/Catalogue", "Tests/Library/RemoteSettingsTests/CatalogueReadTests", "Tests/Library/RemoteSettingsTests/SubstitutionTests",
        "Tests/Library/RemoteConfigurationTests/CatalogueReadTests", "Tests/Publish/PublishTests/PublishedCatalogueTests", "Tests/Lab/catalogue-process",
        I + "test_catalogues", I + "test_catalogue_kill"]),
    ("real time: event streams, `--on-change`", "apps and mirrors that follow within seconds", [
        "Sources/Network/RemoteSettingsHTTP/Updates", "Sources/Network/RemoteSettingsHTTP/Updates", "Sources/Library/RemoteSettings/Updates",
        "Sources/Library/RemoteSettings/API/RemoteSettingsService+Updates", "Sources/Library/RemoteSettings/API/UpdatePolicy",
        "Sources/Server/SnapshotServer/Updates", "Sources/Tool/DumpsRefresh/OnChange",
        "Sources/Network/RemoteSettingsHTTP/UpdateStream",
        "Sources/Library/RemoteSettingsTesting/InMemoryOrigin/ScriptedUpdates"], [
        "Tests/Network/RemoteSettingsHTTPTests/Updates", "Tests/Network/RemoteSettingsHTTPTests/Updates", "Tests/Tool/DumpsRefreshTests/OnChange",
        "Tests/Library/RemoteSettingsTests/UpdateChannelTests", "Tests/Library/RemoteSettingsTests/UpdateFaultTests",
        "Tests/Server/SnapshotServerTests/UpdateTests", "Tests/Network/RemoteSettingsHTTPTests/UpdateStreamTests",
        "Tests/Library/RemoteConfigurationTests/RealTimeTests",
        I + "updates", I + "test_on_change",
        I + "trusting", I + "test_real_time", I + "test_serve_updates", I + "test_updates_nchan", "Tests/Firefox"]),
    ("remote config", "apps with parameters, values and conditions", [
        "Sources/Library/RemoteConfiguration", "Sources/Library/RemoteSettingsConfiguration", "Examples/FlagServer", "Sources/Library/ConfigParameters", "Sources/Library/ConfigParameters/DefaultsFiles", "Examples/ConfigExample",
        "Examples/SampleApp"], [
        "Tests/Library/RemoteConfigurationTests", "Tests/Library/RemoteSettingsConfigurationTests", I + "test_flag_server", "Tests/Library/ConfigParametersTests", "Tests/Library/ConfigParametersTests/DefaultsFiles", "Tests/Lab/config-process",
        "Tests/ConfigConsumer", "Tests/Checks/config_consumer", "Examples/SampleApp/Tests", I + "test_config_"]),
    ("moving from Firebase: templates, conditions, in-app defaults", "teams that leave Firebase",
     ["Sources/Publish/Publish/FirebaseFormats"], ["Tests/Publish/PublishTests/FirebaseFormats"]),
    ("publishing: sources, schemas, keys, signing", "teams with settings of their own", [
        "Sources/Publish/Publish", "Sources/Publish/SigningKeys", "Sources/Format/ContentSigning", "Sources/Publish/Publish/CollectionSources", "Sources/Format/Dumps/Guards", "Sources/Format/Dumps"], [
        "Tests/Publish/PublishTests", "Tests/Publish/SigningKeysTests", "Tests/Publish/PublishTests/CollectionSources", "Tests/Format/DumpsTests/Guards",
        I + "test_publish", I + "test_schemas", I + "publishing", I + "test_review", I + "test_signing_programs"]),
    ("the library: `getRecords`, cache, sync, attachments", "apps", [
        "Sources/Library/RemoteSettings", "Sources/Library/FirefoxDumps", "Sources/Library/EmbeddedFirefoxDumps", "Examples/OfflineExample"], [
        "Tests/Library/RemoteSettingsTests", "Tests/Lab/storage-process", I + "test_library_commands", I + "test_shared_storage",
        I + "test_start_pages", I + "test_snippets", "Tests/Snippets", "Tests/Checks/consumer"]),
    ("the blocking API of Mozilla's binding", "apps that move over from Mozilla's component", [
        "Sources/Library/RemoteSettingsBlocking"], [
        "Tests/Library/RemoteSettingsTests/Blocking", "Tests/Library/RemoteSettingsTests/BindingNames",
        "Tests/Library/RemoteSettingsTests/MovingOver", "Tests/Library/RemoteSettingsTests/MozillaClient", "Tests/Lab/blocking-process"]),
    ("a server in memory, for apps' tests", "the tests of apps, and our own", [
        "Sources/Library/RemoteSettingsTesting/InMemoryOrigin", "Sources/Library/RemoteSettingsTesting", "Examples/TestedApp"], []),
    ("Apple systems: a transport, locks, a check without a Mac", "apps on iOS and macOS", [
        "Sources/Network/URLSessionTransport", "Sources/Format/RemoteSettingsModel/Locks"], [
        "Tests/Network/URLSessionTransportTests", "Tests/AppleSystems", "Tests/Checks/apple"]),
    ("libcurl as a transport", "the tool, apps on Linux", ["Sources/Network/CurlTransport", "Sources/C/CCurl", "Sources/C/CZstd"], [
        "Tests/Network/CurlTransportTests", I + "test_http2_refresh"]),
    ("the filter language", "every reader of records with filters", ["Sources/Format/TargetFilter"], ["Tests/Format/TargetFilterTests"]),
    ("`serve`: the protocol, history, HTTP limits", "tests, sites without network, mirrors", [
        "Sources/Network/SnapshotOrigin", "Sources/Server/SnapshotServer", "Sources/C/CMappedFaults"], [
        "Tests/Network/SnapshotOriginTests", "Tests/Server/SnapshotServerTests", I + "test_serve", I + "serve", I + "test_server_faults",
        I + "readers", I + "test_readers", I + "test_origin"]),
    ("the page for people", "whoever looks at what is served", ["Sources/Server/SnapshotServer/Page"], [
        "Tests/Server/SnapshotServerTests/Page", I + "test_page", I + "browser"]),
    ("a static mirror", "sites that serve files, or a bucket", ["Sources/Server/StaticMirror"], [
        "Tests/Server/StaticMirrorTests", I + "test_mirror", I + "mirror", I + "nginx_examples", I + "test_upload", I + "store"]),
    ("import, export, archives, embedding", "packagers, Mozilla's trees", [
        "Sources/Tool/DumpsExchange", "Sources/C/CArchive"], [
        "Tests/Tool/DumpsExchangeTests", I + "test_import", I + "test_export", I + "test_embed"]),
    ("pins, history, differences, budgets", "release engineers", [
        "Sources/Format/Dumps/Diff", "Sources/Format/Dumps/History", "Sources/Tool/DumpsRefresh/Pins", "Sources/Tool/DumpsRefresh/Budget",
        "Sources/Format/Dumps/Configuration/Pin", "Sources/Format/Dumps/Configuration/ConfigurationEditor+Pin",
        "Sources/Format/Dumps/Configuration/Budget"], [
        "Tests/Format/DumpsTests/Diff", "Tests/Format/DumpsTests/History", "Tests/Tool/DumpsRefreshTests/Pin", I + "test_diff",
        I + "test_pins", I + "test_budgets", I + "git"]),
    ("refresh, verify, the dumps directory", "the nightly job", [
        "Sources/Tool/DumpsRefresh", "Sources/Format/Dumps", "Sources/Format/Dumps/AuthoredText", "Sources/C/CYAML"], [
        "Tests/Tool/DumpsRefreshTests", "Tests/Format/DumpsTests", I + "test_refresh", I + "test_changes", I + "test_attachments",
        I + "test_faults", I + "test_kill", I + "test_locked", I + "test_links", I + "test_servers", I + "test_machines",
        I + "test_nightly", I + "nightly", I + "gh", I + "dumps", I + "test_models", I + "test_week", I + "weeks",
        I + "test_foreign_programs"]),
    ("bundles and the lock file", "everything", ["Sources/Format/SnapshotBundle", "Sources/Format/RemoteSettingsModel/Compression", "Sources/C/CZlib"], [
        "Tests/Format/SnapshotBundleTests", "Tests/Format/RemoteSettingsModelTests/Compression"]),
    ("verification: chains and signatures", "everything", ["Sources/Format/SnapshotTrust"], ["Tests/Format/SnapshotTrustTests"]),
    ("the protocol", "everything", [
        "Sources/Network/RemoteSettingsHTTP", "Sources/Network/RemoteSettingsHTTP/Fetch"], [
        "Tests/Network/RemoteSettingsHTTPTests", "Tests/Network/FaultyServer"]),
    ("records, canonical JSON, files, threads", "everything", [
        "Sources/Format/RemoteSettingsModel", "Sources/Format/SnapshotBundle/FileStorage", "Sources/Format/RemoteSettingsModel", "Sources/Network/RemoteSettingsHTTP", "Sources/C/CThreads"], [
        "Tests/Format/RemoteSettingsModelTests", "Tests/Format/SnapshotBundleTests/FileStorage"]),
    ("the commands: options, help, reports", "everybody at a terminal", ["Sources/Tool/rsdump", "Plugins"], [
        I + "test_commands", I + "rsdump", I + "json_shape", I + "git_tree", I + "conftest", "Tests/Promises",
        "Tests/Checks/promises", I + "test_promises", "Tests/Packages"]),
    ("shared by all: fuzzers, faults, soak, benchmarks, other checks", "maintainers", [], [
        "Tests/Lab", "Tests/Comparisons", "Tests/Faults", "Tests/Benchmark", "Tests/Models",
        "Tests/Sanitizers", "Tests/Servers", "Tests/Checks", "Tests/Documentation", I + "test_machine_faults",
        I + "test_soak", I + "test_documents", "Tests/Integration"]),
]


def lines(path):
    """The lines of a file that are neither empty nor only a comment. A Python docstring counts: it is short."""
    mark = "#" if path.suffix == ".py" else "//"
    stripped = (line.strip() for line in path.read_text(errors="replace").splitlines())
    return sum(1 for line in stripped if line and not line.startswith((mark, "/*", "* ")))


def owner(path):
    """The feature with the longest path that the file's begins with, and whether the file is a test."""
    found = [(len(start), index, kind) for index, feature in enumerate(FEATURES) for kind in (0, 1)
             for start in feature[2 + kind] if path == start or path.startswith(start.rstrip("/") + "/")
             or (path.startswith(start) and "/" not in path[len(start):] and path.rpartition("/")[0] == start.rpartition("/")[0])]
    return max(found, key=lambda each: each[0])[1:] if found else None


# What these were at 1cf70e2, before the floors, counted alike; what they are to be.
BEFORE = {
    "targets of the package": ("106", "≤ 70"),
    "lines of `Package.swift`": ("612", "≤ 250"),
    "rooms; edges among them; with those to `C`": ("46; 231; 253", "≤ 110 edges"),
    "lines of code; of tests": ("50,881; 50,221", "≤ 42,000; ≤ 38,000"),
    "closure of `RemoteSettings`: rooms; lines": ("17; 20,481", ""),
    "commands; options": ("33; 159", "≤ 24; ≤ 110"),
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



def main():
    counts = [[0, 0] for _ in FEATURES]
    strays = []
    for folder in ("Sources", "Tests", "Examples", "Plugins"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix not in SUFFIXES or not path.is_file() or ".build" in path.parts:
                continue
            name = str(path.relative_to(ROOT))
            found = owner(name)
            if found:
                counts[found[0]][found[1]] += lines(path)
            else:
                strays.append(name)
    code, tests = (sum(count[kind] for count in counts) for kind in (0, 1))
    print("| | 1cf70e2 | now | goal |\n| --- | ---: | ---: | ---: |")
    for name, before, now, goal in figures(code, tests):
        print(f"| {name} | {before} | {now} | {goal} |")
    print()
    print("| feature | who uses it | code | tests | tests per line of code |\n| --- | --- | ---: | ---: | ---: |")
    order = sorted(range(len(FEATURES)), key=lambda index: -counts[index][0])
    for index in order:
        code, tests = counts[index]
        print(f"| {FEATURES[index][0]} | {FEATURES[index][1]} | {code:,} | {tests:,} | {f'{tests / code:.1f}' if code else ''} |")
    code, tests = (sum(count[kind] for count in counts) for kind in (0, 1))
    print(f"| all | | {code:,} | {tests:,} | {tests / code:.1f} |")
    for name in strays:
        print(f"check costs: {name} belongs to no feature; name it in Tests/Checks/costs.py", file=sys.stderr)
    sys.exit(1 if strays else 0)


if __name__ == "__main__":
    main()
