/// What is wrong with a file that people write (`dumps.yaml`, or the sources of a collection), on which line, and how
/// to correct it.
package struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    package let file: String
    /// Counted from 1; `nil` for the file as a whole.
    package var line: Int?
    package let problem: String
    package let remedy: String

    package init(file: String, line: Int? = nil, problem: String, remedy: String) {
        self.file = file
        self.line = line
        self.problem = problem
        self.remedy = remedy
    }

    package var description: String {
        "\(file)\(line.map { ":\($0)" } ?? ""): \(problem); \(remedy)"
    }
}

/// All problems of some source files, in the order of files and lines.
package struct SourceProblems: Error, Sendable, CustomStringConvertible {
    package let problems: [ConfigurationError]

    package init(problems: [ConfigurationError]) {
        self.problems = problems
    }

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Collects the problems of one collection's files, so that an author sees all of them at once.
package struct ProblemList: Sendable {
    /// The most problems that are collected. Further ones mostly follow from these.
    private static let most = 50
    package private(set) var problems: [ConfigurationError] = []
    package var notes: [String] = []

    package init() {}

    package var isFull: Bool { problems.count >= Self.most }

    package func has(_ file: String) -> Bool { problems.contains { $0.file == file } }

    package mutating func add(_ error: ConfigurationError) {
        if !isFull { problems.append(error) }
    }

    package mutating func add(_ file: String, _ line: Int?, _ problem: String, _ remedy: String) {
        add(ConfigurationError(file: file, line: line, problem: problem, remedy: remedy))
    }
}
