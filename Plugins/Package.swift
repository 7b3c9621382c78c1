// swift-tools-version: 6.0
import PackageDescription

// A separate package. The plugins run the prebuilt tool from the artifact bundle. scripts/package packs both into
// rsdump-VERSION-plugins.tar.gz.
let package = Package(
    name: "remote-settings-dumps",
    products: [
        .plugin(name: "RefreshDumps", targets: ["RefreshDumps"]),
        .plugin(name: "VerifyDumps", targets: ["VerifyDumps"]),
    ],
    targets: [
        .binaryTarget(name: "rsdump", path: "rsdump.artifactbundle"),
        .plugin(
            name: "RefreshDumps",
            capability: .command(
                intent: .custom(
                    verb: "refresh-dumps", description: "Download the changes of the collections in dumps/dumps.yaml."),
                permissions: [
                    .writeToPackageDirectory(reason: "It writes the bundles and the lock file below dumps/."),
                    .allowNetworkConnections(
                        scope: .all(), reason: "It downloads collections from the server in dumps/dumps.yaml."),
                ]),
            dependencies: ["rsdump"]),
        .plugin(
            name: "VerifyDumps",
            capability: .command(
                intent: .custom(
                    verb: "verify-dumps",
                    description: "Check every byte, hash and signature of dumps/ again, offline.")),
            dependencies: ["rsdump"]),
    ]
)
