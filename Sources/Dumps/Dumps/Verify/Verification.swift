import RemoteSettingsModel
import SnapshotBundle

/// An offline verification of a directory's bundles, in parallel.
package struct Verification: Sendable {
    package struct Outcome: Sendable {
        package enum Verdict: Sendable {
            case good
            /// The bundle is intact, but a commit was interrupted before it replaced the lock file.
            case interrupted
            /// The configuration lists the collection, but it was never fetched.
            case missing
            case bad(any Error)
        }

        package let id: CollectionID
        package let entry: LockFile.Collection?
        package let verdict: Verdict
        /// The pin that keeps the bundle at its state; `nil` if the configuration has none.
        package var pin: Pin?
        /// The excess of the bundle over its budget. The budget may have been lowered after the bundle was written.
        package var excess: BudgetExcess?
    }

    let directory: DumpsDirectory
    private let verifier: BundleVerifier

    package init(_ directory: DumpsDirectory, policy: TrustPolicy) {
        self.directory = directory
        verifier = BundleVerifier(policy)
    }

    /// Verifies the bundles, and checks that none is missing.
    ///
    /// - Parameters:
    ///   - names: the collections; an empty list means all in the lock file and all configured ones.
    ///   - configured: the configuration's collections. Each must have a bundle, and a pinned one must have its pinned
    ///     state.
    /// - Throws: `Failure` if the lock file cannot be read; ``Failure`` if a name is neither in it nor
    ///   configured.
    package func run(_ names: [CollectionID], configured: [DumpsConfiguration.Collection]) async throws -> [Outcome] {
        let lock = try directory.lockFile()
        let (next, staged) = try directory.readableLock()
        let known = Set(lock.collections.keys).union(configured.map(\.id)).union(next.collections.keys)
        let wanted = names.isEmpty ? known.sorted() : names
        let unknown = wanted.filter { !known.contains($0) }
        guard unknown.isEmpty else { throw Failure.notConfigured(unknown, directory.configurationPath, known: known) }
        let settings = Dictionary(uniqueKeysWithValues: configured.map { ($0.id, $0) })
        return await wanted.sorted().concurrentMap { id in
            if let entry = next.collections[id], staged.contains(id) || entry != lock.collections[id] {
                return verifyInterrupted(id, entry)
            }
            var outcome = verify(id, lock.collections[id], pin: settings[id]?.pin)
            if case .good = outcome.verdict, let entry = outcome.entry, let budget = settings[id]?.budget {
                outcome.excess = try? budget.excess(of: entry, in: directory.bundle(id))
            }
            return outcome
        }
    }

    /// Verifies the bundle that a reader gets during an interrupted commit.
    private func verifyInterrupted(_ id: CollectionID, _ entry: LockFile.Collection) -> Outcome {
        do {
            try verifier.verify(directory.readablePath(id), of: id, against: entry)
            return Outcome(id: id, entry: entry, verdict: .interrupted)
        } catch {
            return Outcome(id: id, entry: entry, verdict: .bad(error))
        }
    }

    private func verify(_ id: CollectionID, _ entry: LockFile.Collection?, pin: Pin?) -> Outcome {
        let path = directory.bundlePath(id)
        guard let entry else { return Outcome(id: id, entry: nil, verdict: .missing) }
        do {
            try verifier.verify(path, of: id, against: entry)
            if let pin, pin.at != entry.timestamp {
                throw Failure.elsewhere(id, pin, held: entry.timestamp)
            }
            return Outcome(id: id, entry: entry, verdict: .good, pin: pin)
        } catch {
            guard let pin, (error as? Failure)?.cause != .pin else {
                return Outcome(id: id, entry: entry, verdict: .bad(error))
            }
            // A refresh does not change a pinned collection, so the remedy in the original error would not help.
            let problem = (error as? Failure)?.located ?? "\(error)"
            return Outcome(id: id, entry: entry, verdict: .bad(Failure.damaged(id, pin, problem: problem)))
        }
    }
}

extension Verification.Outcome: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "collection": id, "status": verdict.word, "error": verdict.message, "overBudget": excess,
            "pinnedAt": pin?.at, "entry": entry,
        ])
    }
}

extension Verification.Outcome.Verdict {
    package var isGood: Bool {
        if case .good = self { true } else { false }
    }

    var word: String {
        switch self {
        case .good: "verified"
        case .interrupted: "interrupted"
        case .missing: "missing"
        case .bad: "failed"
        }
    }

    package var message: String? {
        switch self {
        case .good: nil
        case .interrupted:
            "rsdump was interrupted; the new bundle is complete, but not in the lock file yet; run rsdump refresh"
        case .missing: "it has never been fetched; run rsdump refresh"
        case .bad(let error as Failure) where error.isOfTrust:
            "\(error); to download the collection again, run rsdump refresh --full"
        case .bad(let error): "\(error)"
        }
    }
}
