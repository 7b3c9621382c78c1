import Foundation
import Testing

extension Trait where Self == ConditionTrait {
    /// For tests that compare with other programs or with real data.
    static var external: Self {
        .enabled(
            if: ProcessInfo.processInfo.environment["RS_EXTERNAL"] == "1",
            "needs other programs, or data that is fetched; scripts/test external runs it")
    }
}

let repository = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

/// What a program of the repository prints.
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
    try #require(process.terminationStatus == 0, "\(program) \(arguments) failed; see its messages")
    return data
}
