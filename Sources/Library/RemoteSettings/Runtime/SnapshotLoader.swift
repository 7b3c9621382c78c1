import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// What a process holds of one collection.
///
/// It is the snapshot in use, why others are not used, and what protects the collection from older or unsigned states.
struct HeldState: Sendable {
    /// The snapshot whose records are served; `nil` if there is none.
    var snapshot: Snapshot?
    /// Where the snapshot came from.
    var source = SnapshotStatus.Source.none
    /// Whether the snapshot's signature was verified in this process.
    var isVerifiedHere = false
    var unused: [SnapshotStatus.Unused] = []
    /// The newest timestamp that was ever taken from the server, according to the cache file.
    var highWaterMark: HighWaterMark?
    /// The newest timestamp of a known signed state: a packaged one, a cached one, or what is left of a damaged cache
    /// file.
    var signedAsOf: Timestamp?
    /// The newest timestamp of an unsigned packaged state in a source that is as trusted as the program.
    var unsignedByProgram: Timestamp?
    /// Which version of the cache file was read; `nil` if there was none.
    var cacheIdentity: CacheIdentity?
    /// Whether a later version of the library has written the cache file, which then stays as it is.
    var isOfLaterFormat = false
    /// Whether the cache file is of the state in use.
    ///
    /// Either the cache file itself is in use, or a packaged snapshot of the same state, which need not be verified
    /// again.
    var isCached = false
    /// The release in use when this state was found; `nil` without releases.
    var view: ReleaseView?
    /// Whether this is the state that the release lists.
    var isOfRelease = false
    /// The version of a file in the storage directory that has the release's state; `nil` if there is none, or if it is
    /// not known.
    var storedIdentity: CacheIdentity?
    /// The usable packaged bundles of the collection, newest first, for their attachments.
    var bundles: [PackagedBundle] = []

    var timestamp: Timestamp? { snapshot?.timestamp }

    /// Whether unsigned states are refused because the collection is known to be signed.
    ///
    /// They are not refused if the program itself brings a later unsigned state.
    var isKnownSigned: Bool {
        guard let signedAsOf else { return false }
        return unsignedByProgram.map { $0 < signedAsOf } ?? true
    }

    mutating func serve(_ snapshot: Snapshot, from source: SnapshotStatus.Source, isVerifiedHere: Bool) {
        self.snapshot = snapshot
        self.source = source
        self.isVerifiedHere = isVerifiedHere && snapshot.provenance.isSigned
    }

    mutating func noteSigned(asOf timestamp: Timestamp) {
        signedAsOf = max(signedAsOf ?? timestamp, timestamp)
    }
}

/// Finds the snapshot to use: the newest one, cached or packaged, that can be trusted.
struct SnapshotLoader: Sendable {
    /// The server that snapshots must belong to.
    let server: ServerIdentity
    let verifier: KeptSnapshotVerifier
    let storage: StorageDirectory
    let packaged: PackagedLocks
    /// Whether signed catalogues are believed whichever server they came from, because the configuration names their
    /// publisher. If they were bound to a server, a mirror under another URL could go back to an older one.
    let readsReleases: Bool
    let limits: Limits
    let logger: ServiceLog
    let now: @Sendable () -> Timestamp

    private enum Candidate {
        case cached(CacheFile)
        case packaged(PackagedBundle)

        var timestamp: Timestamp {
            switch self {
            case .cached(let file): file.timestamp
            case .packaged(let bundle): bundle.lock.timestamp
            }
        }

        var source: SnapshotStatus.Source {
            switch self {
            case .cached: .cached
            case .packaged(let bundle): .packaged(bundle.sourceName)
            }
        }

        /// Whether this packaged snapshot has the cache file's state and can be used without verification.
        ///
        /// An unsigned one cannot stand in: only its timestamp is known, and its state may differ.
        func canStandIn(for file: CacheFile) -> Bool {
            guard case .packaged(let bundle) = self else { return false }
            return bundle.isTrusted && bundle.lock.trust.isSigned && file.chain != nil
                && bundle.lock.timestamp == file.timestamp
        }
    }

    /// Reads and verifies. Does I/O and never fails: the result lists what cannot be used, with the reasons.
    ///
    /// - Parameter usesPackaged: whether a packaged snapshot may be used. What it says about the collection counts in
    ///   any case.
    func load(_ id: CollectionID, usesPackaged: Bool = true) -> HeldState {
        var held = HeldState()
        let file = cacheFile(id, &held)
        choose(id, file, usesPackaged: usesPackaged, &held)
        return held
    }

    /// Like ``load(_:usesPackaged:)``, with the content of a cache file that was kept elsewhere in place of the cache.
    func load(_ id: CollectionID, kept content: Bytes?, usesPackaged: Bool = true) -> HeldState {
        var held = HeldState()
        var file: CacheFile?
        if let content {
            do {
                let kept = try CacheFile(parsing: content, of: id, path: storage.keptPath(id), limits: limits)
                guard isServed(by: kept.server, id, isSigned: kept.chain != nil) else {
                    throw SnapshotRefusal(.otherServer(found: kept.server, expected: server.description))
                }
                note(kept.mark, &held)
                file = kept
            } catch {
                refuse(.init(source: .cached, timestamp: nil, reason: SnapshotRefusal(error).reason), of: id, &held)
            }
        }
        choose(id, file, usesPackaged: usesPackaged, packagedCanStandIn: false, &held)
        return held
    }

    /// Finds the state that a release lists. Does I/O and never fails.
    ///
    /// The state may be packaged, stored, or about to be stored by a process that has already shown the release. If
    /// there is none, or if the release does not list the collection, the newest state is used.
    func load(_ id: CollectionID, of view: ReleaseView) -> HeldState {
        if let held = listedState(id, of: view) { return held }
        var held = load(id)
        held.view = view
        // The newest state may be the listed one, if it was put there since the first look.
        held.isOfRelease = held.snapshot.map { view.catalogue.lists($0.payload, of: id) } ?? false
        return held
    }

    private func listedState(_ id: CollectionID, of view: ReleaseView) -> HeldState? {
        guard let entry = view.catalogue.entries[id] else { return nil }
        var held = HeldState()
        held.view = view
        held.isOfRelease = true
        var problems: [SnapshotStatus.Unused] = []
        let bundles = packaged.bundles(of: id, problems: &problems)
        for bundle in bundles { note(bundle, &held) }
        held.bundles = bundles.filter { (try? check($0, isListed: $0.lock.timestamp == entry.timestamp)) != nil }
        held.cacheIdentity = (try? storage.identity(id)) ?? nil
        let listed = held.bundles.filter { $0.lock.timestamp == entry.timestamp }
        // Whoever packaged the catalogue with the program also packaged this bundle.
        for bundle in listed where bundle.isTrusted && view.source == .packaged(bundle.sourceName) {
            guard let snapshot = try? bundle.snapshot(verifier, now: now()) else { continue }
            held.serve(snapshot, from: .packaged(bundle.sourceName), isVerifiedHere: false)
            return held
        }
        for path in [storage.snapshotPath(id), storage.stagedPath(id), storage.snapshotPath(id)] {
            guard let identity = try? FileStore.identity(path),
                let file = try? storage.cacheFile(id, at: path, limits: limits),
                let snapshot = try? view.snapshot(of: file)
            else { continue }
            held.storedIdentity = identity
            note(file.mark, &held)
            held.serve(snapshot, from: .cached, isVerifiedHere: true)
            held.isCached = true
            return held
        }
        for bundle in listed {
            let snapshot = try? bundle.snapshot(listedAs: entry.payload, provenance: view.snapshot.provenance)
            guard let snapshot else { continue }
            held.serve(snapshot, from: .packaged(bundle.sourceName), isVerifiedHere: !bundle.isTrusted)
            return held
        }
        return nil
    }

    /// Uses the newest trusted state of a cache file and the packaged snapshots.
    ///
    /// - Parameter packagedCanStandIn: whether a packaged snapshot of the same state is used in place of a cache file
    ///   if it need not be verified.
    private func choose(
        _ id: CollectionID, _ file: CacheFile?, usesPackaged: Bool = true, packagedCanStandIn: Bool = true,
        _ held: inout HeldState
    ) {
        var candidates: [Candidate] = []
        var problems: [SnapshotStatus.Unused] = []
        let bundles = packaged.bundles(of: id, problems: &problems)
        for bundle in bundles {
            note(bundle, &held)
            if let unused = bundle.missing { refuse(unused, of: id, &held) }
        }
        if usesPackaged { candidates += bundles.map(Candidate.packaged) }
        // The bundles are sorted, newest first.
        if let file {
            let place = candidates.firstIndex {
                $0.timestamp <= file.timestamp && !(packagedCanStandIn && $0.canStandIn(for: file))
            }
            candidates.insert(.cached(file), at: place ?? candidates.endIndex)
        }
        for candidate in candidates {
            do {
                if case .cached(let file) = candidate, file.timestamp == held.timestamp {
                    held.isCached = true
                    continue
                }
                try take(candidate, &held)
            } catch {
                let refusal = SnapshotRefusal(error)
                // A state that is kept elsewhere has no cache file, and no sync asks for what it claims.
                let isClaim = if case .cached = candidate { held.cacheIdentity != nil } else { true }
                if case .cached = candidate, refusal.isDamage, let identity = held.cacheIdentity {
                    held.cacheIdentity = storage.setAside(id, identity)
                }
                if isClaim, refusal.isOfContent { storage.noteRefusal(of: id) }
                refuse(
                    .init(source: candidate.source, timestamp: candidate.timestamp, reason: refusal.reason), of: id,
                    &held)
            }
        }
        if held.snapshot == nil { noteOthers(id, problems, &held) }
    }

    /// Puts a candidate into use. A packaged candidate's bundle is kept in any case if it may be used.
    ///
    /// - Throws: if it cannot be used, or if a newer one is in use already.
    private func take(_ candidate: Candidate, _ held: inout HeldState) throws {
        switch candidate {
        case .cached(let file):
            guard held.snapshot == nil else { throw SnapshotRefusal(.older) }
            held.serve(
                try snapshot(file, isKnownSigned: held.isKnownSigned), from: .cached, isVerifiedHere: true)
            held.isCached = true
        case .packaged(let bundle):
            try check(bundle)
            // Anyone who can write to the directory could have put it there.
            if !bundle.isTrusted, !bundle.lock.trust.isSigned, held.isKnownSigned {
                throw SnapshotRefusal(.signatureLost)
            }
            held.bundles.append(bundle)
            guard held.snapshot == nil else { throw SnapshotRefusal(.older) }
            held.serve(
                try bundle.snapshot(verifier, now: now()), from: candidate.source,
                isVerifiedHere: !bundle.isTrusted)
        }
    }

    /// Whether what is stored or packaged says of itself that it is this server's signed state of a timestamp, and
    /// nothing says that it is newer. Does I/O, and verifies nothing: a read verifies what it serves, and notes what it
    /// refuses. Then this claims nothing until a sync has stored another state.
    ///
    /// A bundle in a directory that others may write to claims nothing, because it would have to be copied.
    func claims(_ id: CollectionID, at timestamp: Timestamp) -> Bool {
        guard !storage.hasRefusal(of: id), let bundles = try? packaged.listed(id),
            bundles.allSatisfy({ $0.lock.timestamp <= timestamp })
        else { return false }
        do {
            if let file = try storage.claim(of: id, limits: limits) {
                guard ServerIdentity(file.server) == server, file.chain != nil, file.verifiedAt != nil,
                    file.timestamp <= timestamp
                else { return false }
                if file.timestamp == timestamp { return true }
            }
        } catch {
            return false
        }
        return bundles.contains { bundle in
            bundle.isTrusted && bundle.lock.timestamp == timestamp && bundle.lock.trust.isSigned
                && ServerIdentity(bundle.lock.server) == server && (try? bundle.reader()) != nil
        }
    }

    private func cacheFile(_ id: CollectionID, _ held: inout HeldState) -> CacheFile? {
        let identity: CacheIdentity?
        do {
            identity = try storage.identity(id)
        } catch {
            refuse(.init(source: .cached, timestamp: nil, reason: SnapshotRefusal(error).reason), of: id, &held)
            return nil
        }
        guard let identity else {
            note(storage.markOfDamaged(id, limits: limits), &held)
            return nil
        }
        held.cacheIdentity = identity
        do {
            guard let file = try storage.cacheFile(id, at: storage.snapshotPath(id), limits: limits)
            else { return nil }
            guard isServed(by: file.server, id, isSigned: file.chain != nil) else {
                throw SnapshotRefusal(.otherServer(found: file.server, expected: server.description))
            }
            note(file.mark, &held)
            return file
        } catch {
            if let error = error as? CacheFileError {
                note(error.mark, &held)
                held.isOfLaterFormat = error.isOfLaterFormat
                if !error.isOfLaterFormat { held.cacheIdentity = storage.setAside(id, identity) }
            }
            refuse(.init(source: .cached, timestamp: nil, reason: SnapshotRefusal(error).reason), of: id, &held)
            return nil
        }
    }

    private func note(_ mark: HighWaterMark?, _ held: inout HeldState) {
        held.highWaterMark = mark
        if let mark, mark.chain != nil { held.noteSigned(asOf: mark.timestamp) }
    }

    private func note(_ bundle: PackagedBundle, _ held: inout HeldState) {
        let lock = bundle.lock
        if lock.trust.isSigned {
            guard ServerIdentity(lock.server) == server else { return }
            held.noteSigned(asOf: lock.timestamp)
        } else if bundle.isTrusted, (try? check(bundle)) != nil {
            held.unsignedByProgram = max(held.unsignedByProgram ?? lock.timestamp, lock.timestamp)
        }
    }

    /// The snapshot of a cache file, verified at the time that the file states.
    private func snapshot(_ file: CacheFile, isKnownSigned: Bool) throws -> Snapshot {
        let payload = try Payload(parsing: file.payload, limits: limits)
        guard payload.timestamp == file.timestamp else {
            throw SnapshotRefusal(.damaged("its records are of \(payload.timestamp), not of \(file.timestamp)"))
        }
        let unverified = UnverifiedSnapshot(
            collection: file.collection, payload: payload,
            metadata: try CollectionMetadata(parsing: file.metadata, limits: limits))
        if let verifiedAt = file.verifiedAt, let chain = file.chain {
            return try verifier.verified(unverified, chain: chain, at: verifiedAt)
        }
        guard verifier.policy.acceptsUnsigned else { throw SnapshotRefusal(.unsigned) }
        guard !isKnownSigned else { throw SnapshotRefusal(.signatureLost) }
        return Snapshot(vouchingFor: unverified, chain: nil, provenance: .unsigned)
    }

    /// Whether a state that came from a server may be used with the configured one.
    private func isServed(by name: String, _ id: CollectionID, isSigned: Bool) -> Bool {
        readsReleases && isSigned && id == Catalogue.collection || ServerIdentity(name) == server
    }

    /// - Parameter isListed: whether the catalogue in use may list the bundle's state. The hash in the catalogue then
    ///   decides, and not the server.
    /// - Throws: `SnapshotRefusal` if the lock alone shows that the bundle's snapshot cannot be used.
    private func check(_ bundle: PackagedBundle, isListed: Bool = false) throws(SnapshotRefusal) {
        let acceptsUnsigned = verifier.policy.acceptsUnsigned
        switch bundle.lock.trust {
        case .imported: guard acceptsUnsigned || bundle.acceptsImported else { throw SnapshotRefusal(.unsigned) }
        case .unsigned, .signed:
            guard isListed || isServed(by: bundle.lock.server, bundle.id, isSigned: bundle.lock.trust.isSigned) else {
                throw SnapshotRefusal(.otherServer(found: bundle.lock.server, expected: server.description))
            }
            if !bundle.lock.trust.isSigned, !acceptsUnsigned { throw SnapshotRefusal(.unsigned) }
        }
    }
}

extension SnapshotLoader {
    /// The verified records of the state before the cached one; `nil` if there is none that can be trusted. Does I/O.
    func previousRecords(_ id: CollectionID, isKnownSigned: Bool) -> RecordTable? {
        let path = storage.previousPath(id)
        guard let file = try? storage.cacheFile(id, at: path, limits: limits), ServerIdentity(file.server) == server
        else { return nil }
        return try? snapshot(file, isKnownSigned: isKnownSigned).records
    }

    /// Checks by the locks and the bundles' first bytes that everything packaged can be used. Does I/O.
    ///
    /// - Throws: ``RemoteSettingsError/Other(reason:)`` with everything that is wrong.
    func validatePackaged() throws(RemoteSettingsError) {
        var unreadable = packaged.problems
        let all = packaged.allBundles(problems: &unreadable)
        var problems = unreadable.map { unused -> String in
            if case .packaged(let name) = unused.source { "\(name): \(unused.reason)" } else { "\(unused.reason)" }
        }
        for bundle in all {
            do {
                try check(bundle)
                if let root = bundle.lock.trust.verdict?.root, !isPinned(root, of: bundle) {
                    throw SnapshotRefusal(
                        .notTrusted("its root \(root) is not pinned (RemoteSettingsConfig.trustRoots)"))
                }
                _ = try bundle.reader()
                if let missing = bundle.missing { throw SnapshotRefusal(missing.reason) }
            } catch {
                problems.append("\(bundle.sourceName): \(bundle.id): \(SnapshotRefusal(error).reason)")
            }
        }
        guard problems.isEmpty else {
            throw .Other(reason: "packaged snapshots cannot be used:\n" + problems.joined(separator: "\n"))
        }
    }

    /// Whether the lock's root is pinned, or the root of another chain in the bundle is.
    private func isPinned(_ root: SHA256Digest, of bundle: PackagedBundle) -> Bool {
        let pinned = verifier.policy.roots.roots
        guard !pinned.contains(root), let text = try? bundle.reader().chain() else { return pinned.contains(root) }
        return KeptChains(text: text).chains.contains { pem in
            (try? CertificateChain(pem: pem, limits: limits)).map { pinned.contains($0.root) } ?? false
        }
    }

    private func refuse(_ unused: SnapshotStatus.Unused, of id: CollectionID, _ held: inout HeldState) {
        held.unused.append(unused)
        switch unused.reason {
        case .older, .otherBucket: logger.debug("\(id): \(unused)")
        default: logger.warning("\(id): \(unused)")
        }
    }

    /// Notes what explains that nothing is in use: other buckets that have the name, and sources that could not be
    /// read.
    private func noteOthers(_ id: CollectionID, _ problems: [SnapshotStatus.Unused], _ held: inout HeldState) {
        for problem in packaged.problems + problems { refuse(problem, of: id, &held) }
        // A broken lock elsewhere does not explain why this collection is missing.
        var otherProblems: [SnapshotStatus.Unused] = []
        for bundle in packaged.allBundles(problems: &otherProblems, where: { $0.name == id.name && $0 != id }) {
            refuse(
                .init(
                    source: .packaged(bundle.sourceName), timestamp: bundle.lock.timestamp,
                    reason: .otherBucket(found: bundle.id.bucket)), of: id, &held)
        }
    }
}

extension PackagedBundle {
    /// The state that the lock names but the bundle does not have.
    fileprivate var missing: SnapshotStatus.Unused? {
        missingState.map {
            .init(source: .packaged(sourceName), timestamp: $0, reason: .missing(found: lock.timestamp))
        }
    }
}
