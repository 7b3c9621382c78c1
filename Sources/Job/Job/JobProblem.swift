import Dumps
import RemoteSettingsModel

/// A problem of a job.
package struct JobProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The exit code that the problem leads to.
    package let code: ExitStatus
    /// A sentence as Markdown.
    package let text: String

    package init(_ code: ExitStatus, _ text: String) {
        (self.code, self.text) = (code, text)
    }

    /// Creates a problem of git, a file or the host of the repository, after which the next run tries again.
    init(_ error: any Error) {
        self = error as? JobProblem ?? Self(.tryAgain, MarkdownText.prose("\(error)"))
    }

    package var description: String { text }
}

extension ExitStatus {
    /// The exit codes of a job, the worst last: what somebody has to repair comes after what the next run repairs.
    private static let bySeverity: [Self] = [.done, .backoff, .unreachable, .tryAgain, .someFailed, .usage]

    /// How bad a problem with this exit code is; the worst problem determines the job's exit code.
    var severity: Int { Self.bySeverity.firstIndex(of: self) ?? Self.bySeverity.count }
}

extension MarkdownText {
    /// Returns the first five texts of a list as code spans.
    static func codes(_ texts: [String]) -> String {
        let shown = texts.prefix(5).map { code($0) }.joined(separator: ", ")
        return texts.count > 5 ? "\(shown) and \(texts.count - 5) more" : shown
    }
}
