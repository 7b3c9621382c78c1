import Dumps
import RemoteSettingsModel

/// The command of `publish --sign-with`. It receives the message on its standard input, and writes the signature to its
/// standard output.
package struct SigningProgram: Sendable {
    /// The maximum size of the output in bytes. A signature is about 100 bytes long.
    private static let outputBytes = 4 << 10

    private let command: String
    private let seconds: Int

    /// Creates a signing program.
    ///
    /// - Parameters:
    ///   - command: a shell command.
    ///   - seconds: the time limit for the command, in seconds.
    package init(_ command: String, seconds: Int = 120) {
        self.command = command
        self.seconds = seconds
    }

    /// Runs the command. Does I/O.
    ///
    /// - Returns: the command's output.
    /// - Throws: `Failure` if the command fails, runs too long or writes too much.
    package func sign(_ message: Bytes) async throws(Failure) -> Bytes {
        do throws(Failure) {
            let finished = try await ExternalProgram(shell: command)
                .run(input: message, mostOutput: Self.outputBytes, seconds: seconds)
            guard finished.status == 0 else { throw .programFailed(finished.reason) }
            return Bytes(finished.output)
        } catch {
            throw error.isOfMachine ? error : .noSignature("\(error)")
        }
    }
}
