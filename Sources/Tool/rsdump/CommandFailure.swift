import Dumps
import RemoteSettingsModel

/// An error that makes a command fail, with a message and an exit code.
struct CommandFailure: Error, CustomStringConvertible {
    let status: ExitStatus
    let description: String

    init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = description
    }

    /// Creates a failure from any error, with the exit code for its failure code, or 1 if it has none.
    init(_ error: any Error) {
        if let failure = error as? CommandFailure {
            self = failure
        } else {
            self.init(error.failureCode.map { ExitStatus($0) } ?? .someFailed, "\(error)")
        }
    }
}
