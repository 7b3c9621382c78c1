import Dumps
import Job
import RemoteSettingsModel

/// An error that makes a command fail, with a message and an exit code.
struct CommandFailure: Error, CustomStringConvertible {
    let status: ExitStatus
    let description: String

    init(_ status: ExitStatus, _ description: String) {
        self.status = status
        self.description = description
    }

    /// Returns the exit code of a command in which some collections failed: theirs, if it is the same for all.
    static func status(of results: [Result<some Any, any Error>]) -> ExitStatus {
        let all = Set(results.compactMap { if case .failure(let error) = $0 { Self(error).status } else { nil } })
        return all.isEmpty ? .done : all.first.flatMap { all.count == 1 ? $0 : nil } ?? .someFailed
    }

    /// Creates a failure from any error, with the exit code for its failure code, or 1 if it has none.
    init(_ error: any Error) {
        switch error {
        case let failure as CommandFailure: self = failure
        case let problem as JobProblem: self.init(problem.code, problem.text)
        default: self.init((error as? Failure).map { ExitStatus($0) } ?? .someFailed, "\(error)")
        }
    }
}
