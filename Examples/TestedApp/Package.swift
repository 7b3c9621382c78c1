// swift-tools-version: 6.2
import PackageDescription

// A separate package, like an app's. Its tests depend only on the testing product of this repository.
let package = Package(
    name: "TestedApp",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-remote-settings", path: "../..", traits: [])],
    targets: [
        .target(
            name: "TestedApp",
            dependencies: [.product(name: "RemoteConfiguration", package: "swift-remote-settings")],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "TestedAppTests",
            dependencies: [
                "TestedApp", .product(name: "RemoteSettingsTesting", package: "swift-remote-settings"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error)]),
        .testTarget(
            name: "TestedAppXCTests",
            dependencies: [
                "TestedApp", .product(name: "RemoteSettingsTesting", package: "swift-remote-settings"),
            ],
            swiftSettings: [.treatAllWarnings(as: .error), .swiftLanguageMode(.v5)]),
    ],
    swiftLanguageModes: [.v6]
)
