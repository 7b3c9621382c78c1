// swift-tools-version: 6.2
import PackageDescription

// The layers, from the bottom up: Format, Network, Library, Dumps and Job, then Tool, Publish and Server. Tool, Publish
// and Server are independent of each other except in the program rsdump. A module is in Sources/LAYER/MODULE and
// depends only on modules of its own layer and of the layers below. `scripts/check sources` checks this.

let package = Package(
    name: "swift-remote-settings",
    platforms: [.macOS(.v14), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "RemoteSettings", targets: ["RemoteSettings"]),
        .library(name: "RemoteSettingsBlocking", targets: ["RemoteSettingsBlocking"]),
        .library(name: "RemoteConfiguration", targets: ["RemoteConfiguration"]),
        .library(name: "RemoteSettingsConfiguration", targets: ["RemoteSettingsConfiguration"]),
        .library(name: "RemoteSettingsTesting", targets: ["RemoteSettingsTesting"]),
        .library(name: "FirefoxDumps", targets: ["FirefoxDumps"]),
        .executable(name: "rsdump", targets: ["rsdump"]),
    ],
    traits: [
        .default(enabledTraits: ["Tool", "RemoteSettingsConfiguration"]),
        .trait(
            name: "Tool",
            description: "The program rsdump and its plugins. An app that only links the libraries needs no trait."),
        .trait(
            name: "RemoteSettingsConfiguration",
            description: "The product of this name, a provider for swift-configuration."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        // Resolved only with the trait RemoteSettingsConfiguration.
        .package(url: "https://github.com/apple/swift-configuration.git", from: "1.4.0", traits: []),
        // Resolved only with the trait Tool.
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.2", traits: []),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ],
    targets: [
        // MARK: C
        .systemLibrary(
            name: "CZlib", path: "Sources/C/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CYAML", path: "Sources/C/CYAML", pkgConfig: "yaml-0.1",
            providers: [.apt(["libyaml-dev"]), .brew(["libyaml"])]),
        .systemLibrary(
            name: "CArchive", path: "Sources/C/CArchive", pkgConfig: "libarchive",
            providers: [.apt(["libarchive-dev"]), .brew(["libarchive"])]),
        .target(
            name: "CCurl", path: "Sources/C/CCurl", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(
            name: "CPlatform", path: "Sources/C/CPlatform",
            linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))]),
        .target(name: "CMappedFaults", path: "Sources/C/CMappedFaults"),

        // MARK: Format: snapshots, bundles, signatures and target filters; no network
        .target(
            name: "RemoteSettingsModel", dependencies: ["CZlib"], path: "Sources/Format/RemoteSettingsModel",
            swiftSettings: [.enableExperimentalFeature("Lifetimes")]),
        .target(
            name: "SnapshotBundle", dependencies: ["RemoteSettingsModel", .crypto, .asn1, .x509],
            path: "Sources/Format/SnapshotBundle"),
        .target(
            name: "ContentSigning",
            dependencies: ["RemoteSettingsModel", "SnapshotBundle", .crypto, .asn1, .x509],
            path: "Sources/Format/ContentSigning"),
        .target(
            name: "TargetFilter", dependencies: ["RemoteSettingsModel", .crypto], path: "Sources/Format/TargetFilter"),

        // MARK: Network: HTTP client, transports, and the responses that a server gives
        .target(
            name: "RemoteSettingsHTTP", dependencies: ["RemoteSettingsModel", "SnapshotBundle", "CPlatform"],
            path: "Sources/Network/RemoteSettingsHTTP"),
        .target(
            name: "CurlTransport", dependencies: ["RemoteSettingsModel", "RemoteSettingsHTTP", "CCurl", "CPlatform"],
            path: "Sources/Network/CurlTransport"),
        .target(
            name: "URLSessionTransport", dependencies: ["RemoteSettingsModel", "RemoteSettingsHTTP"],
            path: "Sources/Network/URLSessionTransport"),
        .target(
            name: "SnapshotOrigin", dependencies: ["RemoteSettingsModel", "SnapshotBundle", "RemoteSettingsHTTP"],
            path: "Sources/Network/SnapshotOrigin"),

        // MARK: Library: the modules that apps link
        .target(
            name: "RemoteSettings",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "TargetFilter", "RemoteSettingsHTTP", .logging,
                .target(name: "URLSessionTransport", condition: .when(platforms: .apple)),
                .target(name: "CurlTransport", condition: .when(platforms: .withCurl)),
            ],
            path: "Sources/Library/RemoteSettings"),
        .target(
            name: "MozillaBinding",
            dependencies: ["RemoteSettingsModel", "RemoteSettingsHTTP", "RemoteSettings"],
            path: "Sources/Library/MozillaBinding"),
        .target(
            name: "RemoteSettingsBlocking",
            dependencies: ["RemoteSettingsModel", "SnapshotBundle", "RemoteSettings", "MozillaBinding"],
            path: "Sources/Library/RemoteSettingsBlocking"),
        .target(
            name: "ConfigParameters", dependencies: ["RemoteSettingsModel", "TargetFilter"],
            path: "Sources/Library/ConfigParameters"),
        .target(
            name: "RemoteConfiguration",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "TargetFilter", "RemoteSettingsHTTP", "RemoteSettings",
                "ConfigParameters",
            ],
            path: "Sources/Library/RemoteConfiguration"),
        .target(
            name: "RemoteSettingsConfiguration",
            dependencies: [
                "RemoteSettingsModel", "TargetFilter", "RemoteSettings", "ConfigParameters",
                .configuration("Configuration"),
            ],
            path: "Sources/Library/RemoteSettingsConfiguration",
            // swift-configuration uses this setting, and the provider conforms to its protocol.
            swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]),
        .target(
            name: "RemoteSettingsTesting",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "ContentSigning", "RemoteSettingsHTTP", "SnapshotOrigin",
                "RemoteSettings", "RemoteConfiguration",
            ],
            path: "Sources/Library/RemoteSettingsTesting"),
        .target(name: "EmbeddedFirefoxDumps", path: "Sources/Library/EmbeddedFirefoxDumps"),
        .target(
            name: "FirefoxDumps", dependencies: ["RemoteSettings", "EmbeddedFirefoxDumps"],
            path: "Sources/Library/FirefoxDumps"),

        // MARK: Dumps: a dumps directory with its configuration and history; import and export
        .target(
            name: "Dumps",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "TargetFilter", "RemoteSettingsHTTP", "CYAML", .subprocess,
            ],
            path: "Sources/Dumps/Dumps"),
        .target(
            name: "DumpsExchange",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "RemoteSettingsHTTP", "SnapshotOrigin", "RemoteSettings",
                "ConfigParameters", "Dumps", "CArchive",
            ],
            path: "Sources/Dumps/DumpsExchange"),

        // MARK: Job: the jobs that keep dumps in git, with pull requests
        .target(
            name: "Job",
            dependencies: ["RemoteSettingsModel", "SnapshotBundle", "RemoteSettingsHTTP", "Dumps"],
            path: "Sources/Job/Job"),

        // MARK: Publish: keys, sources, signing
        .target(
            name: "Publish",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "ContentSigning", "TargetFilter", "RemoteSettingsHTTP",
                "ConfigParameters", "Dumps",
            ],
            path: "Sources/Publish/Publish"),

        // MARK: Server: the only module with NIO
        .target(
            name: "SnapshotServer",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "ContentSigning", "RemoteSettingsHTTP", "SnapshotOrigin",
                "ConfigParameters", "Dumps", "DumpsExchange", "CMappedFaults", .logging,
                .tool("HTTPTypes", "swift-http-types"), .tool("Hummingbird", "hummingbird"),
                .tool("HummingbirdCore", "hummingbird"), .tool("NIOCore", "swift-nio"),
                .tool("NIOHTTP1", "swift-nio"), .tool("NIOPosix", "swift-nio"),
                .tool("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            path: "Sources/Server/SnapshotServer"),

        // MARK: Tool
        .executableTarget(
            name: "rsdump",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "ContentSigning", "TargetFilter", "RemoteSettingsHTTP",
                "CurlTransport", "SnapshotOrigin", "RemoteSettings", "ConfigParameters", "Dumps", "DumpsExchange",
                "Job", "Publish", "SnapshotServer", "CMappedFaults", .argumentParser, .logging,
            ],
            path: "Sources/Tool/rsdump",
            // By default, a program that links Swift's libraries statically exports 40,000 symbols, which slows its
            // start by an eighth. `unsafeFlags` is allowed here because no other package depends on this program.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--no-export-dynamic"], .when(platforms: [.linux]))]),

        // MARK: Tests
        .target(
            name: "FaultyServer",
            dependencies: ["RemoteSettingsModel", "SnapshotBundle", "RemoteSettingsHTTP"],
            path: "Tests/FaultyServer"),
        .testTarget(
            name: "FormatTests",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "TargetFilter", "CArchive",
                .crypto, .asn1, .x509,
            ]),
        .testTarget(
            name: "NetworkTests",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "RemoteSettingsHTTP", "CurlTransport", "URLSessionTransport",
                "SnapshotOrigin", "FaultyServer",
            ]),
        .testTarget(
            name: "LibraryTests",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "TargetFilter", "RemoteSettingsHTTP", "RemoteSettings",
                "RemoteSettingsBlocking", "ConfigParameters", "RemoteConfiguration", "RemoteSettingsConfiguration",
                "RemoteSettingsTesting", "Dumps", "Publish", "FaultyServer",
                .target(name: "URLSessionTransport", condition: .when(platforms: .apple)),
                .target(name: "CurlTransport", condition: .when(platforms: .withCurl)),
                .configuration("Configuration"), .configuration("ConfigurationTesting"),
                "test-process",
            ]),
        .testTarget(
            name: "DumpsTests",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "TargetFilter", "RemoteSettingsHTTP",
                "RemoteSettings", "RemoteSettingsTesting", "FirefoxDumps", "Dumps", "DumpsExchange",
            ]),
        .testTarget(name: "JobTests", dependencies: ["RemoteSettingsModel", "RemoteSettingsHTTP", "Dumps", "Job"]),
        .testTarget(
            name: "PublishTests",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "ContentSigning", "TargetFilter",
                "ConfigParameters", "Dumps", "Publish", .crypto,
            ]),
        .testTarget(
            name: "SnapshotServerTests",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "RemoteSettingsHTTP", "SnapshotServer",
                .logging, .tool("HTTPTypes", "swift-http-types"), .tool("NIOCore", "swift-nio"),
                .tool("NIOEmbedded", "swift-nio"), .tool("NIOHTTP1", "swift-nio"), "rsfuzz",
            ]),

        // MARK: Examples
        .executableTarget(
            name: "config-example", dependencies: ["RemoteConfiguration"], path: "Examples/ConfigExample"),
        .executableTarget(
            name: "flag-server",
            dependencies: [
                "RemoteSettings", "RemoteSettingsConfiguration", .logging, .configuration("Configuration"),
                .tool("Hummingbird", "hummingbird"), .tool("ServiceLifecycle", "swift-service-lifecycle"),
            ],
            path: "Examples/FlagServer"),
        .target(name: "EmbeddedSampleDumps", path: "Examples/SampleApp/EmbeddedSampleDumps"),
        .target(
            name: "SampleAppLogic", dependencies: ["RemoteSettings", "RemoteConfiguration", "EmbeddedSampleDumps"],
            path: "Examples/SampleApp/Logic"),
        .executableTarget(
            name: "sample-terminal", dependencies: ["RemoteConfiguration", "SampleAppLogic"],
            path: "Examples/SampleApp/Terminal"),
        .testTarget(
            name: "SampleAppTests", dependencies: ["RemoteConfiguration", "RemoteSettingsTesting", "SampleAppLogic"],
            path: "Examples/SampleApp/Tests"),

        // MARK: Lab: fuzzers, benchmarks, the soak test, and helper processes for tests
        .executableTarget(
            name: "rsfuzz",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "TargetFilter", "RemoteSettingsHTTP",
                "Dumps", "DumpsExchange", "SnapshotServer", .crypto, .asn1,
                .tool("HTTPTypes", "swift-http-types"), .tool("NIOHTTP1", "swift-nio"),
            ],
            path: "Tests/Lab/FuzzTargets"),
        .executableTarget(
            name: "rsbench-app",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "RemoteSettings",
                "RemoteSettingsBlocking",
            ],
            path: "Tests/Lab/rsbench-app"),
        .executableTarget(
            name: "test-process",
            dependencies: [
                "RemoteSettingsModel", "SnapshotBundle", "ContentSigning",
                "RemoteSettingsHTTP", "RemoteSettings", "RemoteSettingsBlocking",
                "RemoteConfiguration", "RemoteSettingsTesting",
                .target(name: "CurlTransport", condition: .when(platforms: .withCurl)),
            ],
            path: "Tests/Lab/test-process"),
    ],
    swiftLanguageModes: [.v6]
)

#if os(macOS)
// The screens of the sample app: open Package.swift in Xcode, and run the scheme SampleApp.
package.targets.append(
    .executableTarget(name: "SampleApp", dependencies: ["SampleAppLogic"], path: "Examples/SampleApp/App"))
#endif

// Every Swift target is built with these settings.
for target in package.targets where target.type != .system {
    target.swiftSettings = (target.swiftSettings ?? []) + [.strictMemorySafety(), .treatAllWarnings(as: .error)]
}

// Apple requires a privacy manifest for code that reads file times or sizes. On Linux, SwiftPM would copy this resource
// next to every built program, so the resource exists on macOS only.
for target in package.targets where target.name == "SnapshotBundle" {
    #if os(macOS)
    target.resources = [.copy("PrivacyInfo.xcprivacy")]
    #else
    target.exclude = ["PrivacyInfo.xcprivacy"]
    #endif
}

extension Target.Dependency {
    static let argumentParser = tool("ArgumentParser", "swift-argument-parser")
    static let asn1 = product(name: "SwiftASN1", package: "swift-asn1")
    static let crypto = product(name: "Crypto", package: "swift-crypto")
    static let logging = product(name: "Logging", package: "swift-log")
    static let subprocess = tool("Subprocess", "swift-subprocess")
    static let x509 = product(name: "X509", package: "swift-certificates")

    static func tool(_ product: String, _ package: String) -> Self {
        .product(name: product, package: package, condition: .when(traits: ["Tool"]))
    }

    static func configuration(_ product: String) -> Self {
        .product(
            name: product, package: "swift-configuration", condition: .when(traits: ["RemoteSettingsConfiguration"]))
    }

}

extension [Platform] {
    static let apple: Self = [.macOS, .iOS, .tvOS, .watchOS, .visionOS]
    /// Systems on which apps use libcurl because there is no system transport.
    static let withCurl: Self = [.linux, .android, .openbsd]
}
