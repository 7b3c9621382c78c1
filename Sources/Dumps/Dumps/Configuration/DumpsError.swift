import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// An error concerning a dumps directory, its configuration, its sources or its history.
package struct DumpsError: CodedError {
    /// Additional data for callers.
    enum Details: Hashable, Sendable {
        /// The problems found in a set of files, sorted by file and line.
        case problems([DumpsError])
        /// The keys and indexes that lead to the invalid part of a schema.
        case path([String])
        /// The excess over a budget.
        case excess(BudgetExcess)
        /// The guards that a state violates.
        case violations([GuardViolation])
        /// The signer failed, so no other collection can be signed either.
        case signer
    }

    package let code: FailureCode
    /// The class of this error in reports, if a collection's refresh fails with it.
    package let kind: FailureKind
    /// The affected file, directory or collection; empty if the problem already names it.
    package let file: String
    /// The line, starting with 1; `nil` if the problem concerns the whole file.
    package var line: Int?
    /// The affected entry, record or member in the file; `nil` if the problem concerns the whole file.
    package let entry: String?
    package let problem: String
    /// The suggested action; empty if the problem already suggests it.
    package let remedy: String
    let details: Details?

    /// Creates an error.
    ///
    /// - Parameter kind: the class of the failure; `nil` for the class that corresponds to the code.
    package init(
        _ code: FailureCode = .usage, kind: FailureKind? = nil, file: String = "", line: Int? = nil,
        entry: String? = nil, problem: String, remedy: String = ""
    ) {
        self.init(
            code, kind: kind, file: file, line: line, entry: entry, problem: problem, remedy: remedy, details: nil)
    }

    init(
        _ code: FailureCode, kind: FailureKind? = nil, file: String = "", line: Int? = nil, entry: String? = nil,
        problem: String, remedy: String = "", details: Details?
    ) {
        self.code = code
        self.kind = kind ?? FailureKind(code)
        self.file = file
        self.line = line
        self.entry = entry
        self.problem = problem
        self.remedy = remedy
        self.details = details
    }

    /// Creates an error that combines the problems found in a set of files. The caller must sort them by file and line.
    package init(problems: [DumpsError]) {
        self.init(.usage, problem: problems.map(\.description).joined(separator: "\n"), details: .problems(problems))
    }

    package var description: String {
        let place = file + (line.map { ":\($0)" } ?? "")
        return place.isEmpty ? withoutFile : "\(place): \(withoutFile)"
    }

    /// The error without the affected file or collection, for texts that show it elsewhere.
    var withoutFile: String {
        (entry.map { "\($0): " } ?? "") + problem + (remedy.isEmpty ? "" : "; \(remedy)")
    }
}

extension DumpsError {
    /// The problems, each with its own file and line; for a single problem, the error itself.
    package var problems: [DumpsError] {
        if case .problems(let problems)? = details { problems } else { [self] }
    }

    /// The keys and indexes that lead to the invalid part of a schema; empty for other errors.
    package var path: [String] {
        if case .path(let path)? = details { path } else { [] }
    }

    /// The excess over a budget; `nil` for other errors.
    package var excess: BudgetExcess? {
        if case .excess(let excess)? = details { excess } else { nil }
    }

    /// The violations of guards; empty for other errors.
    package var violations: [GuardViolation] {
        if case .violations(let violations)? = details { violations } else { [] }
    }

    /// Whether the signer failed, so that no other collection can be signed either.
    package var isOfSigner: Bool { details == .signer }
}

// Errors about directories and arguments.
extension DumpsError {
    package static func busy(_ path: String) -> Self {
        Self(.busy, problem: "another rsdump is running in \(path)", remedy: "try again when it has finished")
    }

    static func nothingConfigured(_ file: String) -> Self {
        Self(file: file, problem: "the file lists no collections", remedy: "add one with: rsdump add BUCKET/COLLECTION")
    }

    /// Returns an error for collections that `dumps.yaml` does not list.
    ///
    /// - Parameter known: the collections that it lists.
    package static func notConfigured(
        _ names: [CollectionID], _ file: String, known: some Sequence<CollectionID>
    ) -> Self {
        Self(
            problem: "\(Counted.list(names)) \(Counted.noun(names.count, "is", plural: "are")) not in \(file)",
            remedy: names.didYouMean(
                known,
                or: "add \(Counted.noun(names.count, "it", plural: "them")) with: rsdump add "
                    + (names.count == 1 ? "\(names[0])" : "BUCKET/COLLECTION…")))
    }

    /// Returns an error for collections to remove that `dumps.yaml` does not list.
    ///
    /// - Parameter known: the collections that it lists.
    package static func notNamed(_ names: [CollectionID], _ file: String, known: some Sequence<CollectionID>) -> Self {
        Self(
            file: file, problem: "the file does not list \(Counted.list(names)), and nothing was removed",
            remedy: names.didYouMean(known, or: "correct the \(Counted.noun(names.count, "name"))"))
    }

    /// Returns an error for collections that the lock file does not list.
    ///
    /// - Parameter known: the collections that it lists.
    package static func notLocked(_ names: [CollectionID], _ file: String, known: some Sequence<CollectionID>) -> Self {
        Self(
            file: file, problem: "the file does not list \(Counted.list(names))",
            remedy: names.didYouMean(known, or: "correct the name, or fetch missing bundles with: rsdump refresh"))
    }

    /// Returns an error for a lock file that lists no bundles.
    static func nothingLocked(_ file: String) -> Self {
        Self(
            file: file, problem: "the file is missing, or lists no bundles",
            remedy: "fetch bundles with rsdump refresh, or give another dumps directory with --dumps")
    }

    /// Returns an error for collections in the lock file that `dumps.yaml` does not list.
    static func unlisted(_ names: [CollectionID], _ file: String) -> Self {
        Self(
            file: file, problem: "the file does not list \(Counted.list(names)), but the lock file does",
            remedy: "run rsdump refresh to remove the \(Counted.noun(names.count, "bundle", plural: "bundles")), "
                + "or keep \(Counted.noun(names.count, "it", plural: "them")) with: rsdump add "
                + (names.count == 1 ? "\(names[0])" : "BUCKET/COLLECTION…"))
    }

    /// Returns an error for an output that would overwrite the dumps.
    package static func ownDirectory(_ path: String) -> Self {
        Self(
            file: path, problem: "this is the dumps directory, which this command only reads",
            remedy: "give a different directory with --output")
    }

    package static func emptyMonitor(_ server: String) -> Self {
        Self(
            .content, file: server, problem: "the server sent no list of its collections (HTTP 204)",
            remedy: "check the server's URL, or try again later")
    }

    /// Returns an error for a snapshot that must not replace the current one.
    package static func refused(_ id: CollectionID, _ problem: String, remedy: String) -> Self {
        Self(.refused, file: "\(id)", problem: problem, remedy: remedy)
    }

    /// Returns an error for a failed signer.
    package static func signer(_ error: any Error) -> Self {
        Self(error.failureCode ?? .program, problem: "\(error)", details: .signer)
    }

    /// Returns an error for two collections whose names differ only in case.
    static func sameBundle(_ id: CollectionID, _ other: CollectionID, file: String, line: Int?) -> Self {
        Self(
            file: file, line: line,
            problem: "\(min(id, other)) and \(max(id, other)) would share one bundle file on a file "
                + "system that ignores case",
            remedy: "move one of them to another dumps directory")
    }
}

extension Error {
    /// The failure code of this error; `nil` if it has none.
    package var failureCode: FailureCode? {
        switch self as any Error {
        case let error as BundleError:
            switch error.code {
            // A path of the wrong kind, or a missing or truncated file, is not a failure of this machine's storage.
            case .storage where error.isWrongKind || error.isMissing || error.isOfSource:
                error.isOfSystem ? .usage : .damaged
            case .content: .usage
            case .missing: .damaged
            default: error.code
            }
        // A response that is not a changeset is no evidence that the bundles are damaged.
        case let error as HTTPError where error.fault == .changeset: .content
        case let error as any CodedError: error.code
        case is CancellationError: .cancelled
        default: nil
        }
    }

    /// Whether a file on this machine could not be read or written, for example on a full disk. Such an error says
    /// nothing about the data, so it must not be reported as a problem with the data.
    package var isOfMachine: Bool { failureCode == .storage }
}
