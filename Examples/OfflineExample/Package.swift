// swift-tools-version: 6.2
import PackageDescription

let strict: [SwiftSetting] = [.strictMemorySafety(), .treatAllWarnings(as: .error)]

// A separate package, like an app's. Without traits, no dependency of the tool is fetched.
let package = Package(
    name: "OfflineExample",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-remote-settings", path: "../..", traits: [])],
    targets: [
        .target(name: "EmbeddedDumps"),
        .executableTarget(
            name: "offline-example",
            dependencies: ["EmbeddedDumps", .product(name: "RemoteSettings", package: "swift-remote-settings")],
            swiftSettings: strict),
    ],
    swiftLanguageModes: [.v6]
)
