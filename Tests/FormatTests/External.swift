import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// For tests that need other programs or real data.
    static var external: Self {
        .enabled(
            if: ProcessInfo.processInfo.environment["RS_EXTERNAL"] == "1",
            "needs external programs or fetched data; run scripts/test external")
    }
}

let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

/// Returns the standard output of a program in the repository.
func output(of program: String, _ arguments: [String] = []) throws -> Data {
    let process = Process()
    process.executableURL = repository.appending(path: program)
    process.arguments = arguments
    process.currentDirectoryURL = repository
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let data = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(program) \(arguments) failed; see its output")
    return data
}
