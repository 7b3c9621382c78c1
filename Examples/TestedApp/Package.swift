// swift-tools-version: 6.2
import PackageDescription

// A package of its own, as an app's would be. Its tests depend on the testing product and on nothing else of this
// package.
let package = Package(
    name: "TestedApp",
    platforms: [.macOS(.v15)],
    dependencies: [.package(name: "swift-remote-settings", path: "../..")],
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
