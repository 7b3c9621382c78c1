// swift-tools-version: 6.2
import PackageDescription

// Copied to a place of its own by scripts/check-config-consumer, and built there as an app's package would be.
let package = Package(
    name: "ConfigConsumer",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-remote-settings", path: "../..", traits: [])],
    targets: [
        .executableTarget(
            name: "guide",
            dependencies: [.product(name: "RemoteConfiguration", package: "swift-remote-settings")],
            swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)])
    ],
    swiftLanguageModes: [.v6]
)
