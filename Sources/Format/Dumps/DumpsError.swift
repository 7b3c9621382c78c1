import RemoteSettingsModel

/// Why a command on a dumps directory could not start, or what the directory does not take.
package enum DumpsError: Error, Hashable, Sendable, CustomStringConvertible {
    case busy(String)
    case nothingConfigured(String)
    case notConfigured([CollectionID], String)
    /// Collections that were to be removed from a dumps.yaml that does not name them.
    case notNamed([CollectionID], String)
    case notLocked([CollectionID], String)
    /// The lock lists no bundles.
    case nothingLocked(String)
    /// The output would overwrite the dumps.
    case ownDirectory(String)
    case emptyMonitor(String)
    /// Neither state of a collection can be merged.
    case nothingVerifies(CollectionID, problem: String)
    /// What was to be compared is not there.
    case notComparable(String)
    /// A snapshot does not replace the present one.
    case refused(CollectionID, expected: String, found: String, remedy: String)

    package var description: String {
        switch self {
        case .busy(let path): "another rsdump is at work in \(path); wait until it has ended, then run this again"
        case .nothingConfigured(let file): "\(file) names no collections; add one with: rsdump add BUCKET/COLLECTION"
        case .notConfigured(let names, let file):
            "\(Counted.list(names)) \(Counted.noun(names.count, "is", plural: "are")) not in \(file); add "
                + "\(Counted.noun(names.count, "it", plural: "them")) with: rsdump add "
                + (names.count == 1 ? "\(names[0])" : "BUCKET/COLLECTION…")
        case .notNamed(let names, let file):
            "\(file): expected \(Counted.list(names)), found no such "
                + "\(Counted.noun(names.count, "collection")); nothing was removed"
        case .notLocked(let names, let file):
            "\(file) has no \(Counted.list(names)); fetch it with: rsdump refresh"
        case .nothingLocked(let file):
            "\(file): expected bundles, found none; fetch them with rsdump refresh, or name their directory with "
                + "--dumps"
        case .ownDirectory(let path):
            "\(path): expected another place than the dumps directory, which is only read; choose another --output"
        case .nothingVerifies(let id, let problem):
            "\(id): expected a state that verifies on one of the two sides, found none: \(problem); take one side's "
                + "dumps.lock.json and bundle with git checkout --ours or --theirs, and run rsdump refresh"
        case .emptyMonitor(let server): "\(server): the monitor answered 204, expected its list of collections"
        case .notComparable(let problem): problem
        case .refused(let id, let expected, let found, let remedy):
            "\(id): expected \(expected), found \(found); \(remedy)"
        }
    }
}

extension ConfigurationError {
    /// Two collections differ only in case.
    static func sameBundle(_ id: CollectionID, _ other: CollectionID, file: String, line: Int?) -> ConfigurationError {
        ConfigurationError(
            file: file, line: line,
            problem: "\(min(id, other)) and \(max(id, other)) would have the same bundle on a file system that "
                + "ignores case",
            remedy: "keep one of them in this directory, and the other in one of its own")
    }
}
