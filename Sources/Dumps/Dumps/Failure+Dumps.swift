import RemoteSettingsModel

extension Failure {
    /// The keys and indexes that lead to the invalid part of a schema; empty for other failures.
    package var path: [String] { facts() ?? [] }

    /// The excess over a budget; `nil` for other failures.
    package var excess: BudgetExcess? { facts() }

    /// The violations of guards; empty for other failures.
    package var violations: [GuardViolation] { facts() ?? [] }
}

extension Error {
    /// Whether a file on this machine could not be read or written, for example on a full disk. Such an error says
    /// nothing about the data, so it must not be reported as a problem with the data.
    package var isOfMachine: Bool { (self as? Failure)?.isOfMachine ?? false }
}

// Errors about directories and arguments.
extension Failure {
    package static func busy(_ path: String) -> Self {
        Self(.busy, problem: "another rsdump is running in \(path)", remedy: "try again when it has finished")
    }

    static func nothingConfigured(_ file: String) -> Self {
        Self(
            place: file, problem: "the file lists no collections", remedy: "add one with: rsdump add BUCKET/COLLECTION")
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
            place: file, problem: "the file does not list \(Counted.list(names)), and nothing was removed",
            remedy: names.didYouMean(known, or: "correct the \(Counted.noun(names.count, "name"))"))
    }

    /// Returns an error for collections that the lock file does not list.
    ///
    /// - Parameter known: the collections that it lists.
    package static func notLocked(_ names: [CollectionID], _ file: String, known: some Sequence<CollectionID>) -> Self {
        Self(
            place: file, problem: "the file does not list \(Counted.list(names))",
            remedy: names.didYouMean(known, or: "correct the name, or fetch missing bundles with: rsdump refresh"))
    }

    /// Returns an error for a lock file that lists no bundles.
    package static func nothingLocked(_ file: String) -> Self {
        Self(
            place: file, problem: "the file is missing, or lists no bundles",
            remedy: "fetch bundles with rsdump refresh, or give another dumps directory with --dumps")
    }

    /// Returns an error for collections in the lock file that `dumps.yaml` does not list.
    static func unlisted(_ names: [CollectionID], _ file: String) -> Self {
        Self(
            place: file, problem: "the file does not list \(Counted.list(names)), but the lock file does",
            remedy: "run rsdump refresh to remove the \(Counted.noun(names.count, "bundle", plural: "bundles")), "
                + "or keep \(Counted.noun(names.count, "it", plural: "them")) with: rsdump add "
                + (names.count == 1 ? "\(names[0])" : "BUCKET/COLLECTION…"))
    }

    /// Returns an error for an output that would overwrite the dumps.
    package static func ownDirectory(_ path: String) -> Self {
        Self(
            place: path, problem: "this is the dumps directory, which this command only reads",
            remedy: "give a different directory with --output")
    }

    package static func emptyMonitor(_ server: String) -> Self {
        Self(
            .content, place: server, problem: "the server sent no list of its collections (HTTP 204)",
            remedy: "check the server's URL, or try again later")
    }

    /// Returns an error for a snapshot that must not replace the current one.
    package static func refused(_ id: CollectionID, _ problem: String, remedy: String) -> Self {
        Self(.refused, place: "\(id)", problem: problem, remedy: remedy)
    }

    /// Returns an error for a failed signer.
    package static func signer(_ error: any Error) -> Self {
        Self((error as? Failure)?.code ?? .program, problem: "\(error)", cause: .signer)
    }

    /// Returns an error for two collections whose names differ only in case.
    static func sameBundle(_ id: CollectionID, _ other: CollectionID, file: String, line: Int?) -> Self {
        Self(
            place: file, line: line,
            problem: "\(min(id, other)) and \(max(id, other)) would share one bundle file on a file "
                + "system that ignores case",
            remedy: "move one of them to another dumps directory")
    }
}
