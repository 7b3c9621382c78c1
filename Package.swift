// swift-tools-version: 6.2
import PackageDescription

// The order of the targets is the plan: six floors, and C. A floor uses only floors before it; `Tool`, `Publish` and
// `Server` meet only in rsdump. A room is the folder Sources/FLOOR/ROOM, and its tests are in Tests/FLOOR/ROOMTests.

let package = Package(
    name: "swift-remote-settings",
    platforms: [.macOS(.v14), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        "RemoteSettings", "RemoteSettingsBlocking", "RemoteConfiguration", "RemoteSettingsConfiguration",
        "RemoteSettingsTesting", "FirefoxDumps",
    ].map { .library(name: $0, targets: [$0]) } + [.executable(name: "rsdump", targets: ["rsdump"])],
    traits: [
        .default(enabledTraits: []),
        .trait(name: "Server", description: "The command rsdump serve, which needs NIO and Hummingbird."),
        .trait(
            name: "RemoteSettingsConfiguration",
            description: "The product of this name, a provider for swift-configuration."),
        .trait(
            name: "Lab", description: "Fuzzers, benchmarks, the soak, and the processes that tests start.",
            enabledTraits: ["RemoteSettingsConfiguration"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.2", traits: []),
        // Resolved with its trait only.
        .package(url: "https://github.com/apple/swift-configuration.git", from: "1.4.0", traits: []),
        // Those of the server are resolved with its trait only.
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1", traits: []),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0", traits: []),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ],
    swiftLanguageModes: [.v6]
)

package.targets = [
    // MARK: C: the system's libraries, and what Swift cannot say
    system("CZlib", "zlib", apt: "zlib1g-dev"),
    system("CLZ4", "liblz4", apt: "liblz4-dev", brew: "lz4"),
    system("CYAML", "yaml-0.1", apt: "libyaml-dev", brew: "libyaml"),
    system("CArchive", "libarchive", apt: "libarchive-dev", brew: "libarchive"),
    [
        .target(
            name: "CCurl", path: "Sources/C/CCurl", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))])
    ],
    [
        .target(
            name: "CZstd", path: "Sources/C/CZstd", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))])
    ],
    [.target(name: "CThreads", path: "Sources/C/CThreads")],
    [.target(name: "CMappedFaults", path: "Sources/C/CMappedFaults")],

    // MARK: Format: what a snapshot is, without network
    room("Format/RemoteSettingsModel", uses: "CZlib", settings: [.enableExperimentalFeature("Lifetimes")], tests: ""),
    room("Format/SnapshotTrust", uses: "Crypto SwiftASN1 X509", tests: "Dumps"),
    room("Format/ContentSigning", uses: "SnapshotTrust Crypto SwiftASN1 X509"),
    room("Format/SnapshotBundle", uses: "SnapshotTrust Crypto", tests: "CZlib CArchive"),
    room("Format/TargetFilter", uses: "Crypto", tests: ""),
    room("Format/Dumps", uses: "SnapshotTrust SnapshotBundle TargetFilter CYAML Subprocess", tests: ""),

    // MARK: Network: how one gets it
    room("Network/RemoteSettingsHTTP", uses: "SnapshotTrust SnapshotBundle CThreads CZstd", tests: ""),
    room("Network/CurlTransport", uses: "CCurl CThreads RemoteSettingsHTTP", tests: "FaultyServer"),
    room("Network/URLSessionTransport", uses: "RemoteSettingsHTTP", tests: "FaultyServer"),
    room(
        "Network/SnapshotOrigin", uses: "SnapshotTrust SnapshotBundle RemoteSettingsHTTP", tests: "CLZ4 StaticMirror"),

    // MARK: Library: what apps link
    room(
        "Library/RemoteSettings", uses: "SnapshotTrust SnapshotBundle TargetFilter RemoteSettingsHTTP Logging",
        also: networks(), tests: "Dumps RemoteSettingsBlocking RemoteSettingsTesting DumpsRefresh FaultyServer",
        testsAlso: [module("storage-process", trait: "Lab"), module("blocking-process", trait: "Lab")]),
    room("Library/RemoteSettingsBlocking", uses: "RemoteSettingsHTTP RemoteSettings"),
    room("Library/ConfigParameters", uses: "TargetFilter", tests: ""),
    room(
        "Library/RemoteConfiguration",
        uses: "SnapshotBundle TargetFilter RemoteSettingsHTTP RemoteSettings ConfigParameters",
        tests: "SnapshotTrust Dumps RemoteSettingsTesting DumpsRefresh Publish FaultyServer",
        testsAlso: [module("config-process", trait: "Lab")]),
    room(
        "Library/RemoteSettingsConfiguration", uses: "TargetFilter RemoteSettings ConfigParameters",
        also: [module("Configuration", trait: nil)],
        // As swift-configuration has it, whose protocol the provider conforms to.
        settings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")], tests: "RemoteSettingsTesting",
        testsAlso: [module("ConfigurationTesting", trait: nil)]),
    room(
        "Library/RemoteSettingsTesting",
        uses: """
            SnapshotTrust ContentSigning SnapshotBundle RemoteSettingsHTTP SnapshotOrigin RemoteSettings
            RemoteConfiguration
            """),
    [.target(name: "EmbeddedFirefoxDumps", path: "Sources/Library/EmbeddedFirefoxDumps")],
    room("Library/FirefoxDumps", uses: "RemoteSettings EmbeddedFirefoxDumps"),

    // MARK: Tool: what the night and the release engineer run
    room(
        "Tool/DumpsRefresh", uses: "SnapshotTrust SnapshotBundle Dumps RemoteSettingsHTTP",
        tests: "RemoteSettingsTesting"),
    room(
        "Tool/DumpsExchange",
        uses: "SnapshotTrust SnapshotBundle Dumps CArchive ConfigParameters RemoteSettingsHTTP",
        tests: "RemoteSettings FirefoxDumps"),
    room(
        "Tool/rsdump",
        uses: """
            SnapshotTrust ContentSigning SnapshotBundle TargetFilter Dumps CMappedFaults RemoteSettingsHTTP
            CurlTransport SnapshotOrigin RemoteSettings ConfigParameters DumpsRefresh DumpsExchange SigningKeys Publish
            StaticMirror ArgumentParser Logging
            """,
        also: [module("SnapshotServer", trait: "Server")], as: .executable),

    // MARK: Publish: keys, sources, signing
    room("Publish/SigningKeys", uses: "SnapshotTrust ContentSigning SnapshotBundle", tests: "Crypto"),
    room(
        "Publish/Publish",
        uses: "SnapshotTrust ContentSigning SnapshotBundle TargetFilter Dumps RemoteSettingsHTTP ConfigParameters",
        tests: "SigningKeys Crypto"),

    // MARK: Server: what an origin serves; NIO is here only, with the trait `Server`
    room(
        "Server/StaticMirror", uses: "SnapshotBundle Dumps CLZ4 RemoteSettingsHTTP SnapshotOrigin", tests: ""),
    room(
        "Server/SnapshotServer",
        uses: """
            SnapshotTrust ContentSigning SnapshotBundle Dumps CMappedFaults RemoteSettingsHTTP SnapshotOrigin
            ConfigParameters StaticMirror HTTPTypes Hummingbird HummingbirdCore Logging NIOCore NIOHTTP1 NIOPosix ServiceLifecycle
            """,
        tests: "NIOEmbedded"),

    // MARK: Examples, and what tests use
    target("FaultyServer", at: "Tests/Network/FaultyServer", uses: "CZlib RemoteSettingsHTTP"),
    target("config-example", at: "Examples/ConfigExample", uses: "RemoteConfiguration", as: .executable),
    target(
        "flag-server", at: "Examples/FlagServer", uses: "RemoteSettings RemoteSettingsConfiguration",
        also: ["Hummingbird", "ServiceLifecycle", "Configuration", "Logging"].map { module($0, trait: nil) },
        as: .executable),
    [.target(name: "EmbeddedSampleDumps", path: "Examples/SampleApp/EmbeddedSampleDumps")],
    target(
        "SampleAppLogic", at: "Examples/SampleApp/Logic",
        uses: "RemoteSettings RemoteConfiguration EmbeddedSampleDumps"),
    target(
        "sample-terminal", at: "Examples/SampleApp/Terminal", uses: "RemoteConfiguration SampleAppLogic",
        as: .executable),
    target(
        "SampleAppTests", at: "Examples/SampleApp/Tests",
        uses: "RemoteConfiguration RemoteSettingsTesting SampleAppLogic", as: .test),

    // MARK: Lab: fuzzers, benchmarks, the soak and the processes that tests start, in Tests/Lab
    lab(
        "FuzzTargets",
        uses: """
            SnapshotTrust ContentSigning SnapshotBundle TargetFilter Dumps RemoteSettingsHTTP SnapshotOrigin
            RemoteSettings ConfigParameters RemoteConfiguration RemoteSettingsTesting DumpsRefresh DumpsExchange
            SigningKeys Publish StaticMirror SnapshotServer Crypto HTTPTypes NIOHTTP1 SwiftASN1 X509
            """,
        as: .regular),
    lab("rsfuzz", uses: "FuzzTargets"),
    lab("FuzzTargetsTests", uses: "FuzzTargets", as: .test),
    lab(
        "rsbench",
        uses: """
            SnapshotTrust SnapshotBundle Dumps CZlib RemoteSettingsHTTP CurlTransport RemoteSettings
            RemoteConfiguration RemoteSettingsTesting DumpsRefresh Crypto
            """),
    lab("rsbench-app", uses: "SnapshotBundle RemoteSettings RemoteSettingsBlocking"),
    lab("soak", uses: "SnapshotTrust ContentSigning SnapshotBundle RemoteSettingsHTTP RemoteSettings"),
    lab("storage-process", uses: "RemoteSettings"),
    lab("catalogue-process", uses: "RemoteSettingsHTTP RemoteSettings"),
    lab("blocking-process", uses: "RemoteSettingsBlocking RemoteSettingsTesting"),
    lab("config-process", uses: "RemoteConfiguration"),
].flatMap(\.self)

#if os(macOS)
// The screens of the sample app: open Package.swift in Xcode, and run the scheme SampleApp.
package.targets += target("SampleApp", at: "Examples/SampleApp/App", uses: "SampleAppLogic", as: .executable)
#endif

// MARK: How a target is made

/// A room, and its tests. `uses` are rooms and modules of other packages, `also` those that it uses under a condition;
/// `tests` is what its tests use besides, and `nil` if it has none of its own.
func room(
    _ place: String, uses: String = "", also: [Target.Dependency] = [], settings: [SwiftSetting] = [],
    as type: Target.TargetType = .regular, tests: String? = nil, testsAlso: [Target.Dependency] = []
) -> [Target] {
    let name = String(place.drop { $0 != "/" }.dropFirst())
    let room = target(name, at: "Sources/\(place)", uses: uses, also: also, settings: settings, as: type)
    // Apple asks for a privacy manifest where a file's times or size are looked at. It is a resource, which a build on
    // Linux would put beside each program, so that it is one on Macs only.
    for target in room where name == "SnapshotBundle" {
        #if os(macOS)
        target.resources = [.copy("PrivacyInfo.xcprivacy")]
        #else
        target.exclude = ["PrivacyInfo.xcprivacy"]
        #endif
    }
    guard let tests else { return room }
    let all = "\(name) \(uses) \(tests)"
    return room + target("\(name)Tests", at: "Tests/\(place)Tests", uses: all, also: also + testsAlso, as: .test)
}

/// What has something in it with the trait `Lab` only.
func lab(_ name: String, uses: String, as type: Target.TargetType = .executable) -> [Target] {
    target(name, at: "Tests/Lab/\(name)", uses: uses, as: type, trait: "Lab")
}

/// One target. It uses RemoteSettingsModel, too.
func target(
    _ name: String, at path: String, uses: String = "", also: [Target.Dependency] = [],
    settings: [SwiftSetting] = [], as type: Target.TargetType = .regular, trait: String? = nil
) -> [Target] {
    let model = "RemoteSettingsModel"
    let named = uses.split { " \n".contains($0) }.map(String.init).filter { $0 != model }
    let all = ((name == model ? [] : [model]) + named).map { module($0, trait: trait) } + also
    let settings = settings + [.strictMemorySafety(), .treatAllWarnings(as: .error)]
    switch type {
    case .test: return [.testTarget(name: name, dependencies: all, path: path, swiftSettings: settings)]
    case .executable:
        // With Swift's libraries linked in, a program exports 40,000 symbols, and is an eighth slower to start for it.
        // Flags like this one are allowed in programs, as no other package links them.
        let unexported = LinkerSetting.unsafeFlags(["-Xlinker", "--no-export-dynamic"], .when(platforms: [.linux]))
        return [
            .executableTarget(
                name: name, dependencies: all, path: path, swiftSettings: settings,
                linkerSettings: name == "rsdump" ? [unexported] : [])
        ]
    default: return [.target(name: name, dependencies: all, path: path, swiftSettings: settings)]
    }
}

func system(_ name: String, _ library: String, apt: String, brew: String? = nil) -> [Target] {
    let providers: [SystemPackageProvider] = [.apt([apt])] + (brew.map { [.brew([$0])] } ?? [])
    return [.systemLibrary(name: name, path: "Sources/C/\(name)", pkgConfig: library, providers: providers)]
}

/// A room, or a module of another package.
func module(_ name: String, trait: String?) -> Target.Dependency {
    let packages = [
        "ArgumentParser": "swift-argument-parser", "Crypto": "swift-crypto", "Logging": "swift-log",
        "Subprocess": "swift-subprocess", "SwiftASN1": "swift-asn1", "X509": "swift-certificates",
    ]
    let packagesOfServer = [
        "HTTPTypes": "swift-http-types", "Hummingbird": "hummingbird", "HummingbirdCore": "hummingbird",
        "NIOCore": "swift-nio", "NIOEmbedded": "swift-nio", "NIOHTTP1": "swift-nio", "NIOPosix": "swift-nio",
        "ServiceLifecycle": "swift-service-lifecycle",
    ]
    if let package = packagesOfServer[name] {
        return .product(name: name, package: package, condition: .when(traits: ["Server"]))
    }
    if name.hasPrefix("Configuration") {
        return .product(
            name: name, package: "swift-configuration", condition: .when(traits: ["RemoteSettingsConfiguration"]))
    }
    let condition = trait.flatMap { TargetDependencyCondition.when(traits: [$0]) }
    guard let package = packages[name] else { return .target(name: name, condition: condition) }
    return .product(name: name, package: package, condition: condition)
}

/// Apple systems have a network of their own, on all others it is libcurl's.
func networks() -> [Target.Dependency] {
    let apple: [Platform] = [.macOS, .iOS, .tvOS, .watchOS, .visionOS]
    return [
        .target(name: "URLSessionTransport", condition: .when(platforms: apple)),
        .target(name: "CurlTransport", condition: .when(platforms: [.linux, .android, .openbsd])),
    ]
}
