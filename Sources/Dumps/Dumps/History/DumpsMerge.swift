import RemoteSettingsModel
import SnapshotBundle

/// A merge of the dumps of two commits: for each collection, it chooses the state of one of them.
///
/// If the two states of a collection differ, a state is used only if it verifies. If both do, `succession` decides: the
/// signed state, the pinned one, the newer one. If they are equally good, the one that differs from the common
/// ancestor's is used, otherwise that of our side (`HEAD`). An unsigned state of the other commit requires
/// `accept-unsigned` in `dumps.yaml`.
///
/// A collection that the merged `dumps.yaml` does not list is removed.
///
/// The merged `dumps.yaml` is the resolved file if there is one. Otherwise it has the settings of both sides. If only one
/// side has changed a setting since the ancestor, that side's value is used; if both have, ours is. States are verified
/// with the merged trust settings.
package struct DumpsMerge: Sendable {
    /// The side chosen for a collection.
    package struct Choice: Sendable {
        package let collection: CollectionID
        /// Whether the state is that of the other commit; `nil` if the collection is removed.
        package let isTheirs: Bool?
        package let timestamp: Timestamp?
        /// The reason for the choice, as a clause that follows "because".
        package let reason: String
    }

    /// The dumps of one commit.
    private struct Side {
        let revision: GitRepository.Revision
        let lock: LockFile
        let configuration: DumpsConfiguration
        let hasConfiguration: Bool
    }

    package private(set) var lock = LockFile()
    /// The choices for collections that both sides changed, or for which git alone would choose the other side, sorted.
    package private(set) var choices: [Choice] = []
    private let repository: GitRepository
    private let ours: Side
    private let theirs: Side
    private let base: Side?
    private let resolved: DumpsConfiguration?
    /// The side that each merged bundle comes from.
    private var revisions: [CollectionID: GitRepository.Revision] = [:]

    /// Reads both commits and makes the choices. Runs git; writes nothing.
    ///
    /// - Parameters:
    ///   - name: the other commit, such as `MERGE_HEAD`. The first one is `HEAD`.
    ///   - ancestor: the common ancestor; `nil` for the one found by git.
    ///   - resolved: the merged `dumps.yaml` in the work tree; `nil` if it does not exist yet, or has conflicts.
    ///   - policy: a closure that creates the policy for the verification of bundles from the server and trust settings
    ///     of the merged `dumps.yaml`.
    /// - Throws: ``Failure``, also if neither state of a collection verifies.
    package init(
        in directory: String, with name: String, ancestor: String? = nil, resolved: DumpsConfiguration? = nil,
        policy: (DumpsConfiguration) throws -> TrustPolicy
    ) async throws {
        repository = try await GitRepository(containing: directory)
        self.resolved = resolved
        ours = try await Self.side("HEAD", repository)
        theirs = try await Self.side(name, repository)
        if let ancestor {
            base = try await Self.side(ancestor, repository)
        } else if let commit = try await repository.commonAncestor("HEAD", theirs.revision.commit) {
            base = try await Self.side(commit, repository)
        } else {
            base = nil
        }
        var settings = resolved ?? ours.configuration
        settings.server = merged { $0.configuration.server }
        settings.allowsPlainHTTP = merged { $0.configuration.allowsPlainHTTP }
        settings.trust = merged { $0.configuration.trust }
        let verifier = BundleVerifier(try policy(settings))
        for id in Set(ours.lock.collections.keys).union(theirs.lock.collections.keys).sorted() {
            let mine = ours.lock.collections[id]
            if mine == theirs.lock.collections[id], isListed(id) {
                keep(id, mine, of: ours)
            } else {
                try await choose(id, verifier)
            }
        }
    }

    /// Returns a merged bundle's bytes; `nil` if the merge does not contain the collection.
    package func bundle(_ id: CollectionID) async throws(Failure) -> Bytes? {
        guard let revision = revisions[id] else { return nil }
        return try await repository.file(LockFile.Bundle.path(of: id), at: revision)
    }

    /// Makes the choices and writes the lock file and the bundles to the dumps directory, in one transaction. Does I/O
    /// and runs git.
    ///
    /// - Parameters:
    ///   - onlyChosen: whether to write only the bundles in ``choices``, because git itself merges the others, and
    ///     their files in the work tree may have uncommitted changes.
    ///   - choose: reads both commits and makes the choices. It is called when the directory is locked.
    /// - Throws: ``Failure``.
    package static func write(
        into directory: DumpsDirectory, onlyChosen: Bool, _ choose: () async throws -> DumpsMerge
    ) async throws -> DumpsMerge {
        var chosen: DumpsMerge?
        // The lock file in the directory may contain git's conflict markers, so it is replaced.
        let transaction = try await DumpsTransaction.begin(in: directory) {
            let merge = try await choose()
            chosen = merge
            return merge.ours.lock
        }
        defer { try? transaction.end() }
        guard let merge = chosen else { preconditionFailure("begin calls its closure") }
        if !onlyChosen || !merge.choices.isEmpty { try await merge.write(in: transaction, onlyChosen: onlyChosen) }
        return merge
    }

    private func write(in transaction: DumpsTransaction, onlyChosen: Bool) async throws {
        let directory = transaction.directory
        transaction.keep(lock)
        let chosen = Set(choices.map(\.collection))
        let changed = try lock.collections.keys.sorted().filter { id in
            try (!onlyChosen || chosen.contains(id)) && directory.bundleHash(id) != lock.collections[id]?.bundle.sha256
        }
        // git leaves a bundle in the work tree that one side has removed and the other one changed.
        let removed = Set(ours.lock.collections.keys).union(theirs.lock.collections.keys)
            .filter { lock.collections[$0] == nil }
        // With git's conflict markers, the lock file cannot be read.
        let present = try FileStore.read(directory.lockPath, limit: Limits.lockBytes).flatMap {
            try? LockFile(parsing: $0, path: directory.lockPath)
        }
        for (id, entry) in present?.collections ?? [:] where lock.collections[id] != entry {
            guard [ours, theirs, base].contains(where: { $0?.lock.collections[id] == entry }) else {
                throw Failure(
                    place: directory.bundlePath(id), problem: "the merge would replace a state that is not committed",
                    remedy: "commit it, or restore it and the lock file with git checkout, and try again")
            }
        }
        for id in changed {
            guard let entry = lock.collections[id], let bytes = try await bundle(id) else { continue }
            try transaction.stage(bytes, of: id, as: entry)
        }
        try transaction.remove(removed)
        try transaction.commit(nil)
    }

    private mutating func keep(_ id: CollectionID, _ entry: LockFile.Collection?, of side: Side) {
        lock.collections[id] = entry
        if entry != nil { revisions[id] = side.revision }
    }

    /// Returns whether the merged `dumps.yaml` lists a collection.
    private func isListed(_ id: CollectionID) -> Bool {
        merged { side in !side.hasConfiguration || side.configuration.collections.contains { $0.id == id } }
    }

    /// Returns a setting of the merged `dumps.yaml`.
    private func merged<Value: Equatable>(_ value: (Side) -> Value) -> Value {
        if let resolved {
            return value(Side(revision: ours.revision, lock: lock, configuration: resolved, hasConfiguration: true))
        }
        return base.map(value) == value(ours) ? value(theirs) : value(ours)
    }

    /// Chooses a side for a collection whose entries differ, or that the merged `dumps.yaml` does not list.
    private mutating func choose(_ id: CollectionID, _ verifier: BundleVerifier) async throws {
        let known = base?.lock.collections[id]
        let entries = [ours.lock.collections[id], theirs.lock.collections[id]]
        // The side that git would choose without this merge; `nil` if git would report a conflict.
        let byGit = entries[0] == known ? 1 : entries[1] == known ? 0 : nil
        guard isListed(id) else {
            if byGit.map({ entries[$0] != nil }) ?? true {
                choices.append(
                    Choice(collection: id, isTheirs: nil, timestamp: nil, reason: "dumps.yaml no longer lists it"))
            }
            return
        }
        let pin = merged { $0.configuration.settings(of: id).pin?.at }
        func succession(of entry: LockFile.Collection, after held: LockFile.Collection) -> Succession {
            SnapshotBundle.succession(of: entry.standing, after: held.standing, in: Situation(.stored, pin: pin))
        }
        // Of two states that are equally good, the one that differs from the ancestor's is used, otherwise ours.
        let order = entries[0] == known ? [1, 0] : [0, 1]
        var candidates = order.compactMap { number in entries[number].map { (number: number, entry: $0) } }
        if candidates.count == 2, succession(of: candidates[1].entry, after: candidates[0].entry) == .replace {
            candidates.swapAt(0, 1)
        }
        var problem: String?
        for (number, entry) in candidates {
            let side = number == 1 ? theirs : ours
            if let failure = try await refusal(of: entry, of: id, in: side, verifier) {
                problem = problem ?? "\(failure)"
                continue
            }
            keep(id, entry, of: side)
            guard number != byGit else { return }
            let reason =
                if let problem { "the other side's bundle does not verify: \(problem)" } else if candidates.count == 1 {
                    "the other side does not have it"
                } else {
                    switch succession(of: candidates[1].entry, after: entry) {
                    case .keep(.signatureLost): "the other state is unsigned"
                    case .keep(.pinned): "dumps.yaml pins this state"
                    case .keep(.sameTime): "both states have the same timestamp"
                    default: "it is newer"
                    }
                }
            choices.append(Choice(collection: id, isTheirs: number == 1, timestamp: entry.timestamp, reason: reason))
            return
        }
        throw Failure.nothingVerifies(id, problem: problem ?? "there is none")
    }

    /// Verifies a state as a refresh would: a new unsigned state must be accepted by the configuration, and never
    /// replaces a signed one.
    ///
    /// - Returns: the reason that it cannot be used; `nil` if it can.
    private func refusal(
        of entry: LockFile.Collection, of id: CollectionID, in side: Side, _ verifier: BundleVerifier
    ) async throws -> (any Error)? {
        let mine = ours.lock.collections[id]
        let losesSignature = mine.map { entry.standing.losesSignature(of: $0.standing) } ?? false
        guard entry.trust.isSigned || entry == mine || verifier.policy.acceptsUnsigned && !losesSignature else {
            return Failure.notEligible("it is not signed" + (losesSignature ? ", but the current state is" : ""))
        }
        let name = "git:\(side.revision.commit.prefix(12)):\(entry.bundle.path)"
        guard let bytes = try await repository.file(entry.bundle.path, at: side.revision) else {
            return Failure(
                .missing, file: name, expected: "the bundle that this commit's lock file lists", found: "none",
                remedy: "merge a different commit")
        }
        do {
            _ = try verifier.verify(bytes, name: name, of: id, against: entry)
            return nil
        } catch {
            return error
        }
    }

    private static func side(_ name: String, _ repository: GitRepository) async throws -> Side {
        let revision = try await repository.revision(name)
        let configuration = try await repository.configuration(at: revision)
        return Side(
            revision: revision, lock: try await repository.lock(at: revision) ?? LockFile(),
            configuration: configuration ?? DumpsConfiguration(), hasConfiguration: configuration != nil)
    }
}
