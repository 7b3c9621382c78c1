import Foundation
import PackagePlugin

/// `swift package verify-dumps [OPTION...]`: runs `rsdump verify --locked` in the package's directory, with these
/// options. Uses no network and writes nothing, so it needs no permission.
@main
struct VerifyDumps: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) throws {
        let process = Process()
        process.executableURL = try context.tool(named: "rsdump").url
        process.currentDirectoryURL = context.package.directoryURL
        process.arguments = ["verify", "--locked"] + arguments
        try process.run()
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            Diagnostics.error("rsdump verify ended with exit code \(process.terminationStatus)")
            return
        }
    }
}
