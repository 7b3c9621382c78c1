import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// A merge of the dumps of two commits: for each collection, the state of one of them.
///
/// | Ours | Theirs | The merge has |
/// |---|---|---|
/// | a state | another state, and the merged `dumps.yaml` pins one of them | that of the pin |
/// | as in the common ancestor | another state | theirs |
/// | another state | as in the common ancestor | ours |
/// | a state | another state | the newer one |
/// | the newer state, which does not verify | an older one | theirs |
/// | a state | none, because `dumps.yaml` no longer names it | none |
///
/// The merged `dumps.yaml` has the settings of both sides. If only one side changed a setting since the ancestor, that
/// side counts; if both did, ours counts. With a catalogue, all states are taken from the later catalogue, because
/// those of one catalogue belong together.
package struct DumpsMerge: Sendable {
    /// What was done with a collection that differs between the two sides.
    package struct Choice: Sendable {
        package let collection: CollectionID
        /// Whether the state is that of the other commit; `nil` if the collection is removed.
        package let isTheirs: Bool?
        package let timestamp: Timestamp?
        /// Why it was chosen, as a part of a sentence.
        package let reason: String
    }

    /// The dumps of one commit.
    private struct Side {
        let revision: GitRepository.Revision
        let lock: LockFile
        let configuration: DumpsConfiguration
    }

    package private(set) var lock: LockFile
    /// The collections that both sides changed, or that one of them removed, sorted.
    package private(set) var choices: [Choice] = []
    private let repository: GitRepository
    private let ours: Side
    private let theirs: Side
    /// The side from which each merged bundle comes.
    private var revisions: [CollectionID: GitRepository.Revision] = [:]

    /// Reads both commits and decides. Runs git; writes nothing.
    ///
    /// - Parameters:
    ///   - name: the other commit, such as `MERGE_HEAD`. The first one is `HEAD`.
    ///   - ancestor: the common ancestor; `nil` for the one that git finds.
    ///   - policy: makes the policy that bundles are verified with, from our `dumps.yaml`.
    /// - Throws: ``HistoryError`` if git or a lock cannot be read, ``ConfigurationError``, or ``DumpsError`` if neither
    ///   state of a collection verifies.
    package init(
        in directory: String, with name: String, ancestor: String? = nil,
        policy: (DumpsConfiguration) throws -> TrustPolicy, limits: Limits = Limits()
    ) async throws {
        repository = try await GitRepository(containing: directory, limits: limits)
        ours = try await Self.side("HEAD", repository)
        theirs = try await Self.side(name, repository)
        let base: Side?
        if let ancestor {
            base = try await Self.side(ancestor, repository)
        } else if let commit = try await repository.commonAncestor("HEAD", theirs.revision.commit) {
            base = try await Self.side(commit, repository)
        } else {
            base = nil
        }
        lock = LockFile(catalogue: ours.lock.catalogue)
        let verifier = BundleVerifier(try policy(ours.configuration), limits: limits)
        var all = Set(ours.lock.collections.keys)
        all.formUnion(theirs.lock.collections.keys)
        let takesCatalogue = (theirs.lock.catalogue?.number ?? 0) > (ours.lock.catalogue?.number ?? 0)
        if takesCatalogue { lock.catalogue = theirs.lock.catalogue }
        for id in all.sorted() {
            let (mine, other) = (ours.lock.collections[id], theirs.lock.collections[id])
            let known = base?.lock.collections[id]
            let pin = merged(after: base) { side in side.configuration.settings(of: id).pin?.at }
            let isPinnedHere = pin != nil && (mine?.timestamp == pin || other?.timestamp == pin)
            // The states of a catalogue belong together, so none of them is merged alone.
            let isChosen = isPinnedHere || pin == nil && lock.catalogue != nil
            if mine == other || !isChosen && other == known {
                keep(id, mine, of: ours)
            } else if !isChosen, mine == known {
                keep(id, other, of: theirs)
            } else {
                try await choose(id, pin, after: base, takesCatalogue: takesCatalogue, verifier)
            }
        }
    }

    /// A merged bundle's bytes; `nil` if the merge does not have the collection.
    package func bundle(_ id: CollectionID) async throws(HistoryError) -> Bytes? {
        guard let revision = revisions[id] else { return nil }
        return try await repository.file(LockFile.Bundle.path(of: id), at: revision)
    }

    /// Writes the lock and the bundles into the dumps directory. Does I/O.
    ///
    /// If it is killed, another run completes it.
    ///
    /// - Parameter onlyChosen: whether git itself merges the collections that only one side changed. Their bundles are
    ///   then not touched, because they may have uncommitted changes.
    package func write(into directory: DumpsDirectory, onlyChosen: Bool) async throws {
        let chosen = Set(choices.map(\.collection))
        for id in lock.collections.keys.sorted() where !onlyChosen || chosen.contains(id) {
            guard let entry = lock.collections[id], try directory.bundleHash(id) != entry.bundle.sha256,
                let bytes = try await bundle(id)
            else { continue }
            let path = directory.bundlePath(id)
            try FileStore.makeDirectories(FileStore.parent(of: path), below: directory.path)
            try FileStore.replace(path, below: directory.path, with: bytes)
        }
        for id in ours.lock.collections.keys where lock.collections[id] == nil {
            try FileStore.remove(directory.bundlePath(id), below: directory.path)
        }
        try directory.writeLock(lock)
    }

    private mutating func keep(_ id: CollectionID, _ entry: LockFile.Collection?, of side: Side) {
        lock.collections[id] = entry
        if entry != nil { revisions[id] = side.revision }
    }

    /// A setting as the `dumps.yaml` of both sides give it together.
    private func merged<Value: Equatable>(after base: Side?, _ value: (Side) -> Value) -> Value {
        base.map(value) == value(ours) ? value(theirs) : value(ours)
    }

    /// Chooses between two states that both differ from the ancestor's, or one of which is pinned.
    private mutating func choose(
        _ id: CollectionID, _ pin: Timestamp?, after base: Side?, takesCatalogue: Bool, _ verifier: BundleVerifier
    ) async throws {
        guard merged(after: base, { side in side.configuration.allCollections.contains { $0.id == id } }) else {
            choices.append(
                Choice(collection: id, isTheirs: nil, timestamp: nil, reason: "dumps.yaml no longer names it"))
            return
        }
        let sides = [ours, theirs].filter { $0.lock.collections[id] != nil }.sorted { left, right in
            if lock.catalogue != nil, pin == nil { return (left.revision == theirs.revision) == takesCatalogue }
            let (a, b) = (left.lock.collections[id]?.timestamp, right.lock.collections[id]?.timestamp)
            guard let a, let b, a != b else { return false }
            if a == pin || b == pin { return a == pin }
            return a > b
        }
        var problem: String?
        for side in sides {
            guard let entry = side.lock.collections[id] else { continue }
            do {
                try await verify(id, entry, in: side, verifier)
            } catch let error as HistoryError {
                throw error
            } catch {
                problem = problem ?? "\(error)"
                continue
            }
            keep(id, entry, of: side)
            let reason =
                if let problem { "the other one does not verify: \(problem)" } else if entry.timestamp == pin {
                    "it is pinned there"
                } else if sides.count == 1 { "the other side has none" } else if lock.catalogue != nil {
                    "it is from the later catalogue"
                } else { "it is newer" }
            choices.append(
                Choice(
                    collection: id, isTheirs: side.revision == theirs.revision, timestamp: entry.timestamp,
                    reason: reason))
            return
        }
        throw DumpsError.nothingVerifies(id, problem: problem ?? "there is none")
    }

    private func verify(
        _ id: CollectionID, _ entry: LockFile.Collection, in side: Side, _ verifier: BundleVerifier
    ) async throws {
        let name = "git:\(side.revision.commit.prefix(12)):\(entry.bundle.path)"
        guard let bytes = try await repository.file(entry.bundle.path, at: side.revision) else {
            throw BundleError(.missing, file: name, expected: "the bundle that this commit's lock names", found: "none")
        }
        try verifier.verify(bytes, name: name, of: id, against: entry)
    }

    private static func side(_ name: String, _ repository: GitRepository) async throws -> Side {
        let revision = try await repository.revision(name)
        return Side(
            revision: revision, lock: try await repository.lock(at: revision) ?? LockFile(),
            configuration: try await repository.configuration(at: revision) ?? DumpsConfiguration())
    }
}
