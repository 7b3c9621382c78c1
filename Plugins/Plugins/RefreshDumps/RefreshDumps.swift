import Foundation
import PackagePlugin

/// `swift package refresh-dumps [OPTION...]`: runs `rsdump refresh` in the package's directory, with these options.
///
/// Uses the network and writes below `dumps/`, so SwiftPM asks for permission:
///
///     swift package --allow-writing-to-package-directory --allow-network-connections all refresh-dumps
@main
struct RefreshDumps: CommandPlugin {
    func performCommand(context: PluginContext, arguments: [String]) throws {
        let process = Process()
        process.executableURL = try context.tool(named: "rsdump").url
        process.currentDirectoryURL = context.package.directoryURL
        process.arguments = ["refresh"] + arguments
        try process.run()
        process.waitUntilExit()
        // The exit codes are those of the command. rsdump --help lists them.
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            Diagnostics.error("rsdump refresh ended with exit code \(process.terminationStatus)")
            return
        }
    }
}
