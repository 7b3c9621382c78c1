import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Why something with a dumps directory, its configuration, its sources or its history failed.
package struct DumpsError: CodedError {
    /// What else a caller needs.
    enum Details: Hashable, Sendable {
        /// All problems of some files, in the order of files and lines.
        case problems([DumpsError])
        /// The keys and indexes that lead to a place in a document.
        case path([String])
        /// What exceeds a budget.
        case excess(BudgetExcess)
        /// The guards that a state violates.
        case violations([GuardViolation])
        /// The state that a catalogue lists, and the one that the server has.
        case states(listed: Timestamp, found: Timestamp)
        /// The failures for which a catalogue was not taken.
        case causes([CollectionID])
        /// The signer failed, so no other collection can be signed either.
        case signer
    }

    package let code: FailureCode
    /// The class of this failure, if it fails the refresh of a collection.
    package let kind: FailureKind
    /// The file, directory or collection that the problem is in; empty if the problem itself says it.
    package let file: String
    /// Counted from 1; `nil` for the file as a whole.
    package var line: Int?
    /// The entry, record or member in the file; `nil` for the file as a whole.
    package let entry: String?
    package let problem: String
    /// What to do next; empty if the problem says it.
    package let remedy: String
    let details: Details?

    /// - Parameter kind: `nil` for the one that belongs to the code.
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

    /// An error for all problems of some files, in the order of files and lines.
    package init(problems: [DumpsError]) {
        self.init(
            .usage, problem: problems.map(\.description).joined(separator: "\n"), details: .problems(problems))
    }

    package var description: String {
        let place = [file + (line.map { ":\($0)" } ?? ""), entry ?? "", problem].filter { !$0.isEmpty }
        return place.joined(separator: ": ") + (remedy.isEmpty ? "" : "; \(remedy)")
    }
}

extension DumpsError {
    /// The problems, each with its own file and line. An error of one problem is its own list.
    package var problems: [DumpsError] {
        if case .problems(let problems)? = details { problems } else { [self] }
    }

    /// The keys and indexes that lead to the faulty place in a schema; empty for other errors.
    package var path: [String] {
        if case .path(let path)? = details { path } else { [] }
    }

    /// What exceeds the budget; `nil` for other errors.
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

// The sentences about directories and arguments.
extension DumpsError {
    package static func busy(_ path: String) -> Self {
        Self(.busy, problem: "another rsdump is running in \(path)", remedy: "try again when it has finished")
    }

    static func nothingConfigured(_ file: String) -> Self {
        Self(file: file, problem: "the file lists no collections", remedy: "add one with: rsdump add BUCKET/COLLECTION")
    }

    package static func notConfigured(_ names: [CollectionID], _ file: String) -> Self {
        Self(
            problem: "\(Counted.list(names)) \(Counted.noun(names.count, "is", plural: "are")) not in \(file)",
            remedy: "add \(Counted.noun(names.count, "it", plural: "them")) with: rsdump add "
                + (names.count == 1 ? "\(names[0])" : "BUCKET/COLLECTION…"))
    }

    /// The collections to remove are not in dumps.yaml.
    package static func notNamed(_ names: [CollectionID], _ file: String) -> Self {
        Self(
            file: file, problem: "the file does not list \(Counted.list(names))",
            remedy: "nothing was removed; correct the \(Counted.noun(names.count, "name"))")
    }

    package static func notLocked(_ names: [CollectionID], _ file: String) -> Self {
        Self(
            file: file, problem: "the file does not list \(Counted.list(names))",
            remedy: "fetch what is missing with: rsdump refresh")
    }

    /// The lock file lists no bundles.
    static func nothingLocked(_ file: String) -> Self {
        Self(
            file: file, problem: "the file lists no bundles",
            remedy: "fetch them with rsdump refresh, or give their directory with --dumps")
    }

    /// The lock file has collections that `dumps.yaml` does not list.
    static func unlisted(_ names: [CollectionID], _ file: String) -> Self {
        Self(
            file: file, problem: "the file does not list \(Counted.list(names)), but the lock file does",
            remedy: "remove \(Counted.noun(names.count, "it", plural: "them")) with rsdump refresh, or run rsdump add")
    }

    /// The output would overwrite the dumps.
    package static func ownDirectory(_ path: String) -> Self {
        Self(
            file: path, problem: "this is the dumps directory, which this command only reads",
            remedy: "give a different directory with --output")
    }

    package static func emptyMonitor(_ server: String) -> Self {
        Self(
            .content, file: server, problem: "the server sent no list of its collections (204)",
            remedy: "check the server's URL, or try again later")
    }

    /// The snapshot must not replace the current one.
    package static func refused(_ id: CollectionID, _ problem: String, remedy: String) -> Self {
        Self(.refused, file: "\(id)", problem: problem, remedy: remedy)
    }

    /// What a signer threw.
    package static func signer(_ error: any Error) -> Self {
        Self(error.failureCode ?? .program, problem: "\(error)", details: .signer)
    }

    /// Two collections whose names differ only in case.
    static func sameBundle(_ id: CollectionID, _ other: CollectionID, file: String, line: Int?) -> Self {
        Self(
            file: file, line: line,
            problem: "\(min(id, other)) and \(max(id, other)) would share one bundle file where file "
                + "names ignore case",
            remedy: "move one of them to a different dumps directory")
    }
}

extension Error {
    /// What callers tell apart about this error; `nil` for errors of other packages.
    package var failureCode: FailureCode? {
        switch self as any Error {
        case let error as BundleError:
            switch error.code {
            // A path of the wrong kind, or a file that is not there, says nothing about the machine.
            case .storage where error.isWrongKind || error.isMissing || error.isOfSource:
                error.isOfSystem ? .usage : .damaged
            case .content: .usage
            case .missing: .damaged
            default: error.code
            }
        // A server's answer that is no changeset says nothing about the bundles.
        case let error as HTTPError where error.fault == .changeset: .content
        case let error as any CodedError: error.code
        case is CancellationError: .cancelled
        default: nil
        }
    }

    /// Whether a file of this machine could not be read or written, as on a full disk. Such an error says nothing about
    /// the data, so it must not be wrapped in one that does.
    package var isOfMachine: Bool { failureCode == .storage }
}
