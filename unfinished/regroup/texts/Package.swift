// swift-tools-version: 6.2
import PackageDescription

// The order of the targets is the plan: six floors, and C. A floor uses only floors before it; `Tool`, `Publish` and
// `Server` meet only in rsdump. A room is the folder Sources/FLOOR/ROOM, and its tests are in Tests/FLOOR/ROOMTests.

let package = Package(
    name: "swift-remote-settings",
    platforms: [.macOS(.v14), .iOS(.v16), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        "RemoteSettings", "RemoteSettingsBlocking", "RemoteConfiguration", "RemoteSettingsTesting", "FirefoxDumps",
    ].map { .library(name: $0, targets: [$0]) } + [.executable(name: "rsdump", targets: ["rsdump"])],
    traits: [
        .default(enabledTraits: []),
        .trait(name: "Server", description: "The command rsdump serve, which needs NIO and Hummingbird."),
        .trait(name: "Lab", description: "Fuzzers, benchmarks, the soak, and the processes that tests start."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-crypto.git", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-certificates.git", from: "1.21.1"),
        .package(url: "https://github.com/apple/swift-asn1.git", from: "1.7.4"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/swiftlang/swift-subprocess.git", from: "1.0.2", traits: []),
        // Those of the server are resolved with its trait only.
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
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
    [.target(name: "CCurl", path: "Sources/C/CCurl", linkerSettings: [.linkedLibrary("dl", .when(platforms: [.linux]))])],
    [.target(name: "CThreads", path: "Sources/C/CThreads")],
    [.target(name: "CMappedFaults", path: "Sources/C/CMappedFaults")],

FLOORS

    // MARK: Examples, and what tests use
EXAMPLES

    // MARK: Lab: fuzzers, benchmarks, the soak and the processes that tests start, in Tests/Lab
LAB
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
SERVER_MODULES
    ]
    if let package = packagesOfServer[name] {
        return .product(name: name, package: package, condition: .when(traits: ["Server"]))
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
