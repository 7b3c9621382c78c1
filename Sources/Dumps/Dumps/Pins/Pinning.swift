import RemoteSettingsModel
import SnapshotBundle

/// An operation that pins collections: it finds the bundles of the requested states, verifies them, puts them in place
/// with their lock file entries, and writes the pins to `dumps.yaml`. It uses no network.
package struct Pinning: Sendable {
    package struct Outcome: Sendable {
        package let id: CollectionID
        package let pin: Pin
        package let entry: LockFile.Collection
        /// The place that the bundle came from; `nil` if the current bundle was pinned.
        package let restored: HistoricBundle.Location?
        /// Whether the signature was verified as of the time in the bundle's own lock file, instead of the current
        /// time. It is `false` for an unsigned bundle.
        package let isVerifiedAsLocked: Bool
        /// Whether an unsigned state has replaced a signed one.
        package let hasLostSignature: Bool
    }

    private let transaction: DumpsTransaction
    var directory: DumpsDirectory { transaction.directory }
    let configuration: DumpsConfiguration
    let policy: TrustPolicy
    let now: Timestamp

    /// Creates the operation.
    ///
    /// - Parameters:
    ///   - transaction: a transaction in which nothing was changed yet.
    ///   - configuration: the directory's settings, which were read after the transaction has begun.
    ///   - now: the time at which a bundle without a lock file is verified.
    package init(
        _ transaction: DumpsTransaction, configuration: DumpsConfiguration, policy: TrustPolicy, now: Timestamp
    ) {
        self.transaction = transaction
        self.configuration = configuration
        self.policy = policy
        self.now = now
    }

    /// Pins collections, all in the transaction, and ends it. One that cannot be pinned does not affect the others.
    /// Does I/O, and runs git if the state may be in a commit.
    ///
    /// - Parameters:
    ///   - path: the bundle, folder or `git:REV` to search; `nil` for the git history of the directory.
    ///   - reason: the reason for the pins; `nil` to keep the reason of the current pin.
    ///   - until: the pin's last day; `nil` to keep that of the current pin.
    /// - Returns: the result for each collection. An error is a ``Failure``.
    /// - Throws: ``Failure``, also if all bundles together would be too large, or `Failure`. In that case,
    ///   nothing has changed.
    package func pin(
        _ ids: [CollectionID], _ request: PinRequest, from path: String?, reason: String?, until: Timestamp?
    ) async throws -> [(id: CollectionID, result: Result<Outcome, any Error>)] {
        defer { try? transaction.end() }
        guard let text = try directory.configurationText() else {
            throw Failure.notConfigured(ids, directory.configurationPath, known: [])
        }
        var editor = try ConfigurationEditor(text, file: directory.configurationPath)
        var results: [(id: CollectionID, result: Result<Outcome, any Error>)] = []
        for id in ids {
            do {
                let outcome = try await pin(id, request, from: path, &editor, reason: reason, until: until)
                results.append((id, .success(outcome)))
            } catch {
                results.append((id, .failure(error)))
            }
        }
        let pinned = try ConfigurationReader.read(editor.text, file: directory.configurationPath)
        try transaction.commit(pinned, text: editor.text == text ? nil : editor.text)
        return results
    }

    private func pin(
        _ id: CollectionID, _ request: PinRequest, from path: String?, _ editor: inout ConfigurationEditor,
        reason: String?, until: Timestamp?
    ) async throws -> Outcome {
        guard let settings = try configuration.selecting([id], file: directory.configurationPath).first else {
            throw Failure.notConfigured([id], directory.configurationPath, known: [])
        }
        let current = transaction.before.collections[id]
        var held = current
        if let problem = held.flatMap({ problem(id, $0) }) {
            if path == nil, request == .present, directory.diskState(id, held) != .absent {
                throw Failure.notVouchedFor(id, place: directory.bundlePath(id), problem: problem)
            }
            held = nil
        }
        var failure: (any Error)?
        for candidate in try await candidates(id, request, from: path, held: held) {
            var edited = editor
            // Edit the file first, so that nothing is staged if it cannot be edited.
            let former = try edited.removePin(of: id)
            let pin = Pin(at: candidate.timestamp, reason: reason ?? former?.reason, until: until ?? former?.until)
            try edited.setPin(pin, of: id)
            switch candidate {
            case .present(let entry):
                editor = edited
                return Outcome(
                    id: id, pin: pin, entry: entry, restored: nil, isVerifiedAsLocked: entry.trust.isSigned,
                    hasLostSignature: false)
            case .historic(let historic):
                do {
                    let (bundle, entry, isLocked) = try await verified(
                        historic, isForeign: path != nil, settings: settings, held: current)
                    try transaction.stage(bundle, of: id, as: entry)
                    editor = edited
                    return Outcome(
                        id: id, pin: pin, entry: entry, restored: historic.origin,
                        isVerifiedAsLocked: isLocked && entry.trust.isSigned,
                        hasLostSignature: current.map { entry.standing.losesSignature(of: $0.standing) } ?? false)
                } catch let error as Failure where error.cause == .pin {
                    // Try the next candidate: the same state may also have been committed undamaged, or with other
                    // attachments.
                    failure = failure ?? error
                }
            }
        }
        throw failure ?? Failure.nothingHeld(id)
    }

    /// Compares the collections of a commit with those of `dumps.yaml`. Runs git.
    ///
    /// - Parameter name: a tag, a branch or another name of a commit.
    /// - Returns: the collections that are only in the commit, and those that are only in `dumps.yaml`, both sorted.
    /// - Throws: `Failure`.
    package func difference(from name: String) async throws -> (missing: [CollectionID], added: [CollectionID]) {
        let repository = try await GitRepository(containing: directory.path)
        let lock = try await repository.lock(at: repository.revision(name)) ?? LockFile()
        let (there, here) = (Set(lock.collections.keys), Set(configuration.collections.map(\.id)))
        return (there.subtracting(here).sorted(), here.subtracting(there).sorted())
    }

    /// Removes the pins of these collections from `dumps.yaml`. Does I/O.
    ///
    /// - Parameter ids: the collections; `nil` for all that are pinned.
    /// - Returns: the removed pins.
    /// - Throws: ``Failure``, for example if `dumps.yaml` does not list one of the collections; then nothing has
    /// changed. `Failure` if a file cannot be read or written.
    package static func unpin(
        _ ids: [CollectionID]?, in directory: DumpsDirectory
    ) async throws -> [(id: CollectionID, pin: Pin?)] {
        if let ids, try !FileStore.exists(directory.configurationPath) {
            throw Failure.notConfigured(ids, directory.configurationPath, known: [])
        }
        let transaction = try await DumpsTransaction.begin(in: directory)
        defer { try? transaction.end() }
        let ids = try ids ?? directory.configuration().collections.filter { $0.pin != nil }.map(\.id)
        return try transaction.commit { editor in try ids.map { ($0, try editor.removePin(of: $0)) } }.value
    }

    private enum Candidate {
        case present(LockFile.Collection)
        case historic(HistoricBundle)

        var timestamp: Timestamp {
            switch self {
            case .present(let entry): entry.timestamp
            case .historic(let bundle): bundle.timestamp
            }
        }
    }

    /// Returns the reason that the current bundle does not match the lock file; `nil` if it verifies.
    private func problem(_ id: CollectionID, _ entry: LockFile.Collection) -> String? {
        do {
            try BundleVerifier(policy).verify(directory.bundlePath(id), of: id, against: entry)
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// Returns the bundles with the requested state, in the order in which to try them; never empty.
    private func candidates(
        _ id: CollectionID, _ request: PinRequest, from path: String?, held: LockFile.Collection?
    ) async throws -> [Candidate] {
        if let path, case .revision(let name) = request {
            throw Failure(
                .usage, file: path, found: "--at names the commit \(VisibleText.quote(name)), and --from another place",
                remedy: "leave one of them out, or give a time with --at")
        }
        if path == nil {
            switch request {
            case .present:
                guard let held else { throw Failure.nothingHeld(id) }
                return [.present(held)]
            case .at(let timestamp):
                if let held, held.timestamp == timestamp { return [.present(held)] }
            case .asOf: break
            case .revision(let name):
                let repository = try await GitRepository(containing: directory.path)
                guard try await repository.commit(name) != nil else { throw Failure.noState(name, gap: repository.gap) }
                return try await committed(id, at: name, in: directory.path, held: held)
            }
        }
        if let path, case .git(let name, let place)? = DiffSide.Place(path) {
            let found = try await committed(id, at: name, in: place ?? directory.path, held: held)
            guard request == .present || found.contains(where: { request.includes($0.timestamp) }) else {
                throw Failure.notFound(
                    id, wanted: "\(request)", places: path, found: found.map(\.timestamp),
                    remedy: "give a different --at or --from")
            }
            return found
        }
        let source: BundleHistory.Source
        let places: String
        var remedy = "give another bundle or folder with --from PATH"
        if let path {
            (source, places) = (.path(path), path)
        } else {
            do throws(Failure) {
                let repository = try await GitRepository(containing: directory.path)
                (source, places) = (.git(repository), "the git history of \(directory.path)")
                if let gap = repository.gap { remedy = "\(gap), or \(remedy)" }
            } catch {
                if let held, request.includes(held.timestamp) { return [.present(held)] }
                throw error
            }
        }
        let listing = try await BundleHistory([source]).bundles(of: id)
        let timestamps = listing.bundles.map(\.timestamp)
        var candidates = listing.bundles.filter { request.includes($0.timestamp) }.map(Candidate.historic)
        if path == nil, let held, request.includes(held.timestamp) { candidates.insert(.present(held), at: 0) }
        guard let newest = candidates.map(\.timestamp).max() else {
            if let unusable = listing.unusable.first { remedy = "a bundle cannot be read (\(unusable)); \(remedy)" }
            throw Failure.notFound(
                id, wanted: "\(request)", places: places, found: Self.distinct(timestamps), remedy: remedy)
        }
        if request == .present, Set(timestamps).count > 1 {
            throw Failure.several(id, place: places, found: Self.distinct(timestamps))
        }
        return candidates.filter { $0.timestamp == newest }
    }

    /// Returns the collection's bundle in a commit of a dumps directory; never empty.
    private func committed(
        _ id: CollectionID, at name: String, in place: String, held: LockFile.Collection?
    ) async throws -> [Candidate] {
        guard let bundle = try await HistoricBundle(of: id, at: name, in: place) else {
            throw Failure.notFound(
                id, wanted: "of this collection in the commit \(name)", places: place, found: [],
                remedy: "give another commit with --at or --from git:REV")
        }
        if let held, held.timestamp == bundle.timestamp, held.bundle.size == bundle.size { return [.present(held)] }
        return [.historic(bundle)]
    }

    private static func distinct(_ sorted: [Timestamp]) -> [Timestamp] {
        var distinct: [Timestamp] = []
        for timestamp in sorted where distinct.last != timestamp { distinct.append(timestamp) }
        return distinct
    }
}

extension Pinning.Outcome: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try pin.encode(to: encoder)
        try encoder.encode(members: [
            "collection": id, "restoredFrom": restored?.description, "verifiedAsLocked": isVerifiedAsLocked,
            "entry": entry,
        ])
    }
}
