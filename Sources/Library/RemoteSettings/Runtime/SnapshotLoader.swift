import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// Finds the snapshot to use: the newest one, cached or packaged, that can be trusted.
struct SnapshotLoader: Sendable {
    /// The server that snapshots must belong to.
    let server: ServerIdentity
    let verifier: KeptSnapshotVerifier
    let storage: StorageDirectory
    let packaged: PackagedLocks
    /// Whether signed catalogues are believed whichever server they came from, because the configuration names their
    /// publisher. If they were bound to a server, a mirror under another URL could go back to an older one.
    let readsCatalogues: Bool
    let allTrials: StateTrials
    /// Whether nothing that was stored is used.
    let isPackagedOnly: Bool
    let limits: Limits
    let logger: ServiceLog
    let now: @Sendable () -> Timestamp

    /// How states have fared; `nil` if nothing checks states or counts starts.
    private var trials: StateTrials? { allTrials.isAsked ? allTrials : nil }

    private enum Candidate {
        case cached(CacheFile)
        case packaged(PackagedBundle)
        /// What was in use before the cached state.
        case previous(CacheFile)

        var timestamp: Timestamp {
            switch self {
            case .cached(let file), .previous(let file): file.timestamp
            case .packaged(let bundle): bundle.lock.timestamp
            }
        }

        var source: SnapshotStatus.Source {
            switch self {
            case .cached, .previous: .cached
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
    func load(_ id: CollectionID, usesPackaged: Bool = true) -> CurrentState {
        var current = CurrentState()
        let file = cacheFile(id, &current)
        let isPassedOver = trials != nil && readsCatalogues && id != Catalogue.collection && passesOverCatalogue()
        choose(
            id, file, usesPackaged: usesPackaged, trials.map { ($0, storage.trial(of: id)) },
            usesCached: !isPackagedOnly && !isPassedOver, &current)
        return current
    }

    /// Whether a stored catalogue is set aside. The states that were stored with it are not used then.
    private func passesOverCatalogue() -> Bool {
        guard let trial = trials?.trial(of: storage.trial(of: Catalogue.collection)) else { return false }
        if trial.usesPackagedOnly { return true }
        guard !trial.setAside.isEmpty, let head = try? storage.head(of: Catalogue.collection, limits: limits)
        else { return false }
        return trial.refusal(at: head.timestamp) != nil
    }

    /// Like ``load(_:usesPackaged:)``, with the content of a cache file that was kept elsewhere in place of the cache.
    ///
    /// - Parameter trial: how states that were kept there have fared; `nil` to use them however they have.
    func load(
        _ id: CollectionID, kept content: Bytes?, usesPackaged: Bool = true,
        _ trial: (StateTrials, StateTrials.Subject)? = nil
    ) -> CurrentState {
        var current = CurrentState()
        var file: CacheFile?
        if let content {
            do {
                let kept = try CacheFile(parsing: content, of: id, path: storage.keptPath(id), limits: limits)
                guard isServed(by: kept.server, id, isSigned: kept.chain != nil) else {
                    throw SnapshotRefusal(.otherServer(found: kept.server, expected: server.description))
                }
                protect(&current, by: kept.mark)
                file = kept
            } catch {
                refuse(.init(source: .cached, timestamp: nil, reason: SnapshotRefusal(error).reason), of: id, &current)
            }
        }
        choose(
            id, file, usesPackaged: usesPackaged, packagedCanStandIn: false, trial, packagedStays: false,
            usesCached: !isPackagedOnly, &current)
        return current
    }

    /// Finds the state that a catalogue lists. Does I/O and never fails.
    ///
    /// The state may be packaged, stored, or about to be stored by a process that has already shown the catalogue. If
    /// there is none, or if the catalogue does not list the collection, the newest state is used.
    func load(_ id: CollectionID, of view: CatalogueView) -> CurrentState {
        // The newest state may be the listed one, if it was put there since the first look.
        listedState(id, of: view) ?? load(id).placed(in: view, of: id)
    }

    private func listedState(_ id: CollectionID, of view: CatalogueView) -> CurrentState? {
        guard let entry = view.catalogue.entries[id] else { return nil }
        var current = CurrentState()
        current.view = view
        current.isOfCatalogue = true
        var problems: [SnapshotStatus.Rejected] = []
        let bundles = packaged.bundles(of: id, problems: &problems)
        for bundle in bundles { protect(&current, by: bundle) }
        current.bundles = bundles.filter { (try? check($0, isListed: $0.lock.timestamp == entry.timestamp)) != nil }
        current.cacheIdentity = (try? storage.identity(id)) ?? nil
        let listed = current.bundles.filter { $0.lock.timestamp == entry.timestamp }
        // Whoever packaged the catalogue with the program also packaged this bundle.
        for bundle in listed where bundle.isTrusted && view.source == .packaged(bundle.sourceName) {
            guard let snapshot = try? bundle.snapshot(verifier, now: now()) else { continue }
            current.serve(snapshot, from: .packaged(bundle.sourceName), isVerifiedOnDevice: false)
            return current
        }
        var paths = [storage.snapshotPath(id), storage.stagedPath(id), storage.snapshotPath(id)]
        if isPackagedOnly { paths = [] } else if trials != nil { paths.append(storage.previousPath(id)) }
        for path in paths {
            guard let identity = try? FileStore.identity(path),
                let file = try? storage.cacheFile(id, at: path, limits: limits),
                let snapshot = try? view.snapshot(of: file)
            else { continue }
            current.storedIdentity = identity
            protect(&current, by: file.mark)
            current.serve(snapshot, from: .cached, isVerifiedOnDevice: true)
            current.isCached = path != storage.previousPath(id)
            return current
        }
        for bundle in listed {
            let snapshot = try? bundle.snapshot(listedAs: entry.payload, provenance: view.snapshot.provenance)
            guard let snapshot else { continue }
            current.serve(snapshot, from: .packaged(bundle.sourceName), isVerifiedOnDevice: !bundle.isTrusted)
            return current
        }
        return nil
    }

    /// Uses the newest trusted state of a cache file and the packaged snapshots.
    ///
    /// - Parameters:
    ///   - packagedCanStandIn: whether a packaged snapshot of the same state is used in place of a cache file if it
    ///     need not be verified.
    ///   - trialOf: how the states have fared; `nil` if nobody asks.
    ///   - packagedStays: whether a packaged snapshot is used even if it is set aside, before nothing is.
    ///   - usesCached: whether anything is used that was stored.
    private func choose(
        _ id: CollectionID, _ file: CacheFile?, usesPackaged: Bool = true, packagedCanStandIn: Bool = true,
        _ trialOf: (trials: StateTrials, subject: StateTrials.Subject)?, packagedStays: Bool = true,
        usesCached: Bool, _ current: inout CurrentState
    ) {
        let trial = trialOf.map { $0.trials.trial(of: $0.subject) }
        let usesCached = usesCached && trial?.usesPackagedOnly != true
        var candidates: [Candidate] = []
        var problems: [SnapshotStatus.Rejected] = []
        let bundles = packaged.bundles(of: id, problems: &problems)
        for bundle in bundles {
            protect(&current, by: bundle)
            if let rejected = bundle.missing { refuse(rejected, of: id, &current) }
        }
        if usesPackaged { candidates += bundles.map(Candidate.packaged) }
        // The bundles are sorted, newest first.
        if let file {
            let place = candidates.firstIndex {
                $0.timestamp <= file.timestamp && !(packagedCanStandIn && $0.canStandIn(for: file))
            }
            candidates.insert(.cached(file), at: place ?? candidates.endIndex)
        }
        if let trial, let subject = trialOf?.subject, !trial.setAside.isEmpty, usesCached,
            let previous = try? storage.cacheFile(id, at: subject.previousPath, limits: limits)
        {
            let place = candidates.firstIndex { $0.timestamp < previous.timestamp }
            candidates.insert(.previous(previous), at: place ?? candidates.endIndex)
        }
        for candidate in candidates {
            do {
                if case .cached(let file) = candidate, file.timestamp == current.timestamp {
                    current.isCached = true
                    continue
                }
                if case .previous = candidate, current.snapshot != nil { continue }
                // If nothing is known to be good any more, what was in use before is better than nothing.
                let isLastResort = bundles.isEmpty && trial?.good.isEmpty == true
                try use(candidate, trial, usesCached: usesCached, isLastResort: isLastResort, &current)
            } catch {
                let refusal = SnapshotRefusal(error)
                // Else a later sync would take the damaged file's first line, its timestamp, for what is held.
                if case .cached = candidate, refusal.isOfContent, let identity = current.cacheIdentity {
                    current.cacheIdentity = storage.setAside(id, identity)
                }
                refuse(
                    .init(source: candidate.source, timestamp: candidate.timestamp, reason: refusal.reason), of: id,
                    &current)
            }
        }
        if current.snapshot == nil, packagedStays, trial?.setAside.isEmpty == false, usesPackaged {
            current.bundles = []
            for bundle in bundles { try? use(.packaged(bundle), nil, usesCached: false, &current) }
        }
        if current.snapshot == nil { explainAbsence(id, problems, &current) }
    }

    /// Puts a candidate into use. A packaged candidate's bundle is kept in any case if it may be used.
    ///
    /// - Throws: if it cannot be used, or if a newer one is in use already.
    private func use(
        _ candidate: Candidate, _ trial: StateTrial?, usesCached: Bool, isLastResort: Bool = false,
        _ current: inout CurrentState
    ) throws {
        func admitted(_ snapshot: Snapshot) throws(SnapshotRefusal) -> Snapshot {
            if let reason = trial?.reason(against: snapshot) { throw SnapshotRefusal(.setAside(reason)) }
            return snapshot
        }
        switch candidate {
        case .cached(let file):
            guard current.snapshot == nil else { throw SnapshotRefusal(.older) }
            guard usesCached else { throw SnapshotRefusal(.setAside("only what is packaged is used")) }
            current.serve(
                try admitted(snapshot(file, isKnownSigned: current.isKnownSigned)), from: .cached,
                isVerifiedOnDevice: true)
            current.isCached = true
        case .previous(let file):
            guard isServed(by: file.server, file.collection, isSigned: file.chain != nil) else {
                throw SnapshotRefusal(.otherServer(found: file.server, expected: server.description))
            }
            let previous = try admitted(snapshot(file, isKnownSigned: current.isKnownSigned))
            guard isLastResort || trial?.isGood(.init(previous)) == true else {
                throw SnapshotRefusal(.setAside("the app has never started well with it"))
            }
            current.serve(previous, from: .cached, isVerifiedOnDevice: true)
        case .packaged(let bundle):
            try check(bundle)
            // Anyone who can write to the directory could have put it there.
            if !bundle.isTrusted, !bundle.lock.trust.isSigned, current.isKnownSigned {
                throw SnapshotRefusal(.signatureLost)
            }
            current.bundles.append(bundle)
            guard current.snapshot == nil else { throw SnapshotRefusal(.older) }
            current.serve(
                try admitted(bundle.snapshot(verifier, now: now())), from: candidate.source,
                isVerifiedOnDevice: !bundle.isTrusted)
        }
    }

    /// Whether the cache file says of itself that it is this server's signed state of a timestamp, and no packaged
    /// state is newer. Does I/O, and verifies nothing: a read verifies what it serves, and sets aside what it refuses.
    func storedState(of id: CollectionID, isOf timestamp: Timestamp) -> Bool {
        guard let head = (try? storage.head(of: id, limits: limits)) ?? nil, head.timestamp == timestamp,
            ServerIdentity(head.server) == server, head.chain != nil, head.verifiedAt != nil
        else { return false }
        guard trials?.trial(of: storage.trial(of: id)).refusal(at: timestamp) == nil else { return false }
        return (try? packaged.listed(id))?.allSatisfy { $0.lock.timestamp <= timestamp } ?? false
    }

    private func cacheFile(_ id: CollectionID, _ current: inout CurrentState) -> CacheFile? {
        let identity: CacheIdentity?
        do {
            identity = try storage.identity(id)
        } catch {
            refuse(.init(source: .cached, timestamp: nil, reason: SnapshotRefusal(error).reason), of: id, &current)
            return nil
        }
        guard let identity else {
            protect(&current, by: storage.markOfDamaged(id, limits: limits))
            return nil
        }
        current.cacheIdentity = identity
        do {
            guard let file = try storage.cacheFile(id, at: storage.snapshotPath(id), limits: limits)
            else { return nil }
            guard isServed(by: file.server, id, isSigned: file.chain != nil) else {
                throw SnapshotRefusal(.otherServer(found: file.server, expected: server.description))
            }
            protect(&current, by: file.mark)
            return file
        } catch {
            if let error = error as? CacheFileError {
                protect(&current, by: error.mark)
                current.isOfLaterFormat = error.isOfLaterFormat
                if !error.isOfLaterFormat { current.cacheIdentity = storage.setAside(id, identity) }
            }
            refuse(.init(source: .cached, timestamp: nil, reason: SnapshotRefusal(error).reason), of: id, &current)
            return nil
        }
    }

    private func protect(_ current: inout CurrentState, by mark: HighWaterMark?) {
        current.highWaterMark = mark
        if let mark, mark.chain != nil { current.recordSigned(asOf: mark.timestamp) }
    }

    private func protect(_ current: inout CurrentState, by bundle: PackagedBundle) {
        let lock = bundle.lock
        if lock.trust.isSigned {
            guard ServerIdentity(lock.server) == server else { return }
            current.recordSigned(asOf: lock.timestamp)
        } else if bundle.isTrusted, (try? check(bundle)) != nil {
            current.unsignedByProgram = max(current.unsignedByProgram ?? lock.timestamp, lock.timestamp)
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
        readsCatalogues && isSigned && id == Catalogue.collection || ServerIdentity(name) == server
    }

    /// Whether a packaged state may be used with the configured server.
    ///
    /// A state that a pinned root vouches for may be used with every server: with a mirror, a new host name, or another
    /// spelling of the URL. A state without a signature is used only with its own server.
    private func isServed(by bundle: PackagedBundle) -> Bool {
        if let root = bundle.lock.trust.verdict?.root, isPinned(root, of: bundle) { return true }
        return isServed(by: bundle.lock.server, bundle.id, isSigned: bundle.lock.trust.isSigned)
    }

    /// - Parameter isListed: whether the catalogue in use may list the bundle's state. The hash in the catalogue then
    ///   decides, and not the server.
    /// - Throws: `SnapshotRefusal` if the lock alone shows that the bundle's snapshot cannot be used.
    private func check(_ bundle: PackagedBundle, isListed: Bool = false) throws(SnapshotRefusal) {
        let acceptsUnsigned = verifier.policy.acceptsUnsigned
        switch bundle.lock.trust {
        case .imported: guard acceptsUnsigned || bundle.acceptsImported else { throw SnapshotRefusal(.unsigned) }
        case .unsigned, .signed:
            guard isListed || isServed(by: bundle) else {
                throw SnapshotRefusal(.otherServer(found: bundle.lock.server, expected: server.description))
            }
            if !bundle.lock.trust.isSigned, !acceptsUnsigned { throw SnapshotRefusal(.unsigned) }
        }
    }
}

extension SnapshotLoader {
    /// The state before the cached one, verified; `nil` if there is none that can be trusted. Does I/O.
    ///
    /// - Parameter path: where it is; `nil` for the one before the cache file.
    func previousSnapshot(_ id: CollectionID, at path: String? = nil, isKnownSigned: Bool) -> Snapshot? {
        let path = path ?? storage.previousPath(id)
        guard let file = try? storage.cacheFile(id, at: path, limits: limits),
            isServed(by: file.server, id, isSigned: file.chain != nil)
        else { return nil }
        return try? snapshot(file, isKnownSigned: isKnownSigned)
    }

    /// Checks that everything packaged can be used. Does I/O: it reads every byte of it.
    ///
    /// - Throws: ``RemoteSettingsError`` with everything that is wrong.
    func validatePackaged() throws(RemoteSettingsError) {
        var unreadable = packaged.problems
        let all = packaged.allBundles(problems: &unreadable)
        var problems = unreadable.map { rejected -> String in
            if case .packaged(let name) = rejected.source {
                "\(name): \(rejected.reason)"
            } else {
                "\(rejected.reason)"
            }
        }
        for bundle in all {
            do {
                try check(bundle)
                if let root = bundle.lock.trust.verdict?.root, !isPinned(root, of: bundle) {
                    throw SnapshotRefusal(
                        .notTrusted("its root \(root) is not pinned (RemoteSettingsConfig.trustRoots)"))
                }
                let reader = try bundle.reader()
                try reader.verifyContents()
                _ = try bundle.snapshot(verifier, now: now())
                if let missing = bundle.missing { throw SnapshotRefusal(missing.reason) }
                // Contents do not cover every byte, such as times in the ZIP's directory.
                let (found, expected) = (reader.fileDigest, bundle.lock.bundle.sha256)
                guard found == expected else {
                    throw BundleError(
                        .disagreement, file: reader.name, expected: "SHA-256 \(expected), as the lock says",
                        found: "\(found)")
                }
            } catch {
                problems.append("\(bundle.sourceName): \(bundle.id): \(SnapshotRefusal(error).reason)")
            }
        }
        guard problems.isEmpty else {
            throw .untrusted(reason: "packaged snapshots cannot be used:\n" + problems.joined(separator: "\n"))
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

    private func refuse(_ rejected: SnapshotStatus.Rejected, of id: CollectionID, _ current: inout CurrentState) {
        current.rejected.append(rejected)
        switch rejected.reason {
        // Before the first sync, most collections are not found. If one does not exist, the sync fails.
        case .older, .otherBucket, .notFound: logger.debug("\(id): \(rejected)")
        default: logger.warning("\(id): \(rejected)")
        }
    }

    /// Notes what explains that nothing is in use: other buckets that have the name, and sources that could not be
    /// read.
    private func explainAbsence(
        _ id: CollectionID, _ problems: [SnapshotStatus.Rejected], _ current: inout CurrentState
    ) {
        for problem in packaged.problems + problems { refuse(problem, of: id, &current) }
        defer {
            if current.rejected.isEmpty {
                refuse(.init(source: .notHeld, timestamp: nil, reason: .notFound), of: id, &current)
            }
        }
        // A broken lock elsewhere does not explain why this collection is missing.
        var otherProblems: [SnapshotStatus.Rejected] = []
        for bundle in packaged.allBundles(problems: &otherProblems, where: { $0.name == id.name && $0 != id }) {
            refuse(
                .init(
                    source: .packaged(bundle.sourceName), timestamp: bundle.lock.timestamp,
                    reason: .otherBucket(found: bundle.id.bucket)), of: id, &current)
        }
    }
}

extension PackagedBundle {
    /// The state that the lock names but the bundle does not have.
    fileprivate var missing: SnapshotStatus.Rejected? {
        missingState.map {
            .init(source: .packaged(sourceName), timestamp: $0, reason: .missing(found: lock.timestamp))
        }
    }
}
