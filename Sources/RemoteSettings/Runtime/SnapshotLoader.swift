import ContentSignature
import Logging
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Finds the snapshot that serves: the newest of the cached and the packaged ones that can be trusted.
struct SnapshotLoader: Sendable {
    /// The server that snapshots have to be of.
    let server: ServerIdentity
    let verifier: KeptSnapshotVerifier
    let storage: StorageDirectory
    let packaged: PackagedIndex
    let limits: Limits
    let logger: Logger

    private enum Candidate {
        case cached(CacheFile)
        case packaged(PackagedIndex.Entry)

        var timestamp: Timestamp {
            switch self {
            case .cached(let file): file.timestamp
            case .packaged(let entry): entry.lock.timestamp
            }
        }

        var source: SnapshotStatus.Source {
            switch self {
            case .cached: .cached
            case .packaged(let entry): .packaged(entry.source.name)
            }
        }
    }

    /// Reads and verifies. Does I/O, never fails: what cannot serve is in the result with its reason.
    func load(_ id: CollectionID) -> LoadedCollection {
        var loaded = LoadedCollection()
        var candidates: [Candidate] = []
        if let file = cacheFile(id, &loaded) { candidates.append(.cached(file)) }
        var problems: [PackagedIndex.Problem] = []
        let entries = packaged.entries(id, problems: &problems)
        for entry in entries { note(entry, &loaded) }
        candidates += entries.map(Candidate.packaged)
        // Between equals the cached one stays: the sort is stable.
        candidates.sort { $0.timestamp > $1.timestamp }
        for candidate in candidates {
            do {
                switch candidate {
                case .cached(let file):
                    guard loaded.held == nil else { throw SnapshotRefusal(.older) }
                    loaded.held = try held(file, isKnownSigned: loaded.isKnownSigned)
                case .packaged(let entry):
                    try check(entry)
                    // Whoever can write to the directory could have put it there.
                    if !entry.isTrusted, !entry.isSigned, loaded.isKnownSigned {
                        throw SnapshotRefusal(.signatureLost)
                    }
                    let bundle = PackagedBundle(entry, of: id, limits: limits)
                    loaded.bundles.append(bundle)
                    guard loaded.held == nil else { throw SnapshotRefusal(.older) }
                    loaded.held = try held(bundle)
                }
            } catch {
                let refusal = SnapshotRefusal(error)
                if case .cached = candidate, refusal.isDamage, let identity = loaded.cacheIdentity {
                    loaded.cacheIdentity = storage.setAside(id, identity)
                }
                refuse(id, candidate.source, candidate.timestamp, refusal.reason, &loaded)
            }
        }
        if loaded.held == nil { noteOthers(id, problems, &loaded) }
        return loaded
    }

    private func cacheFile(_ id: CollectionID, _ loaded: inout LoadedCollection) -> CacheFile? {
        guard let identity = storage.identity(id) else {
            let told = storage.toldByDamaged(id, limits: limits)
            note(told.highWaterMark, wasSigned: told.wasSigned, &loaded)
            return nil
        }
        loaded.cacheIdentity = identity
        do {
            guard let file = try storage.cacheFile(id, at: storage.snapshotPath(id), limits: limits)
            else { return nil }
            guard ServerIdentity(file.server) == server else {
                throw SnapshotRefusal(.otherServer(found: file.server, expected: server.description))
            }
            note(file.highWaterMark, wasSigned: file.chain != nil, &loaded)
            return file
        } catch {
            if let error = error as? CacheFileError {
                note(error.highWaterMark, wasSigned: error.wasSigned, &loaded)
                loaded.cacheIdentity = storage.setAside(id, identity)
            }
            refuse(id, .cached, nil, SnapshotRefusal(error).reason, &loaded)
            return nil
        }
    }

    private func note(_ highWaterMark: Timestamp?, wasSigned: Bool, _ loaded: inout LoadedCollection) {
        loaded.highWaterMark = highWaterMark
        if wasSigned { loaded.noteSigned(asOf: highWaterMark ?? Timestamp(milliseconds: 0)) }
    }

    private func note(_ entry: PackagedIndex.Entry, _ loaded: inout LoadedCollection) {
        if entry.isSigned {
            guard ServerIdentity(entry.lock.server) == server else { return }
            loaded.noteSigned(asOf: entry.lock.timestamp)
        } else if entry.isTrusted, (try? check(entry)) != nil {
            loaded.unsignedByProgram = max(loaded.unsignedByProgram ?? entry.lock.timestamp, entry.lock.timestamp)
        }
    }

    private func held(_ file: CacheFile, isKnownSigned: Bool) throws -> HeldSnapshot {
        let payload = try Payload(parsing: file.payload, limits: limits)
        guard payload.timestamp == file.timestamp else {
            throw SnapshotRefusal(.damaged("its records are of \(payload.timestamp), not of \(file.timestamp)"))
        }
        let unverified = UnverifiedSnapshot(
            collection: file.collection, payload: payload,
            metadata: try CollectionMetadata(parsing: file.metadata, limits: limits))
        let snapshot: Snapshot
        if let verifiedAt = file.verifiedAt, let chain = file.chain {
            snapshot = try verifier.verified(unverified, chain: chain, at: verifiedAt)
        } else {
            guard verifier.policy.acceptsUnsigned else { throw SnapshotRefusal(.unsigned) }
            guard !isKnownSigned else { throw SnapshotRefusal(.signatureLost) }
            snapshot = Snapshot(vouchingFor: unverified, chain: nil, provenance: .unsigned)
        }
        return HeldSnapshot(source: .cached, snapshot: snapshot, isCheckedHere: true)
    }

    /// - Throws: `SnapshotRefusal` where the lock alone tells that the snapshot cannot serve.
    func check(_ entry: PackagedIndex.Entry) throws(SnapshotRefusal) {
        switch entry.lock.trust {
        case .imported:
            guard verifier.policy.acceptsUnsigned || entry.acceptsImported else { throw SnapshotRefusal(.unsigned) }
        case .unsigned, .signed:
            guard ServerIdentity(entry.lock.server) == server else {
                throw SnapshotRefusal(.otherServer(found: entry.lock.server, expected: server.description))
            }
            if case .unsigned = entry.lock.trust, !verifier.policy.acceptsUnsigned { throw SnapshotRefusal(.unsigned) }
        }
    }

    private func held(_ packaged: PackagedBundle) throws -> HeldSnapshot {
        let entry = packaged.entry
        let bundle = try packaged.reader()
        let source = SnapshotStatus.Source.packaged(entry.source.name)
        if entry.isTrusted {
            // Nothing is verified, so that of the metadata nothing needs to be read.
            let claim = UnverifiedSnapshot(
                collection: bundle.head.collection, payload: try bundle.payload(),
                metadata: CollectionMetadata(unread: try bundle.metadataText()))
            let snapshot = Snapshot(vouchingFor: claim, chain: try bundle.chain(), provenance: entry.lock.trust)
            return HeldSnapshot(source: source, snapshot: snapshot, isCheckedHere: false)
        }
        // Of a file that others may write to, a copy is verified: a copy cannot change afterwards.
        let unverified = UnverifiedSnapshot(
            collection: bundle.head.collection,
            payload: try bundle.payload(parsing: Bytes(try bundle.payloadText().array)), metadata: try bundle.metadata()
        )
        guard let verdict = entry.lock.trust.verdict else {
            let snapshot = Snapshot(vouchingFor: unverified, chain: nil, provenance: entry.lock.trust)
            return HeldSnapshot(source: source, snapshot: snapshot, isCheckedHere: true)
        }
        guard let chain = try bundle.chain() else {
            throw SnapshotRefusal(.damaged("\(bundle.name): expected chain.pem, found none"))
        }
        let verified = try verifier.verified(unverified, chain: Bytes(chain.array), at: verdict.verifiedAt)
        return HeldSnapshot(source: source, snapshot: verified, isCheckedHere: true)
    }
}

extension SnapshotLoader {
    /// The records of the state before the cached one, verified; `nil` where there is none to be trusted.
    func previousRecords(_ id: CollectionID, isKnownSigned: Bool) -> RecordTable? {
        let path = storage.previousPath(id)
        guard let file = try? storage.cacheFile(id, at: path, limits: limits), ServerIdentity(file.server) == server
        else { return nil }
        return try? held(file, isKnownSigned: isKnownSigned).records
    }

    /// The records of a packaged bundle, verified unless it is trusted; `nil` where it cannot be.
    func records(of bundle: PackagedBundle) -> RecordTable? { try? held(bundle).records }

    private func refuse(
        _ id: CollectionID, _ source: SnapshotStatus.Source, _ timestamp: Timestamp?,
        _ reason: SnapshotStatus.Unused.Reason, _ loaded: inout LoadedCollection
    ) {
        let unused = SnapshotStatus.Unused(source: source, timestamp: timestamp, reason: reason)
        loaded.unused.append(unused)
        switch reason {
        case .older, .otherBucket: logger.debug("\(id): \(unused)")
        default: logger.warning("\(id): \(unused)")
        }
    }

    /// Where nothing serves: what there is under the same name elsewhere, and which sources could not be read.
    private func noteOthers(
        _ id: CollectionID, _ problems: [PackagedIndex.Problem], _ loaded: inout LoadedCollection
    ) {
        for problem in packaged.problems + problems {
            refuse(id, .packaged(problem.source), nil, .unreadableSource(problem.reason), &loaded)
        }
        // What is wrong with a lock elsewhere is no reason why this collection is not there.
        var otherProblems: [PackagedIndex.Problem] = []
        for (other, entry) in packaged.all(problems: &otherProblems) where other.name == id.name && other != id {
            let source = SnapshotStatus.Source.packaged(entry.source.name)
            refuse(id, source, entry.lock.timestamp, .otherBucket(found: other.bucket), &loaded)
        }
    }
}
