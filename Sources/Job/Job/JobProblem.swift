import Dumps
import RemoteSettingsModel

/// A problem of a job, in the order of severity: what somebody has to repair comes after what the next run repairs.
package struct JobProblem: Error, Hashable, Sendable, CustomStringConvertible {
    /// The exit code that the problem leads to.
    package enum Code: Int32, CaseIterable, Comparable, Sendable {
        case done = 0
        case backoff = 4
        case unreachable = 5
        case tryAgain = 7
        case someFailed = 1
        case usage = 2
        case unverified = 3

        package static func < (left: Self, right: Self) -> Bool {
            left != right && allCases.first { $0 == left || $0 == right } == left
        }
    }

    package let code: Code
    /// A sentence as Markdown.
    package let text: String

    package init(_ code: Code, _ text: String) {
        (self.code, self.text) = (code, text)
    }

    /// Creates a problem of git, a file or the host of the repository, after which the next run tries again.
    init(_ error: any Error) {
        self = error as? JobProblem ?? Self(.tryAgain, MarkdownText.prose("\(error)"))
    }

    package var description: String { text }
}

extension MarkdownText {
    /// Returns the first five texts of a list as code spans.
    static func codes(_ texts: [String]) -> String {
        let shown = texts.prefix(5).map { code($0) }.joined(separator: ", ")
        return texts.count > 5 ? "\(shown) and \(texts.count - 5) more" : shown
    }
}
