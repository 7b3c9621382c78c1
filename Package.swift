// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

/// Tool-side dependencies are fetched only where the trait `Tools` is on, so that an app which links only the
/// runtime never sees libarchive, libyaml or NIO.
let tools: TargetDependencyCondition? = .when(traits: ["Tools"])

/// The library reaches the network by URLSession on Apple systems, elsewhere by libcurl, which an app needs only there.
let apple: TargetDependencyCondition? = .when(platforms: [.macOS, .iOS, .tvOS, .watchOS, .visionOS])
let notApple: TargetDependencyCondition? = .when(platforms: [.linux, .android, .openbsd])

/// With Swift's libraries linked in, an executable exports 40,000 symbols, and is an eighth slower to start for it.
/// Flags like this one are allowed in executables, as no other package links them.
let unexported = LinkerSetting.unsafeFlags(["-Xlinker", "--no-export-dynamic"], .when(platforms: [.linux]))

let package = Package(
    name: "swift-remote-settings",
    platforms: [.macOS(.v14), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "RemoteSettings", targets: ["RemoteSettings"]),
        .library(name: "RemoteSettingsBlocking", targets: ["RemoteSettingsBlocking"]),
        .library(name: "RemoteConfiguration", targets: ["RemoteConfiguration"]),
        .library(name: "RemoteSettingsTesting", targets: ["RemoteSettingsTesting"]),
        .library(name: "FirefoxDumps", targets: ["FirefoxDumps"]),
        .executable(name: "rsdump", targets: ["rsdump"]),
    ],
    traits: [
        .trait(name: "Tools", description: "The command-line tool rsdump and what only it needs."),
        .default(enabledTraits: ["Tools"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-nio-http2.git", from: "1.46.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.2", traits: []),
    ],
    targets: [
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "CLZ4", pkgConfig: "liblz4", providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]),
        .systemLibrary(name: "CYAML", pkgConfig: "yaml-0.1", providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),
        .systemLibrary(
            name: "CArchive", pkgConfig: "libarchive", providers: [.apt(["libarchive-dev"]), .brew(["libarchive"])]),

        .target(name: "LibC", swiftSettings: strict),
        .target(name: "Locks", swiftSettings: strict),
        .target(name: "CThreads"),
        .target(name: "WorkThreads", dependencies: ["Locks", "CThreads", "LibC"], swiftSettings: strict),
        .target(
            name: "RemoteSettingsModel", swiftSettings: strict + [.enableExperimentalFeature("Lifetimes")]),
        .target(
            name: "ContentSignature",
            dependencies: [
                "Locks", "RemoteSettingsModel",
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .target(
            name: "Catalogue", dependencies: ["RemoteSettingsModel", "ContentSignature"], swiftSettings: strict),
        .target(name: "Deflate", dependencies: ["Locks", "RemoteSettingsModel", "CZlib"], swiftSettings: strict),
        .target(name: "UpdateEvents", dependencies: ["RemoteSettingsModel"], swiftSettings: strict),
        .target(
            name: "UpdateSchedule", dependencies: ["RemoteSettingsModel", "UpdateEvents"], swiftSettings: strict),
        .target(name: "MozillaLZ4", dependencies: ["RemoteSettingsModel"], swiftSettings: strict),
        .target(
            name: "RemoteSettingsHTTP",
            dependencies: [
                "Locks", "RemoteSettingsModel", "UpdateEvents", "UpdateSchedule", "Deflate", "LibC", "WorkThreads",
            ],
            swiftSettings: strict),
        .target(name: "CCurl", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(
            name: "CurlTransport",
            dependencies: ["Locks", "RemoteSettingsHTTP", "CCurl", "CThreads", "LibC"],
            swiftSettings: strict),
        .target(
            name: "URLSessionTransport", dependencies: ["Locks", "RemoteSettingsHTTP", "WorkThreads"],
            swiftSettings: strict),
        .target(
            name: "SnapshotBundle",
            dependencies: [
                "Catalogue", "Locks", "RemoteSettingsModel", "Deflate", "FileStorage", "LibC",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .target(
            name: "TargetFilter",
            dependencies: ["RemoteSettingsModel", "LibC", .product(name: "Crypto", package: "swift-crypto")],
            swiftSettings: strict),

        .target(name: "DefaultsFiles", dependencies: ["RemoteSettingsModel"], swiftSettings: strict),
        .target(
            name: "JSONSchema", dependencies: ["RemoteSettingsModel", "TargetFilter"], swiftSettings: strict),
        .target(
            name: "ConfigParameters", dependencies: ["RemoteSettingsModel", "TargetFilter"], swiftSettings: strict),

        .target(
            name: "SnapshotDiff",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "FileStorage", "Dumps", "SnapshotHistory",
            ],
            swiftSettings: strict),

        .target(name: "FileStorage", dependencies: ["Locks", "RemoteSettingsModel", "LibC"], swiftSettings: strict),
        .target(
            name: "SnapshotFetch",
            dependencies: [
                "Locks", "RemoteSettingsModel", "RemoteSettingsHTTP", "ContentSignature", "FileStorage", "WorkThreads",
            ],
            swiftSettings: strict),
        .target(
            name: "RemoteSettings",
            dependencies: [
                "Locks", "RemoteSettingsModel", "RemoteSettingsHTTP", "ContentSignature", "SnapshotBundle", "Deflate",
                "TargetFilter", "FileStorage", "SnapshotFetch", "MozillaLZ4", "UpdateEvents", "UpdateSchedule",
                "WorkThreads", "Catalogue",
                .target(name: "URLSessionTransport", condition: apple),
                .target(name: "CurlTransport", condition: notApple),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),

        .target(
            name: "RemoteSettingsBlocking", dependencies: ["Locks", "RemoteSettings", "WorkThreads"],
            swiftSettings: strict),

        .target(
            name: "RemoteConfiguration",
            dependencies: [
                "Locks", "RemoteSettings", "RemoteSettingsModel", "TargetFilter", "ConfigParameters", "DefaultsFiles",
                "FileStorage", "UpdateSchedule",
            ],
            swiftSettings: strict),

        .target(name: "EmbeddedFirefoxDumps"),
        .target(
            name: "FirefoxDumps", dependencies: ["EmbeddedFirefoxDumps", "RemoteSettings"], swiftSettings: strict),

        .target(
            name: "ExternalPrograms",
            dependencies: [
                "RemoteSettingsModel", "FileStorage", "LibC",
                .product(name: "Subprocess", package: "swift-subprocess", condition: tools),
            ],
            swiftSettings: strict),
        .target(
            name: "SnapshotHistory",
            dependencies: ["RemoteSettingsModel", "SnapshotBundle", "FileStorage", "LibC", "ExternalPrograms"],
            swiftSettings: strict),
        .target(
            name: "AuthoredText",
            dependencies: ["RemoteSettingsModel", .target(name: "CYAML", condition: tools)],
            swiftSettings: strict),
        .target(
            name: "Dumps",
            dependencies: [
                "Catalogue", "RemoteSettingsModel", "ContentSignature", "SnapshotBundle", "TargetFilter", "FileStorage",
                "AuthoredText",
            ],
            swiftSettings: strict),
        .target(
            name: "DumpsRefresh",
            dependencies: [
                "Catalogue", "Locks", "RemoteSettingsModel", "RemoteSettingsHTTP", "ContentSignature", "SnapshotBundle",
                "SnapshotFetch",
                "SnapshotHistory", "FileStorage", "Dumps", "Deflate", "LibC",
            ],
            swiftSettings: strict),
        .target(
            name: "SnapshotExchange",
            dependencies: [
                "RemoteSettingsModel", "ContentSignature", "SnapshotBundle", "Dumps", "FileStorage",
                "ConfigParameters", "DefaultsFiles", "MozillaLZ4", .target(name: "CArchive", condition: tools),
            ],
            swiftSettings: strict),
        .target(
            name: "SnapshotPage",
            dependencies: [
                "Catalogue", "RemoteSettingsModel", "SnapshotBundle", "SnapshotDiff", "ConfigParameters",
            ],
            swiftSettings: strict),
        .target(
            name: "SnapshotOrigin",
            dependencies: [
                "Locks", "RemoteSettingsModel", "RemoteSettingsHTTP", "SnapshotBundle", "ContentSignature",
                "Deflate", "MozillaLZ4", .target(name: "CLZ4", condition: tools),
            ],
            swiftSettings: strict),
        .target(
            name: "StaticMirror",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "SnapshotHistory", "SnapshotOrigin",
                "Dumps", "FileStorage", "LibC",
            ],
            swiftSettings: strict),
        .target(name: "CMappedFaults"),
        .target(
            name: "SnapshotServer",
            dependencies: [
                "Locks", "CMappedFaults", "UpdateEvents",
                "RemoteSettingsModel", "RemoteSettingsHTTP", "SnapshotBundle", "SnapshotOrigin", "SnapshotHistory",
                "SnapshotPage", "Dumps", "ContentSignature", "FileStorage", "LibC",
                .product(name: "Hummingbird", package: "hummingbird", condition: tools),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: tools),
                .product(name: "HummingbirdTLS", package: "hummingbird", condition: tools),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: tools),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle", condition: tools),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio", condition: tools),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: tools),
                .product(name: "NIOPosix", package: "swift-nio", condition: tools),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: tools),
            ],
            swiftSettings: strict),
        .target(
            name: "SigningKeys",
            dependencies: [
                "RemoteSettingsModel", "ContentSignature", "FileStorage",
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .target(
            name: "InMemoryOrigin",
            dependencies: [
                "Locks", "SnapshotOrigin", "SigningKeys", "SnapshotBundle", "ContentSignature", "RemoteSettingsHTTP",
                "RemoteSettings", "RemoteSettingsModel", "Deflate", "Catalogue",
            ],
            swiftSettings: strict),
        .target(
            name: "RemoteSettingsTesting",
            dependencies: [
                "Locks", "InMemoryOrigin", "RemoteConfiguration", "RemoteSettings", "RemoteSettingsHTTP",
                "RemoteSettingsModel",
            ],
            swiftSettings: strict),
        .target(
            name: "CollectionSources",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "TargetFilter", "ConfigParameters", "FileStorage",
                "AuthoredText", "JSONSchema",
            ],
            swiftSettings: strict),
        .target(
            name: "FirebaseFormats",
            dependencies: [
                "RemoteSettingsModel", "TargetFilter", "ConfigParameters", "DefaultsFiles", "AuthoredText",
                "CollectionSources", "FileStorage", "LibC", "Locks",
            ],
            swiftSettings: strict),
        .target(
            name: "Publish",
            dependencies: [
                "Catalogue", "RemoteSettingsModel", "ContentSignature", "SnapshotBundle", "SigningKeys", "AuthoredText",
                "CollectionSources", "FileStorage", "Dumps", "RemoteSettingsHTTP", "ExternalPrograms",
            ],
            swiftSettings: strict),
        .target(
            name: "DemoOrigin",
            dependencies: ["RemoteSettingsModel", "ContentSignature", "SnapshotBundle", "FileStorage", "SigningKeys"],
            path: "Examples/DemoOrigin", swiftSettings: strict),
        .target(
            name: "AsyncHTTPTransport",
            dependencies: [
                "RemoteSettingsModel", "RemoteSettingsHTTP", "LibC",
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: tools),
                .product(name: "NIOCore", package: "swift-nio", condition: tools),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: tools),
                .product(name: "NIOHTTP2", package: "swift-nio-http2", condition: tools),
                .product(name: "NIOPosix", package: "swift-nio", condition: tools),
            ],
            swiftSettings: strict),
        .target(
            name: "Notifications",
            dependencies: [
                "RemoteSettingsModel", "RemoteSettingsHTTP", "UpdateEvents", "UpdateSchedule", "FileStorage", "Dumps",
                "SnapshotBundle",
            ],
            swiftSettings: strict),
        .target(
            name: "DumpsWatch",
            dependencies: ["Locks", "RemoteSettingsModel", "RemoteSettingsHTTP", "UpdateEvents", "UpdateSchedule"],
            swiftSettings: strict),
        .executableTarget(
            name: "rsdump",
            dependencies: [
                "Catalogue", "Locks", "CMappedFaults", "RemoteSettingsModel", "RemoteSettingsHTTP",
                "AsyncHTTPTransport",
                "ContentSignature",
                "SnapshotBundle", "Dumps", "DumpsRefresh", "SnapshotServer", "SnapshotExchange", "SnapshotDiff",
                "SnapshotHistory", "SnapshotOrigin", "StaticMirror", "DemoOrigin", "RemoteSettings",
                "FileStorage", "LibC", "SigningKeys", "AuthoredText", "CollectionSources", "FirebaseFormats", "Publish",
                "ConfigParameters", "TargetFilter", "Notifications", "DumpsWatch", "UpdateEvents",
                "UpdateSchedule",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Subprocess", package: "swift-subprocess", condition: tools),
                .product(name: "UnixSignals", package: "swift-service-lifecycle", condition: tools),
                .product(name: "ArgumentParser", package: "swift-argument-parser", condition: tools),
            ],
            swiftSettings: strict, linkerSettings: [unexported]),
        .executableTarget(
            name: "rsbench",
            dependencies: [
                "Locks", "RemoteSettingsModel", "ContentSignature", "SnapshotBundle", "CZlib", "Deflate",
                "RemoteSettings", "AsyncHTTPTransport", "RemoteConfiguration", "InMemoryOrigin", "Dumps",
                "DumpsRefresh", "RemoteSettingsHTTP", "FileStorage", .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/Benchmark/rsbench", swiftSettings: strict),
        .executableTarget(
            name: "rsbench-app", dependencies: ["RemoteSettings", "RemoteSettingsBlocking", "SnapshotBundle"],
            path: "Tests/Benchmark/rsbench-app", swiftSettings: strict),

        .target(
            name: "FuzzTargets",
            dependencies: [
                "Catalogue", "Locks", "RemoteSettingsModel", "RemoteSettingsHTTP", "ContentSignature", "SnapshotBundle",
                "TargetFilter",
                "Deflate", "MozillaLZ4", "FileStorage", "RemoteSettings", "Dumps", "DumpsRefresh",
                "SnapshotExchange", "SnapshotOrigin", "SnapshotPage", "AuthoredText", "CollectionSources",
                "FirebaseFormats", "SigningKeys",
                "ConfigParameters", "RemoteConfiguration", "UpdateEvents", "InMemoryOrigin",
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            path: "Tests/Fuzz/FuzzTargets", swiftSettings: strict),
        .executableTarget(
            name: "rsfuzz", dependencies: ["FuzzTargets"], path: "Tests/Fuzz/rsfuzz", swiftSettings: strict),

        .target(
            name: "FuzzServerTargets",
            dependencies: [
                "FuzzTargets", "RemoteSettingsModel", "SnapshotServer",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: tools),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: tools),
            ],
            path: "Tests/Fuzz/FuzzServerTargets", swiftSettings: strict),
        .executableTarget(
            name: "rsfuzz-server", dependencies: ["FuzzTargets", "FuzzServerTargets"], path: "Tests/Fuzz/rsfuzz-server",
            swiftSettings: strict),
        .testTarget(
            name: "FuzzTargetsTests", dependencies: ["FuzzTargets", "FuzzServerTargets"], swiftSettings: strict),
        .testTarget(
            name: "NotificationsTests",
            dependencies: ["Notifications", "Dumps", "FileStorage", "RemoteSettingsHTTP", "RemoteSettingsModel"],
            swiftSettings: strict),
        .testTarget(
            name: "RemoteSettingsModelTests", dependencies: ["Locks", "RemoteSettingsModel"],
            exclude: ["canonical_cases.py", "canonical_cases.txt"],
            swiftSettings: strict),
        .testTarget(
            name: "ContentSignatureTests",
            dependencies: [
                "ContentSignature", "RemoteSettingsModel",
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "RemoteSettingsHTTPTests",
            dependencies: ["Locks", "RemoteSettingsHTTP", "RemoteSettingsModel", "UpdateEvents"], swiftSettings: strict),
        .testTarget(
            name: "TransportTests",
            dependencies: [
                "Locks", "AsyncHTTPTransport", "CurlTransport", "FaultyServer", "RemoteSettingsHTTP",
                "RemoteSettingsModel",
                .product(name: "NIOCore", package: "swift-nio", condition: tools),
                .product(name: "NIOPosix", package: "swift-nio", condition: tools),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: tools),
                .product(name: "X509", package: "swift-certificates"),
                .product(name: "SwiftASN1", package: "swift-asn1"),
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "URLSessionTransportTests",
            dependencies: [
                "Locks", "URLSessionTransport", "FaultyServer", "RemoteSettingsHTTP", "RemoteSettingsModel",
            ],
            swiftSettings: strict),
        .target(
            name: "FaultyServer",
            dependencies: ["Locks", "RemoteSettingsHTTP", "RemoteSettingsModel", "UpdateSchedule", "CZlib"],
            path: "Tests/FaultyServer", swiftSettings: strict),
        .testTarget(
            name: "SnapshotBundleTests",
            dependencies: [
                "Catalogue", "SnapshotBundle", "RemoteSettingsModel", "CZlib",
                .target(name: "CArchive", condition: tools),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "UpdateScheduleTests", dependencies: ["UpdateSchedule", "UpdateEvents", "RemoteSettingsModel"],
            swiftSettings: strict),
        .testTarget(
            name: "UpdateEventsTests", dependencies: ["UpdateEvents", "RemoteSettingsModel"], swiftSettings: strict),
        .testTarget(
            name: "DeflateTests", dependencies: ["Locks", "Deflate", "RemoteSettingsModel"], swiftSettings: strict),
        .testTarget(
            name: "MozillaLZ4Tests", dependencies: ["MozillaLZ4", "SnapshotOrigin", "RemoteSettingsModel"],
            swiftSettings: strict),
        .testTarget(
            name: "SnapshotDiffTests", dependencies: ["SnapshotDiff", "RemoteSettingsModel"], swiftSettings: strict),
        .testTarget(
            name: "SnapshotOriginTests",
            dependencies: [
                "SnapshotOrigin", "SnapshotBundle", "CLZ4",
                "RemoteSettingsModel",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SnapshotHistoryTests",
            dependencies: ["SnapshotHistory", "SnapshotBundle", "RemoteSettingsModel"],
            swiftSettings: strict),
        .testTarget(
            name: "SnapshotPageTests",
            dependencies: ["SnapshotPage", "SnapshotBundle", "RemoteSettingsModel"],
            swiftSettings: strict),
        .testTarget(
            name: "SnapshotServerTests",
            dependencies: [
                "SnapshotServer", "RemoteSettingsModel", "UpdateEvents",
                .product(name: "HTTPTypes", package: "swift-http-types", condition: tools),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio", condition: tools),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: tools),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: tools),
            ],
            swiftSettings: strict),
        .testTarget(name: "StaticMirrorTests", dependencies: ["StaticMirror"], swiftSettings: strict),
        .testTarget(
            name: "TargetFilterTests", dependencies: ["Locks", "TargetFilter", "RemoteSettingsModel"],
            exclude: ["filter_cases.py", "filter_cases.jsonl"], swiftSettings: strict),
        .testTarget(
            name: "CatalogueTests", dependencies: ["Catalogue", "JSONSchema", "RemoteSettingsModel"],
            swiftSettings: strict),
        .testTarget(
            name: "JSONSchemaTests", dependencies: ["JSONSchema", "RemoteSettingsModel"], swiftSettings: strict),
        .testTarget(
            name: "ConfigParametersTests", dependencies: ["ConfigParameters", "TargetFilter", "RemoteSettingsModel"],
            swiftSettings: strict),
        .testTarget(
            name: "DumpsTests",
            dependencies: [
                "Catalogue", "Dumps", "AuthoredText", "FileStorage", "RemoteSettingsModel", "SnapshotBundle",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "DefaultsFilesTests", dependencies: ["DefaultsFiles", "RemoteSettingsModel"], swiftSettings: strict),
        .testTarget(
            name: "CollectionSourcesTests",
            dependencies: [
                "CollectionSources", "AuthoredText", "ConfigParameters", "TargetFilter", "FileStorage",
                "RemoteSettingsModel",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FirebaseFormatsTests",
            dependencies: [
                "FirebaseFormats", "CollectionSources", "AuthoredText", "TargetFilter", "FileStorage",
                "RemoteSettingsModel",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PublishTests",
            dependencies: [
                "Catalogue", "Publish", "CollectionSources", "AuthoredText", "SigningKeys", "ContentSignature", "Dumps",
                "SnapshotBundle", "FileStorage", "RemoteSettingsHTTP",
                "RemoteSettingsModel",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SigningKeysTests",
            dependencies: [
                "SigningKeys", "ContentSignature", "FileStorage", "LibC", "RemoteSettingsModel",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "FileStorageTests", dependencies: ["FileStorage", "RemoteSettingsModel"], swiftSettings: strict),
        .testTarget(
            name: "DumpsRefreshTests",
            dependencies: [
                "Catalogue", "Locks", "DumpsRefresh", "Dumps", "AuthoredText", "ContentSignature",
                "RemoteSettingsModel",
                "RemoteSettingsHTTP", "SnapshotBundle", "SnapshotFetch",
            ],
            swiftSettings: strict),
        .testTarget(
            name: "SnapshotExchangeTests",
            dependencies: ["SnapshotExchange", "FirefoxDumps", "RemoteSettings", "RemoteSettingsModel"],
            swiftSettings: strict),
        .executableTarget(
            name: "config-example", dependencies: ["RemoteConfiguration"], path: "Examples/ConfigExample",
            swiftSettings: strict),
        .executableTarget(
            name: "config-process", dependencies: ["RemoteConfiguration", "AsyncHTTPTransport"],
            path: "Tests/ConfigProcess", swiftSettings: strict),
        .target(
            name: "EmbeddedSampleDumps", path: "Examples/SampleApp/EmbeddedSampleDumps"),
        .target(
            name: "SampleAppLogic", dependencies: ["EmbeddedSampleDumps", "RemoteConfiguration"],
            path: "Examples/SampleApp/Logic", swiftSettings: strict),
        .executableTarget(
            name: "sample-terminal", dependencies: ["SampleAppLogic", "RemoteConfiguration"],
            path: "Examples/SampleApp/Terminal", swiftSettings: strict),
        .testTarget(
            name: "SampleAppTests",
            dependencies: ["SampleAppLogic", "RemoteConfiguration", "RemoteSettingsTesting"],
            path: "Examples/SampleApp/Tests", swiftSettings: strict),
        .testTarget(
            name: "RemoteConfigurationTests",
            dependencies: [
                "Locks", "RemoteConfiguration", "RemoteSettingsModel", "RemoteSettingsHTTP", "ContentSignature",
                "Dumps",
                "DumpsRefresh", "InMemoryOrigin", "FaultyServer", "UpdateEvents", "config-process",
                "CollectionSources", "FileStorage", "FirebaseFormats",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "storage-process", dependencies: ["RemoteSettings", "AsyncHTTPTransport"],
            path: "Tests/StorageProcess", swiftSettings: strict),
        .executableTarget(
            name: "release-process", dependencies: ["RemoteSettings", "RemoteSettingsHTTP", "AsyncHTTPTransport"],
            path: "Tests/ReleaseProcess", swiftSettings: strict),
        .executableTarget(
            name: "blocking-process", dependencies: ["Locks", "RemoteSettingsBlocking", "InMemoryOrigin"],
            path: "Tests/BlockingProcess", swiftSettings: strict),
        .executableTarget(
            name: "soak",
            dependencies: [
                "RemoteSettings", "RemoteSettingsModel", "RemoteSettingsHTTP", "ContentSignature", "SnapshotBundle",
                "FileStorage", "SigningKeys",
            ],
            path: "Tests/Soak", swiftSettings: strict),
        .testTarget(
            name: "RemoteSettingsTests",
            dependencies: [
                "Locks", "storage-process", "blocking-process", "RemoteSettings", "RemoteSettingsBlocking",
                "RemoteSettingsModel",
                "RemoteSettingsHTTP", "ContentSignature", "Dumps", "DumpsRefresh", "SnapshotFetch", "FileStorage",
                "InMemoryOrigin", "FaultyServer", "UpdateEvents",
                .target(name: "URLSessionTransport", condition: apple),
                .target(name: "CurlTransport", condition: notApple),
            ],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)

// Apple asks for a privacy manifest where a file's times or size are looked at. It is a resource, which a build on
// Linux would put beside each program, so that it is one on Macs only.
for target in package.targets where ["FileStorage", "SnapshotBundle"].contains(target.name) {
    #if os(macOS)
        target.resources = [.copy("PrivacyInfo.xcprivacy")]
    #else
        target.exclude = ["PrivacyInfo.xcprivacy"]
    #endif
}

#if os(macOS)
    // The screens of the sample app: open Package.swift in Xcode, and run the scheme SampleApp.
    package.targets.append(
        .executableTarget(
            name: "SampleApp", dependencies: ["SampleAppLogic", "RemoteConfiguration"],
            path: "Examples/SampleApp/App", swiftSettings: strict))
#endif
