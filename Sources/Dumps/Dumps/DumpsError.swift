import RemoteSettingsModel
import SnapshotBundle

/// Why a command could not start on a dumps directory, or why the directory does not accept something.
package enum DumpsError: Error, Hashable, Sendable, CustomStringConvertible {
    case busy(String)
    case nothingConfigured(String)
    case notConfigured([CollectionID], String)
    /// The collections to remove are not named in dumps.yaml.
    case notNamed([CollectionID], String)
    case notLocked([CollectionID], String)
    /// The lock lists no bundles.
    case nothingLocked(String)
    /// The lock file has collections that `dumps.yaml` does not list.
    case unlisted([CollectionID], String)
    /// The output would overwrite the dumps.
    case ownDirectory(String)
    case emptyMonitor(String)
    /// Neither state of a collection can be merged.
    case nothingVerifies(CollectionID, problem: String)
    /// The things to compare do not exist.
    case notComparable(String)
    /// The snapshot must not replace the current one.
    case refused(CollectionID, expected: String, found: String, remedy: String)

    package var description: String {
        switch self {
        case .busy(let path): "another rsdump is running in \(path); run this again when it has ended"
        case .nothingConfigured(let file): "\(file) names no collections; add one with: rsdump add BUCKET/COLLECTION"
        case .notConfigured(let names, let file):
            "\(Counted.list(names)) \(Counted.noun(names.count, "is", plural: "are")) not in \(file); add "
                + "\(Counted.noun(names.count, "it", plural: "them")) with: rsdump add "
                + (names.count == 1 ? "\(names[0])" : "BUCKET/COLLECTION…")
        case .notNamed(let names, let file):
            "\(file): expected \(Counted.list(names)), found no such "
                + "\(Counted.noun(names.count, "collection")); nothing was removed"
        case .notLocked(let names, let file):
            "\(file) has no \(Counted.list(names)); fetch what is missing with: rsdump refresh"
        case .nothingLocked(let file):
            "\(file): expected bundles, found none; fetch them with rsdump refresh, or give their directory with "
                + "--dumps"
        case .unlisted(let names, let file):
            "\(file) does not list \(Counted.list(names)), and the lock file does; remove "
                + "\(Counted.noun(names.count, "it", plural: "them")) with rsdump refresh, or run rsdump add"
        case .ownDirectory(let path):
            "\(path): this is the dumps directory, which this command only reads; give another directory with --output"
        case .nothingVerifies(let id, let problem):
            "\(id): expected a state that verifies, found none on either side: \(problem); restore one side's "
                + "dumps.lock.json and bundle with git checkout --ours or --theirs, and run rsdump refresh"
        case .emptyMonitor(let server): "\(server): the monitor answered 204, expected its list of collections"
        case .notComparable(let problem): problem
        case .refused(let id, let expected, let found, let remedy):
            "\(id): expected \(expected), found \(found); \(remedy)"
        }
    }
}

extension Error {
    /// Whether a file of this machine could not be read or written, as on a full disk. Such an error says nothing about
    /// the data, so it must not be wrapped in one that does.
    package var isOfMachine: Bool {
        switch self as any Error {
        case let error as BundleError:
            error.code == .storage && !error.isWrongKind && !error.isMissing && !error.isOfSource
        case HistoryError.file(let error): error.isOfMachine
        default: false
        }
    }
}

extension ConfigurationError {
    /// The error for two collections whose names differ only in case.
    static func sameBundle(_ id: CollectionID, _ other: CollectionID, file: String, line: Int?) -> ConfigurationError {
        ConfigurationError(
            file: file, line: line,
            problem: "\(min(id, other)) and \(max(id, other)) would share one bundle file where file "
                + "names ignore case",
            remedy: "move one of them to another dumps directory")
    }
}
