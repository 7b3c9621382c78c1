import Dumps
import RemoteSettingsModel

/// The command of `publish --sign-with`. It receives the message on its standard input, and writes the signature to its
/// standard output.
package struct SigningProgram: Sendable {
    /// The largest output in bytes. A signature needs about 100.
    private static let outputBytes = 4 << 10

    private let command: String
    private let seconds: Int

    /// Creates a signing program.
    ///
    /// - Parameters:
    ///   - command: a shell command.
    ///   - seconds: the longest time in seconds that the command may run.
    package init(_ command: String, seconds: Int = 120) {
        self.command = command
        self.seconds = seconds
    }

    /// Runs the command. Does I/O.
    ///
    /// - Returns: the command's output.
    /// - Throws: `DumpsError` if the command fails, runs too long or writes too much.
    package func sign(_ message: Bytes) async throws(DumpsError) -> Bytes {
        do throws(DumpsError) {
            let finished = try await ExternalProgram(shell: command)
                .run(input: message, mostOutput: Self.outputBytes, seconds: seconds)
            guard finished.status == 0 else { throw .programFailed(finished.reason) }
            return Bytes(finished.output)
        } catch {
            throw error.isOfMachine ? error : .noSignature("\(error)")
        }
    }
}
