import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The rules that decide which snapshot of a collection is used. See
/// ``choose(_:from:usesPackaged:isActivation:asking:accepting:)``.
///
/// ``StorageDirectory`` says which states are stored after kills, lost files and concurrent syncs.
struct SnapshotChoice: Sendable {
    /// The server that snapshots must come from.
    let server: ServerIdentity
    let verifier: SnapshotVerifier
    let storage: StorageDirectory
    let packaged: PackagedLocks
    /// Whether stored states are ignored.
    let isPackagedOnly: Bool
    let logger: ServiceLog
    let now: @Sendable () -> Timestamp

    fileprivate enum Candidate {
        case stored(StoredState, isPrevious: Bool)
        case packaged(PackagedBundle)

        var timestamp: Timestamp {
            switch self {
            case .stored(let stored, _): stored.timestamp
            case .packaged(let bundle): bundle.lock.timestamp
            }
        }

        var source: CollectionStatus.Source {
            switch self {
            case .stored: .cached
            case .packaged(let bundle): .packaged(bundle.sourceName)
            }
        }

        /// Returns the rank of this candidate among those with the same timestamp; the lowest is used.
        ///
        /// For a collection, a trusted packaged state is preferred to the stored one, because it needs no verification.
        /// For remote config it is not, because the app has activated the stored one. An unsigned package is never
        /// preferred, because its content may differ from the stored state.
        func order(isActivation: Bool) -> Int {
            switch self {
            case .packaged(let bundle):
                !isActivation && bundle.isTrusted && bundle.lock.trust.isSigned ? 0 : 3
            case .stored(_, let isPrevious): isPrevious ? 2 : 1
            }
        }
    }

    /// Chooses the snapshot of a collection to use. Does I/O and never fails: the result lists the snapshots that are
    /// not used, with the reasons.
    ///
    /// The candidates are the packaged bundles, the stored state, and the one before it, in the order of
    /// `succession`. The first one that is intact, trusted and not rejected by the app is used. If there is none, the
    /// best packaged one is used even if it was rejected.
    ///
    /// - Parameters:
    ///   - slot: the stored states.
    ///   - usesPackaged: whether a packaged snapshot may be used. Even if not, a signed one shows that the collection
    ///     is signed.
    ///   - isActivation: whether the choice is for remote config, which falls back to in-app defaults instead of
    ///     rejected states.
    ///   - trial: the record of how well the app has started with the stored states; empty to ignore that.
    ///   - accept: a closure that throws an error to reject a verified snapshot.
    func choose(
        _ id: CollectionID, from slot: StorageIndex.Slot, usesPackaged: Bool = true, isActivation: Bool = false,
        asking trial: StateTrial,
        accepting accept: (Snapshot, CollectionStatus.Source) throws -> Void = { _, _ in }
    ) -> CurrentState {
        var current = CurrentState(from: slot)
        var unreadable: [CollectionStatus.Unused] = []
        let bundles = packaged.bundles(of: id, problems: &unreadable)
        if let problem = storage.readIndex().problem {
            refuse(.init(source: .cached, timestamp: nil, reason: .damaged("\(problem)")), of: id, &current)
        }
        current.isKnownSigned = isKnownSigned(slot, bundles)

        var candidates = usesPackaged ? bundles.map(Candidate.packaged) : []
        if let stored = slot.current { candidates.append(.stored(stored, isPrevious: false)) }
        if let stored = slot.previous { candidates.append(.stored(stored, isPrevious: true)) }
        let isKnownSigned = current.isKnownSigned
        func rank(_ offered: Candidate, after other: Candidate) -> Succession {
            succession(
                of: standing(offered, isKnownSigned), after: standing(other, isKnownSigned), in: Situation(.stored))
        }
        let ranked = candidates.sorted { left, right in
            if rank(left, after: right) == .replace { return true }
            let isTie = rank(right, after: left) != .replace
            return isTie && left.order(isActivation: isActivation) < right.order(isActivation: isActivation)
        }

        for candidate in ranked {
            do {
                if case .packaged(let bundle) = candidate {
                    try checkServer(of: bundle)
                    current.bundles.append(bundle)
                }
                if let served = current.timestamp {
                    throw SnapshotRefusal(candidate.timestamp > served ? whyItYields(candidate) : .older)
                }
                if case .stored = candidate {
                    if isPackagedOnly { throw SnapshotRefusal(.packagedOnly) }
                    if trial.usesPackagedOnly {
                        throw SnapshotRefusal(.failedInApp("starts with synced states failed, or one was rejected"))
                    }
                }
                let snapshot = try verified(candidate, id, trial, hasPackage: !bundles.isEmpty, current)
                if let reason = trial.reason(against: snapshot) { throw SnapshotRefusal(.failedInApp(reason)) }
                try accept(snapshot, candidate.source)
                current.serve(
                    snapshot, from: candidate.source, isVerifiedOnDevice: !candidate.isTrusted,
                    isOwn: standing(candidate, isKnownSigned).isOwn)
            } catch {
                let refusal = SnapshotRefusal(error)
                let reason = refusal.reason
                if case .stored(let stored, isPrevious: false) = candidate, refusal.isOfContent {
                    current.refused = stored
                }
                // Do not report the earlier state that is kept for rollbacks, nor a stored copy of the state in use.
                if case .stored(_, let isPrevious) = candidate, reason == .older,
                    isPrevious || candidate.timestamp == current.timestamp
                {
                    continue
                }
                refuse(
                    .init(source: candidate.source, timestamp: candidate.timestamp, reason: reason), of: id, &current)
            }
        }
        if current.snapshot == nil, !isActivation, usesPackaged, !trial.rejected.isEmpty {
            for bundle in current.bundles where current.snapshot == nil {
                guard
                    let snapshot = try? bundle.snapshot(verifier, isKnownSigned: current.isKnownSigned)
                else { continue }
                let candidate = Candidate.packaged(bundle)
                guard (try? accept(snapshot, candidate.source)) != nil else { continue }
                current.serve(
                    snapshot, from: candidate.source, isVerifiedOnDevice: !bundle.isTrusted,
                    isOwn: standing(candidate, isKnownSigned).isOwn)
            }
        }
        refuseOtherServers(id, &current)
        if current.snapshot == nil { explainAbsence(id, unreadable, &current) }
        return current
    }

    /// Returns what matters for whether a candidate is used instead of another one. A state without a known server is
    /// accepted for every server.
    ///
    /// - Parameter isKnownSigned: whether signatures count (``isKnownSigned(_:_:)``).
    private func standing(_ candidate: Candidate, _ isKnownSigned: Bool) -> Standing {
        let standing: Standing
        switch candidate {
        case .stored(let stored, _): standing = stored.standing
        case .packaged(let bundle):
            let isForeign = ServerIdentity(bundle.lock.server).isServer && !isServed(by: bundle.lock.server)
            standing = Standing(bundle.lock.timestamp, bundle.lock.trust, isOwn: !isForeign)
        }
        return standing.trust == .signed && !isKnownSigned
            ? Standing(standing.timestamp, .unsigned, isOwn: standing.isOwn) : standing
    }

    private func whyItYields(_ candidate: Candidate) -> CollectionStatus.Unused.Reason {
        guard case .packaged(let bundle) = candidate, bundle.lock.trust.isSigned else { return .signatureLost }
        return .otherServer(found: bundle.lock.server, expected: server.description)
    }

    /// Adds the stored states of other servers that are newer than the state in use to the rejected ones.
    private func refuseOtherServers(_ id: CollectionID, _ current: inout CurrentState) {
        for stored in storage.index().environments(of: id).compactMap(\.collection.synced.current) {
            guard !isServed(by: stored.server),
                current.timestamp.map({ $0 < stored.timestamp }) ?? true
            else { continue }
            let reason = CollectionStatus.Unused.Reason.otherServer(found: stored.server, expected: server.description)
            let rejected = CollectionStatus.Unused(source: .cached, timestamp: stored.timestamp, reason: reason)
            if !current.unused.contains(rejected) { refuse(rejected, of: id, &current) }
        }
    }

    /// Returns the candidate's snapshot, verified, if the app may use it.
    private func verified(
        _ candidate: Candidate, _ id: CollectionID, _ trial: StateTrial, hasPackage: Bool, _ current: CurrentState
    ) throws -> Snapshot {
        switch candidate {
        case .packaged(let bundle):
            return try bundle.snapshot(verifier, isKnownSigned: current.isKnownSigned)
        case .stored(let stored, let isPrevious):
            // After a rejected state, roll back only to a state that the app has started successfully with. If no state
            // is known to be good and nothing is packaged, the previous state is better than none.
            if isPrevious, !trial.rejected.isEmpty, !trial.isGood(stored.state),
                hasPackage || !trial.good.isEmpty
            {
                throw SnapshotRefusal(.failedInApp("the app has never started successfully with it"))
            }
            return try snapshot(of: stored, id, isKnownSigned: current.isKnownSigned)
        }
    }

    /// Returns the snapshot of a stored state, verified as of the time stated in its file.
    func snapshot(of stored: StoredState, _ id: CollectionID, isKnownSigned: Bool) throws -> Snapshot {
        guard isServed(by: stored.server) else {
            throw SnapshotRefusal(.otherServer(found: stored.server, expected: server.description))
        }
        guard let file = try storage.file(of: stored, id) else {
            throw SnapshotRefusal(
                .damaged("\(storage.statePath(stored.file)) is missing; the next sync writes it again"))
        }
        // The index is not signed, so its information about the file may be wrong.
        guard isServed(by: file.server) else {
            throw SnapshotRefusal(.otherServer(found: file.server, expected: server.description))
        }
        let payload = try Payload(parsing: file.payload)
        guard payload.timestamp == file.timestamp, file.timestamp == stored.timestamp else {
            throw SnapshotRefusal(
                .damaged("its records have the timestamp \(payload.timestamp), but the index has \(stored.timestamp)"))
        }
        let unverified = UnverifiedSnapshot(
            collection: id, payload: payload,
            metadata: try CollectionMetadata(parsing: file.metadata))
        if let verifiedAt = file.verifiedAt, let chain = file.chain {
            return try verifier.believe(unverified, .kept(chain, verifiedAt: verifiedAt))
        }
        return try verifier.believe(unverified, .nothing(isKnownSigned: isKnownSigned))
    }

    /// Returns whether a signed state of this server is packaged or stored, and the program contains no later unsigned
    /// one (``Standing/isSigned(by:unlessAfter:)``).
    private func isKnownSigned(_ slot: StorageIndex.Slot, _ bundles: [PackagedBundle]) -> Bool {
        let stored = [slot.current, slot.previous].compactMap(\.self).filter { isServed(by: $0.server) }
        let own = bundles.filter { ServerIdentity($0.lock.server) == server }
        let program = bundles.filter { bundle in
            bundle.isTrusted && bundle.lock.trust == .unsigned && verifier.policy.acceptsUnsigned
                && isServed(by: bundle)
        }
        return Standing.isSigned(
            by: stored.map(\.standing) + own.map(\.lock.standing), unlessAfter: program.map(\.lock.standing))
    }

    /// Returns whether a state from this server may be used with the configured server.
    private func isServed(by name: String) -> Bool { ServerIdentity(name) == server }

    /// Returns whether a packaged state may be used with the configured server.
    ///
    /// A state that is signed under a pinned root may be used with every server, for example with a mirror, a new host
    /// name, or a different spelling of the URL. An unsigned state is used only with the server it came from.
    private func isServed(by bundle: PackagedBundle) -> Bool {
        if let root = bundle.lock.trust.verdict?.root, isPinned(root, of: bundle) { return true }
        return isServed(by: bundle.lock.server)
    }

    /// Checks that a packaged state is from the configured server, or verifies for every server.
    private func checkServer(of bundle: PackagedBundle) throws(SnapshotRefusal) {
        guard bundle.lock.trust == .imported || isServed(by: bundle) else {
            throw SnapshotRefusal(.otherServer(found: bundle.lock.server, expected: server.description))
        }
    }
}

extension SnapshotChoice {
    /// Checks that everything packaged can be used. Does I/O: it reads every byte.
    ///
    /// - Throws: ``RemoteSettingsError`` with all problems found.
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
                try checkServer(of: bundle)
                if let root = bundle.lock.trust.verdict?.root, !isPinned(root, of: bundle) {
                    throw SnapshotRefusal(
                        .notTrusted("its root \(root) is not pinned (RemoteSettingsConfig.trustRoots)"))
                }
                let reader = try bundle.reader()
                try reader.verifyContents()
                _ = try bundle.snapshot(verifier, isKnownSigned: false)
                // The content hash does not cover some bytes of the file, such as the times in the ZIP directory.
                let (found, expected) = (try reader.fileDigest(), bundle.lock.bundle.sha256)
                guard found == expected else {
                    throw Failure(
                        .damaged, file: reader.name, expected: "SHA-256 \(expected), as in the lock file",
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

    /// Returns whether the root in the lock file is pinned, or the root of a different chain in the bundle is.
    private func isPinned(_ root: SHA256Digest, of bundle: PackagedBundle) -> Bool {
        let pinned = verifier.policy.roots.roots
        guard !pinned.contains(root), let text = try? bundle.reader().chain() else { return pinned.contains(root) }
        return KeptChains(text: text).chains.contains { pem in
            (try? CertificateChain(pem: pem)).map { pinned.contains($0.root) } ?? false
        }
    }

    private func refuse(_ rejected: CollectionStatus.Unused, of id: CollectionID, _ current: inout CurrentState) {
        current.unused.append(rejected)
        switch rejected.reason {
        // Most collections are not found before their first sync, so this is not worth a warning. If a collection does
        // not exist on the server, its sync fails.
        case .older, .otherBucket, .notFound: logger.debug("\(id): \(rejected)")
        default: logger.warning("\(id): \(rejected)")
        }
    }

    /// Adds the likely reasons that no snapshot is in use: other buckets with a collection of this name, and sources
    /// that could not be read.
    private func explainAbsence(
        _ id: CollectionID, _ problems: [CollectionStatus.Unused], _ current: inout CurrentState
    ) {
        for problem in packaged.problems + problems { refuse(problem, of: id, &current) }
        defer {
            if current.unused.isEmpty {
                refuse(.init(source: .noSnapshot, timestamp: nil, reason: .notFound), of: id, &current)
            }
        }
        // An unreadable lock file does not explain why a collection in another source is missing, so it is ignored
        // here.
        var otherProblems: [CollectionStatus.Unused] = []
        for bundle in packaged.allBundles(problems: &otherProblems, where: { $0.name == id.name && $0 != id }) {
            refuse(
                .init(
                    source: .packaged(bundle.sourceName), timestamp: bundle.lock.timestamp,
                    reason: .otherBucket(found: bundle.id.bucket)), of: id, &current)
        }
    }
}

extension SnapshotChoice.Candidate {
    /// Whether anyone who can change the candidate can also change the program.
    fileprivate var isTrusted: Bool { if case .packaged(let bundle) = self { bundle.isTrusted } else { false } }
}
