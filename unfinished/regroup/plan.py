"""Where each room goes. Old paths that do not exist (any more) are skipped, so that the plan fits later trees."""

from swift_text import code_words, declared_names

# (new place, old place, folder inside of the new place); the new place's last name is the module.
ROOMS = [
    # C
    *[(f"Sources/C/{name}", f"Sources/{name}", "") for name in
      ("CZlib", "CLZ4", "CYAML", "CArchive", "CCurl", "CThreads", "CMappedFaults")],
    # Format
    ("Sources/Format/RemoteSettingsModel", "Sources/RemoteSettingsModel", ""),
    ("Sources/Format/RemoteSettingsModel", "Sources/LibC", ""),
    ("Sources/Format/RemoteSettingsModel", "Sources/Locks", "Locks"),
    ("Sources/Format/RemoteSettingsModel", "Sources/Deflate", "Compression"),
    ("Sources/Format/RemoteSettingsModel", "Sources/MozillaLZ4", "Compression"),
    ("Sources/Format/SnapshotTrust", "Sources/ContentSignature", ""),
    ("Sources/Format/SnapshotTrust", "Sources/Catalogue", "Catalogue"),
    ("Sources/Format/SnapshotBundle", "Sources/SnapshotBundle", ""),
    ("Sources/Format/SnapshotBundle", "Sources/FileStorage", "FileStorage"),
    ("Sources/Format/TargetFilter", "Sources/TargetFilter", ""),
    ("Sources/Format/Dumps", "Sources/Dumps", ""),
    ("Sources/Format/Dumps", "Sources/AuthoredText", "AuthoredText"),
    ("Sources/Format/Dumps", "Sources/SnapshotHistory", "History"),
    ("Sources/Format/Dumps", "Sources/ExternalPrograms", ""),
    ("Sources/Format/Dumps", "Sources/SnapshotDiff", "Diff"),
    # Network
    ("Sources/Network/RemoteSettingsHTTP", "Sources/RemoteSettingsHTTP", ""),
    ("Sources/Network/RemoteSettingsHTTP", "Sources/SnapshotFetch", "Fetch"),
    ("Sources/Network/RemoteSettingsHTTP", "Sources/UpdateEvents", "Updates"),
    ("Sources/Network/RemoteSettingsHTTP", "Sources/UpdateSchedule", "Updates"),
    ("Sources/Network/RemoteSettingsHTTP", "Sources/WorkThreads", ""),
    ("Sources/Network/CurlTransport", "Sources/CurlTransport", ""),
    ("Sources/Network/URLSessionTransport", "Sources/URLSessionTransport", ""),
    ("Sources/Network/SnapshotOrigin", "Sources/SnapshotOrigin", ""),
    # Library
    ("Sources/Library/RemoteSettings", "Sources/RemoteSettings", ""),
    ("Sources/Library/RemoteSettingsBlocking", "Sources/RemoteSettingsBlocking", ""),
    ("Sources/Library/ConfigParameters", "Sources/ConfigParameters", ""),
    ("Sources/Library/ConfigParameters", "Sources/DefaultsFiles", "DefaultsFiles"),
    ("Sources/Library/RemoteConfiguration", "Sources/RemoteConfiguration", ""),
    ("Sources/Library/RemoteSettingsTesting", "Sources/RemoteSettingsTesting", ""),
    ("Sources/Library/RemoteSettingsTesting", "Sources/InMemoryOrigin", "InMemoryOrigin"),
    ("Sources/Library/EmbeddedFirefoxDumps", "Sources/EmbeddedFirefoxDumps", ""),
    ("Sources/Library/FirefoxDumps", "Sources/FirefoxDumps", ""),
    # Tool
    ("Sources/Tool/DumpsRefresh", "Sources/DumpsRefresh", ""),
    ("Sources/Tool/DumpsRefresh", "Sources/DumpsWatch", "Watch"),
    ("Sources/Tool/DumpsRefresh", "Sources/Notifications", "Notifications"),
    ("Sources/Tool/DumpsExchange", "Sources/SnapshotExchange", ""),
    ("Sources/Tool/rsdump", "Sources/rsdump", ""),
    ("Sources/Tool/rsdump", "Examples/DemoOrigin", "Demo"),
    # Publish
    ("Sources/Publish/SigningKeys", "Sources/SigningKeys", ""),
    ("Sources/Publish/Publish", "Sources/Publish", ""),
    ("Sources/Publish/Publish", "Sources/CollectionSources", "CollectionSources"),
    ("Sources/Publish/Publish", "Sources/JSONSchema", "JSONSchema"),
    ("Sources/Publish/Publish", "Sources/FirebaseFormats", "FirebaseFormats"),
    # Server
    ("Sources/Server/StaticMirror", "Sources/StaticMirror", ""),
    ("Sources/Server/StaticMirror", "Sources/MirrorUpload", "Upload"),
    ("Sources/Server/SnapshotServer", "Sources/SnapshotServer", ""),
    ("Sources/Server/SnapshotServer", "Sources/SnapshotPage", "Page"),
    # Tests
    ("Tests/Format/RemoteSettingsModelTests", "Tests/RemoteSettingsModelTests", ""),
    ("Tests/Format/RemoteSettingsModelTests", "Tests/DeflateTests", "Compression"),
    ("Tests/Format/SnapshotTrustTests", "Tests/ContentSignatureTests", ""),
    ("Tests/Format/SnapshotTrustTests", "Tests/CatalogueTests", "Catalogue"),
    ("Tests/Format/SnapshotBundleTests", "Tests/SnapshotBundleTests", ""),
    ("Tests/Format/SnapshotBundleTests", "Tests/FileStorageTests", "FileStorage"),
    ("Tests/Format/TargetFilterTests", "Tests/TargetFilterTests", ""),
    ("Tests/Format/DumpsTests", "Tests/DumpsTests", ""),
    ("Tests/Format/DumpsTests", "Tests/SnapshotHistoryTests", "History"),
    ("Tests/Format/DumpsTests", "Tests/SnapshotDiffTests", "Diff"),
    ("Tests/Network/RemoteSettingsHTTPTests", "Tests/RemoteSettingsHTTPTests", ""),
    ("Tests/Network/RemoteSettingsHTTPTests", "Tests/UpdateEventsTests", "Updates"),
    ("Tests/Network/RemoteSettingsHTTPTests", "Tests/UpdateScheduleTests", "Updates"),
    ("Tests/Network/CurlTransportTests", "Tests/TransportTests", ""),
    ("Tests/Network/URLSessionTransportTests", "Tests/URLSessionTransportTests", ""),
    ("Tests/Network/FaultyServer", "Tests/FaultyServer", ""),
    ("Tests/Network/SnapshotOriginTests", "Tests/SnapshotOriginTests", ""),
    ("Tests/Library/RemoteSettingsTests", "Tests/RemoteSettingsTests", ""),
    ("Tests/Library/ConfigParametersTests", "Tests/ConfigParametersTests", ""),
    ("Tests/Library/ConfigParametersTests", "Tests/DefaultsFilesTests", "DefaultsFiles"),
    ("Tests/Library/RemoteConfigurationTests", "Tests/RemoteConfigurationTests", ""),
    ("Tests/Tool/DumpsRefreshTests", "Tests/DumpsRefreshTests", ""),
    ("Tests/Tool/DumpsRefreshTests", "Tests/DumpsWatchTests", "Watch"),
    ("Tests/Tool/DumpsRefreshTests", "Tests/NotificationsTests", "Notifications"),
    ("Tests/Tool/DumpsExchangeTests", "Tests/SnapshotExchangeTests", ""),
    ("Tests/Publish/SigningKeysTests", "Tests/SigningKeysTests", ""),
    ("Tests/Publish/PublishTests", "Tests/PublishTests", ""),
    ("Tests/Publish/PublishTests", "Tests/CollectionSourcesTests", "CollectionSources"),
    ("Tests/Publish/PublishTests", "Tests/JSONSchemaTests", "JSONSchema"),
    ("Tests/Publish/PublishTests", "Tests/FirebaseFormatsTests", "FirebaseFormats"),
    ("Tests/Server/StaticMirrorTests", "Tests/StaticMirrorTests", ""),
    ("Tests/Server/StaticMirrorTests", "Tests/MozillaLZ4Tests", "Bundles"),
    ("Tests/Server/SnapshotServerTests", "Tests/SnapshotServerTests", ""),
    ("Tests/Server/SnapshotServerTests", "Tests/SnapshotPageTests", "Page"),
    ("Tests/Lab/FuzzTargets", "Tests/Fuzz/FuzzServerTargets", "Server"),
    ("Tests/Lab/FuzzTargets", "Tests/Fuzz/FuzzTargets", ""),
    ("Tests/Lab/FuzzTargetsTests", "Tests/FuzzTargetsTests", ""),
    ("Tests/Lab/rsfuzz", "Tests/Fuzz/rsfuzz", ""),
    ("Tests/Lab/rsbench", "Tests/Benchmark/rsbench", ""),
    ("Tests/Lab/rsbench-app", "Tests/Benchmark/rsbench-app", ""),
    ("Tests/Lab/soak", "Tests/Soak", ""),
    ("Tests/Lab/storage-process", "Tests/StorageProcess", ""),
    ("Tests/Lab/release-process", "Tests/ReleaseProcess", ""),
    ("Tests/Lab/blocking-process", "Tests/BlockingProcess", ""),
    ("Tests/Lab/config-process", "Tests/ConfigProcess", ""),
]

# Single files, after the rooms: old path before any move, new path.
FILES = {
    "Sources/SnapshotOrigin/MozLZ4+Pack.swift": "Sources/Server/StaticMirror/MozLZ4+Pack.swift",
    # One room, one privacy manifest, one folder of articles.
    "Sources/FileStorage/PrivacyInfo.xcprivacy": None,
    # One program of fuzzers; with the trait Server it has the server's, too.
    "Tests/Fuzz/rsfuzz-server/rsfuzz-server.swift": None,
    # Data of comparisons are no sources.
    "Tests/TargetFilterTests/filter_cases.py": "Tests/Comparisons/filter_cases.py",
    "Tests/TargetFilterTests/filter_cases.jsonl": "Tests/Comparisons/filter_cases.jsonl",
    "Tests/RemoteSettingsModelTests/canonical_cases.py": "Tests/Comparisons/canonical_cases.py",
    "Tests/RemoteSettingsModelTests/canonical_cases.txt": "Tests/Comparisons/canonical_cases.txt",
}

# Old modules that have another name or another place now; the others keep their names.
MODULES = {
    "LibC": "RemoteSettingsModel", "Locks": "RemoteSettingsModel", "Deflate": "RemoteSettingsModel", "MozillaLZ4": "RemoteSettingsModel",
    "ContentSignature": "SnapshotTrust", "Catalogue": "SnapshotTrust", "FileStorage": "SnapshotBundle",
    "AuthoredText": "Dumps", "SnapshotHistory": "Dumps", "ExternalPrograms": "Dumps", "SnapshotDiff": "Dumps",
    "SnapshotFetch": "RemoteSettingsHTTP", "UpdateEvents": "RemoteSettingsHTTP", "UpdateSchedule": "RemoteSettingsHTTP",
    "WorkThreads": "RemoteSettingsHTTP", "DefaultsFiles": "ConfigParameters", "InMemoryOrigin": "RemoteSettingsTesting",
    "DumpsWatch": "DumpsRefresh", "Notifications": "DumpsRefresh", "SnapshotExchange": "DumpsExchange",
    "DemoOrigin": "rsdump", "CollectionSources": "Publish", "JSONSchema": "Publish", "FirebaseFormats": "Publish",
    "MirrorUpload": "StaticMirror", "SnapshotPage": "SnapshotServer", "FuzzServerTargets": "FuzzTargets",
}

# What stands in a file (its first line that is neither comment nor blank comes after it) only with a trait.
# (folder, condition); a file of Tests that imports a module of the server is guarded as the last two say.
GUARDED = [
    ("Sources/Server/SnapshotServer", "Server"),
    ("Tests/Server/SnapshotServerTests", "Server"),
    ("Tests/Lab/FuzzTargets/Server", "Lab && Server"),
    ("Tests/Lab", "Lab"),
]
SERVER_MODULES = {
    "NIOCore": "swift-nio", "NIOHTTP1": "swift-nio", "NIOPosix": "swift-nio", "NIOEmbedded": "swift-nio",
    "NIOWebSocket": "swift-nio", "HTTPTypes": "swift-http-types", "Hummingbird": "hummingbird",
    "HummingbirdCore": "hummingbird", "ServiceLifecycle": "swift-service-lifecycle",
    "UnixSignals": "swift-service-lifecycle", "NIOSSL": "swift-nio-ssl", "HummingbirdTLS": "hummingbird",
}
MODULES_OF_PACKAGES = {
    "ArgumentParser": "swift-argument-parser", "Crypto": "swift-crypto", "Logging": "swift-log",
    "Subprocess": "swift-subprocess", "SwiftASN1": "swift-asn1", "X509": "swift-certificates",
}
SYSTEM = {
    "Foundation", "FoundationEssentials", "FoundationNetworking", "Testing", "XCTest", "Dispatch", "Glibc", "Darwin", "Musl",
    "Android", "Synchronization", "os", "Observation", "Network", "SwiftUI", "Swift",
}
FLOORS = ["C", "Format", "Network", "Library", "Tool", "Publish", "Server"]


# What the testing product signs with; what these files need is a room before keys.
SIGNING = ["CertificateAuthority", "ContentSigner", "PrivateKey"]


def prepare(root):
    """What depends on the tree: the files that signing needs; and a ramp was written out by the differences once."""
    declared, words = {}, {}
    for path in sorted((root / "Sources/SigningKeys").glob("*.swift")):
        text = path.read_text()
        words[path.stem] = code_words(text)
        declared |= {name: path.stem for name in declared_names(text)}
    waiting, found = [name for name in SIGNING if name in words], set()
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [declared[word] for word in words[name] & set(declared)]
    for name in found:
        FILES[f"Sources/SigningKeys/{name}.swift"] = f"Sources/Format/ContentSigning/{name}.swift"
    diff = root / "Sources/SnapshotDiff"
    if any("import ConfigParameters" in path.read_text() for path in diff.rglob("*.swift")):
        FILES["Sources/ConfigParameters/Ramp.swift"] = "Sources/Format/TargetFilter/Ramp.swift"
