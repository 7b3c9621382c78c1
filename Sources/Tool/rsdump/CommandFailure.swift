import Dumps
import RemoteSettingsModel

/// An error that ends a command, with a message and an exit code.
struct CommandFailure: Error, CustomStringConvertible {
    let status: ExitStatus
    let description: String

    init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = description
    }

    /// Wraps an error of a library, with the exit code that belongs to its code.
    init(_ error: any Error) {
        if let failure = error as? CommandFailure {
            self = failure
        } else {
            self.init(error.failureCode.map { ExitStatus($0) } ?? .someFailed, "\(error)")
        }
    }
}
