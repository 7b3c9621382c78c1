#!/usr/bin/env python3
"""scripts/check costs: prints the table of ARCHITECTURE.md that says what each feature costs, in lines of code and of tests.

A line counts if it is neither empty nor only a comment. A file belongs to the feature that names it most closely, so that no line
counts twice. A Swift file, a C file or a test that belongs to none is an error: a new room gets its place here.
"""
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUFFIXES = {".swift", ".c", ".h", ".py", ".mjs"}
I = "Tests/Integration/"
# What a feature is, who uses it, its code, its tests. Paths are files, folders, or the beginnings of names.
FEATURES = [
    ("releases and their catalogue", "apps and jobs that want states which belong together", [
        "Sources/Catalogue", "Sources/RemoteSettings/Releases", "Sources/RemoteSettings/API/ReleaseStatus",
        "Sources/RemoteSettings/API/RemoteSettingsService+Release", "Sources/DumpsRefresh/Release",
        "Sources/Dumps/Directory/DumpsDirectory+Release", "Sources/Dumps/Verify/ReleaseVerification",
        "Sources/Publish/NextRelease", "Sources/InMemoryOrigin/OriginTransport+Releases"], [
        "Tests/CatalogueTests", "Tests/RemoteSettingsTests/ReleaseTests", "Tests/RemoteSettingsTests/SubstitutionTests",
        "Tests/RemoteConfigurationTests/ReleaseTests", "Tests/PublishTests/ReleaseTests", "Tests/ReleaseProcess",
        I + "test_releases", I + "test_release_kill"]),
    ("real time: event streams, `watch`, `--notify`", "apps and mirrors that follow within seconds", [
        "Sources/UpdateEvents", "Sources/UpdateSchedule", "Sources/RemoteSettings/Updates",
        "Sources/RemoteSettings/API/RemoteSettingsService+Updates", "Sources/RemoteSettings/API/UpdatePolicy",
        "Sources/SnapshotServer/Updates", "Sources/DumpsWatch", "Sources/Notifications",
        "Sources/RemoteSettingsHTTP/UpdateStream", "Sources/RemoteSettingsHTTP/UpdateLoop",
        "Sources/Dumps/Configuration/NotificationTarget",
        "Sources/InMemoryOrigin/ScriptedUpdates"], [
        "Tests/UpdateEventsTests", "Tests/UpdateScheduleTests", "Tests/NotificationsTests",
        "Tests/RemoteSettingsTests/UpdateChannelTests", "Tests/RemoteSettingsTests/UpdateFaultTests",
        "Tests/SnapshotServerTests/UpdateTests", "Tests/RemoteSettingsHTTPTests/UpdateStreamTests",
        "Tests/RemoteConfigurationTests/RealTimeTests",
        I + "updates", I + "watching", I + "test_announcements", I + "test_notify", I + "test_http2_faults",
        I + "trusting", I + "test_real_time", I + "test_serve_updates", I + "test_updates_nchan", I + "test_watch", "Tests/Firefox"]),
    ("remote config", "apps with parameters, values and conditions", [
        "Sources/RemoteConfiguration", "Sources/ConfigParameters", "Sources/DefaultsFiles", "Examples/ConfigExample",
        "Examples/SampleApp"], [
        "Tests/RemoteConfigurationTests", "Tests/ConfigParametersTests", "Tests/DefaultsFilesTests", "Tests/ConfigProcess",
        "Tests/ConfigConsumer", "Tests/Checks/config_consumer", "Examples/SampleApp/Tests", I + "test_config_"]),
    ("moving from Firebase: templates, conditions, in-app defaults", "teams that leave Firebase",
     ["Sources/FirebaseFormats"], ["Tests/FirebaseFormatsTests"]),
    ("publishing: sources, schemas, keys, signing", "teams with settings of their own", [
        "Sources/Publish", "Sources/SigningKeys", "Sources/CollectionSources", "Sources/JSONSchema", "Sources/ExternalPrograms"], [
        "Tests/PublishTests", "Tests/SigningKeysTests", "Tests/CollectionSourcesTests", "Tests/JSONSchemaTests",
        I + "test_publish", I + "test_schemas", I + "publishing", I + "test_review", I + "test_signing_programs"]),
    ("the library: `getRecords`, cache, sync, attachments", "apps", [
        "Sources/RemoteSettings", "Sources/FirefoxDumps", "Sources/EmbeddedFirefoxDumps", "Examples/OfflineExample"], [
        "Tests/RemoteSettingsTests", "Tests/StorageProcess", I + "test_library_commands", I + "test_shared_storage",
        I + "test_start_pages", I + "test_snippets", "Tests/Snippets", "Tests/Checks/consumer"]),
    ("the blocking API of Mozilla's binding", "apps that move over from Mozilla's component", [
        "Sources/RemoteSettingsBlocking"], [
        "Tests/RemoteSettingsTests/Blocking", "Tests/RemoteSettingsTests/BindingNames",
        "Tests/RemoteSettingsTests/MovingOver", "Tests/RemoteSettingsTests/MozillaClient", "Tests/BlockingProcess"]),
    ("an origin in memory, for apps' tests", "the tests of apps, and our own", [
        "Sources/InMemoryOrigin", "Sources/RemoteSettingsTesting", "Examples/TestedApp"], []),
    ("Apple systems: a transport, locks, a check without a Mac", "apps on iOS and macOS", [
        "Sources/URLSessionTransport", "Sources/Locks"], [
        "Tests/URLSessionTransportTests", "Tests/AppleSystems", "Tests/Checks/apple"]),
    ("libcurl as a transport", "apps on Linux that link no NIO", ["Sources/CurlTransport", "Sources/CCurl"], [
        "Tests/TransportTests/Curl"]),
    ("the filter language", "every reader of records with filters", ["Sources/TargetFilter"], ["Tests/TargetFilterTests"]),
    ("`serve`: the protocol, history, HTTP limits", "tests, sites without network, mirrors", [
        "Sources/SnapshotOrigin", "Sources/SnapshotServer", "Sources/CMappedFaults", "Sources/CLZ4", "Examples/DemoOrigin"], [
        "Tests/SnapshotOriginTests", "Tests/SnapshotServerTests", I + "test_serve", I + "serve", I + "test_server_faults",
        I + "readers", I + "test_readers", I + "test_origin"]),
    ("the page for people", "whoever looks at what is served", ["Sources/SnapshotPage"], [
        "Tests/SnapshotPageTests", I + "test_page", I + "browser"]),
    ("a static mirror", "sites that serve files, or a bucket", ["Sources/StaticMirror"], [
        "Tests/StaticMirrorTests", I + "test_mirror", I + "mirror", I + "nginx_examples", I + "test_upload", I + "store"]),
    ("import, export, archives, embedding", "packagers, Mozilla's trees", [
        "Sources/SnapshotExchange", "Sources/MozillaLZ4", "Sources/CArchive"], [
        "Tests/SnapshotExchangeTests", "Tests/MozillaLZ4Tests", I + "test_import", I + "test_export", I + "test_embed"]),
    ("pins, history, differences, budgets", "release engineers", [
        "Sources/SnapshotDiff", "Sources/SnapshotHistory", "Sources/DumpsRefresh/Pins", "Sources/DumpsRefresh/Budget",
        "Sources/Dumps/Configuration/Pin", "Sources/Dumps/Configuration/ConfigurationEditor+Pin",
        "Sources/Dumps/Configuration/Budget"], [
        "Tests/SnapshotDiffTests", "Tests/SnapshotHistoryTests", "Tests/DumpsRefreshTests/Pin", I + "test_diff",
        I + "test_pins", I + "test_budgets", I + "git"]),
    ("refresh, verify, the dumps directory", "the nightly job", [
        "Sources/DumpsRefresh", "Sources/Dumps", "Sources/AuthoredText", "Sources/CYAML"], [
        "Tests/DumpsRefreshTests", "Tests/DumpsTests", I + "test_refresh", I + "test_changes", I + "test_attachments",
        I + "test_faults", I + "test_kill", I + "test_locked", I + "test_links", I + "test_servers", I + "test_machines",
        I + "test_nightly", I + "nightly", I + "gh", I + "dumps", I + "test_models", I + "test_week", I + "weeks",
        I + "test_foreign_programs"]),
    ("bundles and the lock file", "everything", ["Sources/SnapshotBundle", "Sources/Deflate", "Sources/CZlib"], [
        "Tests/SnapshotBundleTests", "Tests/DeflateTests"]),
    ("verification: chains and signatures", "everything", ["Sources/ContentSignature"], ["Tests/ContentSignatureTests"]),
    ("the protocol, and the tool's transport", "everything", [
        "Sources/RemoteSettingsHTTP", "Sources/SnapshotFetch", "Sources/AsyncHTTPTransport"], [
        "Tests/RemoteSettingsHTTPTests", "Tests/TransportTests", "Tests/FaultyServer"]),
    ("records, canonical JSON, files, threads", "everything", [
        "Sources/RemoteSettingsModel", "Sources/FileStorage", "Sources/LibC", "Sources/WorkThreads", "Sources/CThreads"], [
        "Tests/RemoteSettingsModelTests", "Tests/FileStorageTests"]),
    ("the commands: options, help, reports", "everybody at a terminal", ["Sources/rsdump", "Plugins"], [
        I + "test_commands", I + "rsdump", I + "json_shape", I + "git_tree", I + "conftest", "Tests/Promises",
        "Tests/Checks/promises", I + "test_promises", "Tests/Packages"]),
    ("shared by all: fuzzers, faults, soak, benchmarks, other checks", "maintainers", [], [
        "Tests/Fuzz", "Tests/FuzzTargetsTests", "Tests/Faults", "Tests/Soak", "Tests/Benchmark", "Tests/Models",
        "Tests/Sanitizers", "Tests/Servers", "Tests/Checks", "Tests/Documentation", I + "test_machine_faults",
        I + "test_soak", I + "test_tables", I + "test_documents", "Tests/Integration"]),
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
