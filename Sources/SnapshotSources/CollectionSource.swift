import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// A collection as its source files have it: checked, without timestamps and signatures.
package struct CollectionSource: Sendable {
    package let id: CollectionID
    /// Sorted by id; no two have the same.
    package let records: [SourceRecord]
    /// The files that records name, by their hash.
    package let attachments: [SHA256Digest: AttachmentInput]
    /// Members of the collection's metadata, without those that publishing sets.
    package let metadata: [JSONValue.Member]
    /// What may be a mistake, a line each, with file and line.
    package let notes: [String]
}

/// A record of a source.
package struct SourceRecord: Sendable {
    package let id: String
    /// All members, the id among them, as JSON text without braces; no `last_modified`.
    package let members: Bytes
    package let file: String
    package let line: Int
}

/// Everything that is wrong with sources, in the order of files and lines.
package struct SourceProblems: Error, Sendable, CustomStringConvertible {
    package let problems: [ConfigurationError]

    package init(problems: [ConfigurationError]) {
        self.problems = problems
    }

    package var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// Collects what is wrong with one collection's files, so that an author sees all of it at once.
struct ProblemList {
    /// Further ones are not collected: they are mostly consequences.
    private static let most = 50
    private(set) var problems: [ConfigurationError] = []
    var notes: [String] = []

    var isFull: Bool { problems.count >= Self.most }

    func has(_ file: String) -> Bool { problems.contains { $0.file == file } }

    mutating func add(_ error: ConfigurationError) {
        if !isFull { problems.append(error) }
    }

    mutating func add(_ file: String, _ line: Int?, _ problem: String, _ remedy: String) {
        add(ConfigurationError(file: file, line: line, problem: problem, remedy: remedy))
    }
}
