import RemoteSettingsModel

/// The problems of one collection's files, collected so that an author sees all of them at once.
package struct ProblemList: Sendable {
    /// The maximum number of problems. Further ones are usually consequences of the earlier ones.
    private static let most = 50
    package private(set) var problems: [Failure] = []
    package var notes: [String] = []

    package init() {}

    package var isFull: Bool { problems.count >= Self.most }

    package func has(_ file: String) -> Bool { problems.contains { $0.place == file } }

    package mutating func add(_ error: Failure) {
        if !isFull { problems.append(error) }
    }

    package mutating func add(_ file: String, _ line: Int?, _ problem: String, _ remedy: String) {
        add(Failure(place: file, line: line, problem: problem, remedy: remedy))
    }
}
