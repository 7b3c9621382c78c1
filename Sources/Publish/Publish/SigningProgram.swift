import Dumps
import RemoteSettingsModel

/// The command of `publish --sign-with`. It reads the message to sign from its standard input, and writes the signature
/// to its standard output.
package struct SigningProgram: Sendable {
    /// The most bytes of its output. A signature has about a hundred.
    private static let outputBytes = 4 << 10

    private let command: String
    private let limits: Limits

    /// - Parameter command: a command for the shell.
    package init(_ command: String, limits: Limits = Limits()) {
        self.command = command
        self.limits = limits
    }

    /// Runs the command. Does I/O.
    ///
    /// - Returns: what it wrote.
    /// - Throws: ``SigningProgramError`` if it fails, takes too long or writes too much.
    package func sign(_ message: Bytes) async throws(SigningProgramError) -> Bytes {
        do throws(ExternalProgram.Failure) {
            let finished = try await ExternalProgram(shell: command)
                .run(input: message, mostOutput: Self.outputBytes, seconds: limits.programSeconds)
            guard finished.status == 0 else { throw .failed(finished.reason) }
            return Bytes(finished.output)
        } catch {
            throw SigningProgramError(problem: "\(error)")
        }
    }
}

/// Why the command of `publish --sign-with` gave no signature. The command itself is not quoted, because a PIN may be
/// in it.
package struct SigningProgramError: Error, Hashable, Sendable, CustomStringConvertible {
    package let problem: String

    package var description: String {
        "--sign-with: expected a signature on the command's standard output, found that it failed: \(problem); nothing "
            + "was published; try the command by itself, with any text on its standard input"
    }
}
