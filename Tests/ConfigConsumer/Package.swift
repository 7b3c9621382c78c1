// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error)]

func product(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-remote-settings") }

// scripts/check consumer copies this package to a temporary directory and builds it like an app. It writes the sources of
// start-app and start-publish from the documentation's start pages, and copies those of moved.
let package = Package(
    name: "ConfigConsumer",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-remote-settings", path: "../..", traits: ["RemoteSettingsConfiguration"])],
    targets: [
        .executableTarget(
            name: "first", dependencies: [product("FirefoxDumps"), product("RemoteSettings")], swiftSettings: strict),
        .executableTarget(name: "start-app", dependencies: [product("RemoteSettings")], swiftSettings: strict),
        .executableTarget(name: "start-publish", dependencies: [product("RemoteConfiguration")], swiftSettings: strict),
        .target(name: "Common", swiftSettings: strict),
        .target(name: "OlderBinding", swiftSettings: strict),
        .target(
            name: "moved",
            dependencies: [
                "Common", "OlderBinding", product("RemoteSettingsBlocking"), product("RemoteConfiguration"),
            ],
            swiftSettings: strict),
        .target(
            name: "moved-swift5",
            dependencies: [
                "Common", "OlderBinding", product("RemoteSettingsBlocking"), product("RemoteConfiguration"),
            ],
            swiftSettings: strict + [.swiftLanguageMode(.v5)]),
    ],
    swiftLanguageModes: [.v6]
)
