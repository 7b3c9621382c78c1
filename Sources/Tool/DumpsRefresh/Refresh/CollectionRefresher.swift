import Dispatch
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// Takes one collection through the stages: fetch and verify, gather, pack.
struct CollectionRefresher: Sendable {
    let directory: DumpsDirectory
    let fetcher: CollectionFetcher
    let gatherer: AttachmentGatherer
    let deflaters: DeflaterPool
    let policy: TrustPolicy
    let server: String
    let limits: Limits
    /// Whether finished bundles wait until all are packed: known to be within the budget, and a whole release.
    let holdsBack: Bool
    /// The number of the release, for errors; 0 if there is none.
    let release: UInt64

    /// Errors are in the outcome.
    ///
    /// - Parameter fetched: the server's state, where it is known already.
    func refresh(
        _ planned: PlannedCollection, fetched: Snapshot? = nil, onEvent: @Sendable (RefreshEvent) -> Void
    ) async -> CollectionOutcome {
        var outcome = CollectionOutcome(planned, status: .failed)
        do {
            try await refresh(planned, fetched: fetched, into: &outcome, onEvent: onEvent)
        } catch {
            outcome.status = .failed
            outcome.error = CollectionError(error)
        }
        return outcome
    }

    private func refresh(
        _ planned: PlannedCollection, fetched: Snapshot?, into outcome: inout CollectionOutcome,
        onEvent: (RefreshEvent) -> Void
    ) async throws {
        let present = presentBundle(planned)
        guard let (snapshot, isSameState) = try await state(planned, fetched, present, into: &outcome) else {
            outcome.status = .unchanged
            return
        }

        let selector = try AttachmentSelector(planned.settings.attachments)
        let (wanted, omitted) = try Result { () throws(ChangesetError) in try selector.select(snapshot.records) }
            .mapError { CollectionError.fetch(.changeset($0, url: server)) }.get()
        try planned.settings.budget.check(wanted)
        async let records = packed(snapshot)
        var sources = try await gatherer.gather(
            wanted, of: planned.id, base: present, isDoubtful: planned.action.isRefetch,
            hasZip: snapshot.metadata.hasAttachmentsZip, into: &outcome)
        for (digest, reason) in omitted { sources[digest] = .omitted(reason) }
        if wanted.isEmpty, !omitted.isEmpty, omitted.values.allSatisfy({ $0 == .filter }) {
            outcome.notes.append(
                "the filter of its attachments keeps none of \(omitted.count); if that is not meant, correct include: in "
                    + "dumps.yaml")
        }

        onEvent(.packing(planned.id))
        (outcome.entry, outcome.isHeldBack) = try await pack(
            planned, snapshot, sources: sources, records: try await records, keeping: present)
        // The bundle has its name: what cannot be removed now does not make it a failure.
        if !outcome.isHeldBack { try? FileStore.remove(directory.stagedPath(planned.id)) }
        outcome.status =
            planned.held == nil ? .created : planned.action == .repack ? .repacked : isSameState ? .repaired : .updated
    }

    /// The collection's state, verified, and whether its records are those of the present bundle; `nil` if the present
    /// bundle stays.
    ///
    /// The present records are not in memory any more when it returns.
    private func state(
        _ planned: PlannedCollection, _ fetched: Snapshot?, _ present: BundleReader?,
        into outcome: inout CollectionOutcome
    ) async throws -> (Snapshot, isSameState: Bool)? {
        // Inflated and read here, and nowhere else.
        let payload = present.map { bundle in Result { () throws(BundleError) in try bundle.payload() } }
        let old = try? payload?.get()
        let snapshot: Snapshot
        if let fetched {
            snapshot = fetched
        } else if planned.action == .repack, let present, let payload {
            guard let held = planned.held else { throw CollectionError.configuration("there is no lock entry") }
            // Verified again at the time that the lock keeps.
            snapshot = try BundleVerifier(policy, limits: limits).snapshot(
                of: present, payload: payload.get(), as: held)
        } else {
            if case .failure(let error)? = payload {
                outcome.notes.append("the present bundle's records cannot be read (\(error)); everything was fetched")
            }
            let base = planned.isBase(present?.head) ? old : nil
            let fetched = try await fetcher.fetch(planned, onto: base) { records in
                gatherer.prepare(for: records, rule: planned.settings.attachments, base: present)
            }
            if let retried = fetched.retried {
                outcome.notes.append("a delta could not be used (\(retried)); everything was fetched")
            }
            snapshot = fetched.snapshot
        }
        if let pin = planned.settings.pin, snapshot.timestamp != pin.at {
            throw PinError.unmet(planned.id, pin, reason: "the server now has \(snapshot.timestamp)")
        }
        outcome.serverTimestamp = snapshot.timestamp
        try planned.check(snapshot, number: release)
        if let old { outcome.changes = .init(from: old.records, to: snapshot.records) }
        let isSameState = try isSame(snapshot, as: old, in: present, planned: planned)
        if isSameState && planned.action != .repack && isUsable(planned, present, for: snapshot.provenance) {
            return nil
        }
        return (snapshot, isSameState)
    }

    /// The present bundle, if it can be opened: its attachments are used by hash, even if its records are damaged.
    private func presentBundle(_ planned: PlannedCollection) -> BundleReader? {
        try? BundleReader(path: directory.bundlePath(planned.id), limits: limits)
    }

    /// Whether the present bundle may stay if its records are the server's.
    private func isUsable(
        _ planned: PlannedCollection, _ present: BundleReader?, for provenance: Provenance
    ) -> Bool {
        guard present != nil, let held = planned.held, held.attachmentRule == planned.settings.attachments.text
        else { return false }
        switch planned.action {
        case .update, .probe: return true
        case .refetch:
            // Newer signatures alone are no reason to write; another root is, and so is a bundle that does not verify.
            return held.trust.kind == provenance.kind && held.trust.verdict?.root == provenance.verdict?.root
                && isVerified(planned.id, held)
        default: return false
        }
    }

    /// Whether the server's state is that of the present bundle.
    private func isSame(
        _ snapshot: Snapshot, as old: Payload?, in present: BundleReader?, planned: PlannedCollection
    ) throws(CollectionError) -> Bool {
        guard let present, let old, let held = planned.held, held.timestamp == snapshot.timestamp,
            old.timestamp == held.timestamp
        else { return false }
        if old == snapshot.payload { return true }
        // A damaged or edited bundle differs too; only one that verifies shows that the server contradicts itself. A
        // catalogue decides which of two is right.
        if !planned.isVouchedFor, present.head.trust != .imported, isVerified(planned.id, held) {
            throw .fetch(.equivocation(held.timestamp))
        }
        return false
    }

    /// Whether the present bundle is what its lock entry says, and what vouches for that is trusted.
    private func isVerified(_ id: CollectionID, _ held: LockFile.Collection) -> Bool {
        (try? BundleVerifier(policy, limits: limits).verify(directory.bundlePath(id), of: id, against: held)) != nil
    }

    /// Runs work that waits for the disk on a thread of its own: there are only as many threads for tasks as there are
    /// cores, and while one of them waited, the compression of further downloads would wait too.
    private func onOwnThread(_ work: @escaping @Sendable () throws -> Void) async throws {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "waiting for the disk").async { continuation.resume(with: Result { try work() }) }
        }
    }

    private func packed(_ snapshot: Snapshot) async throws -> PackedRecords? {
        try PackedRecords(snapshot.payload, with: deflaters)
    }

    /// Writes the bundle to a temporary file, reads it back, writes down its future lock entry, and renames it into
    /// place.
    ///
    /// - Returns: the lock entry, and whether the bundle is held back.
    private func pack(
        _ planned: PlannedCollection, _ snapshot: Snapshot, sources: [SHA256Digest: AttachmentInput],
        records: PackedRecords?, keeping present: BundleReader?
    ) async throws -> (entry: LockFile.Collection, isHeldBack: Bool) {
        let entry = try directory.pack(
            snapshot, attachments: sources, records: records, keeping: present, settings: planned.settings,
            server: server, limits: limits, flushing: false)
        do {
            if let held = planned.held, directory.hasBundle(planned.id, entry, lockedAs: held) {
                // The bytes are the same: the file and its `verifiedAt` stay unchanged.
                try FileStore.remove(directory.packPath(planned.id))
                var kept = held
                kept.attachmentRule = entry.attachmentRule
                return (kept, false)
            }
            try await onOwnThread {
                try OutputFile.flush(path: directory.packPath(planned.id))
                if !holdsBack { try directory.name(planned.id, entry) }
            }
            return (entry, holdsBack)
        } catch {
            try? FileStore.remove(directory.packPath(planned.id))
            throw error
        }
    }
}
