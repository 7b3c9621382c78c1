// Processes that tests and Tests/Faults/soak start and kill. The first argument is one of the modes below.
//
//     test-process author DIR
//     test-process apps STORAGE DUMPS SERVER ROOT STARTS SYNCS SEED
//     test-process resident STORAGE DUMPS SERVER ROOT
//
// These three are the parts of the soak test that need the package: the author, which signs, and the apps, which read.
// They use the process's clock, which the script changes. `author` writes a dumps directory for `rsdump serve --watch`
// and reads commands from standard input. `apps` starts STARTS apps one after another, of which SYNCS percent sync.
// `resident` is a long-running app that syncs and reads at each line of standard input. All print the states they wrote
// or saw, one per line: `COLLECTION TIMESTAMP SHA256-OF-THE-PAYLOAD`.

import Foundation
import SnapshotBundle

/// Writes a line without buffering, so that no output is lost when the process is killed.
func say(_ line: String) {
    let bytes = Array("\(line)\n".utf8)
    unsafe bytes.withUnsafeBytes { _ = unsafe systemWrite(1, $0.baseAddress, $0.count) }
}

@main
struct TestProcess {
    static func main() throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        // This mode blocks the main thread, so it must not run in a task.
        if arguments.first == "blocking" { return try BlockingProcess.run(arguments) }
        Task {
            do {
                try await run(arguments)
                exit(0)
            } catch {
                say("\(error)")
                exit(1)
            }
        }
        dispatchMain()
    }

    private static func run(_ arguments: [String]) async throws {
        switch (arguments.first, arguments.count) {
        case ("storage", _): try await StorageProcess.run(arguments)
        case ("config", _): try await ConfigProcess.run(arguments)
        #if !canImport(Darwin)
        case ("request", 3):
            guard let seconds = Int(arguments[2]) else { exit(2) }
            await RequestProcess.run(arguments[1], seconds: seconds)
        #endif
        case ("author", 2):
            var author = try SoakAuthor(directory: arguments[1])
            try author.run()
        case ("apps", 8):
            guard let starts = Int(arguments[5]), let syncs = Int(arguments[6]), let seed = UInt64(arguments[7])
            else { exit(2) }
            let apps = try SoakApps(
                storage: arguments[1], dumps: arguments[2], server: arguments[3], root: arguments[4])
            try await apps.run(starts: starts, syncPercent: syncs, seed: seed)
        case ("resident", 5):
            let apps = try SoakApps(
                storage: arguments[1], dumps: arguments[2], server: arguments[3], root: arguments[4])
            try await apps.reside()
        default:
            say("usage: test-process MODE …; see Tests/Lab/test-process")
            exit(2)
        }
    }
}
