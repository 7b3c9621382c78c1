import ContentSignature
import Dumps
import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// Takes one collection through the stages: fetch and verify, gather, pack.
struct CollectionRefresher: Sendable {
    let directory: DumpsDirectory
    let fetcher: SnapshotFetcher
    let gatherer: AttachmentGatherer
    let deflaters: DeflaterPool
    let policy: TrustPolicy
    let server: String
    let limits: Limits
    /// Whether finished bundles wait for the refresh to name them, once all are within the budget.
    let holdsBack: Bool

    /// Never throws: whatever goes wrong is in the outcome.
    func refresh(
        _ planned: PlannedCollection, onEvent: @Sendable (RefreshEvent) -> Void
    ) async -> CollectionOutcome {
        var outcome = CollectionOutcome(planned, status: .failed)
        do {
            try await refresh(planned, &outcome, onEvent)
        } catch {
            outcome.status = .failed
            outcome.error = CollectionError(error)
        }
        return outcome
    }

    private func refresh(
        _ planned: PlannedCollection, _ outcome: inout CollectionOutcome, _ onEvent: (RefreshEvent) -> Void
    ) async throws {
        let present = presentBundle(planned)
        let fetched: SnapshotFetcher.Fetched
        if planned.action == .repack, let present {
            fetched = try reread(planned, present)
        } else {
            fetched = try await fetcher.fetch(planned, base: base(planned, present))
        }
        if let pin = planned.settings.pin, fetched.snapshot.timestamp != pin.at {
            throw PinError.unmet(planned.id, pin, reason: "the server now has \(fetched.snapshot.timestamp)")
        }
        outcome.notes += fetched.notes
        outcome.serverTimestamp = fetched.snapshot.timestamp
        let isSameState = try compare(planned, present, fetched, &outcome)
        if isSameState && planned.action != .repack && isUsable(planned, present, fetched.snapshot.provenance) {
            outcome.status = .unchanged
            return
        }

        let selector: AttachmentSelector
        do {
            selector = try AttachmentSelector(planned.settings.attachments)
        } catch {
            throw CollectionError.configuration("\(error)")
        }
        let (wanted, omitted): ([WantedAttachment], [SHA256Digest: OmissionReason])
        do {
            (wanted, omitted) = try selector.select(fetched.snapshot.records)
        } catch {
            throw CollectionError.fetch(.changeset(error, url: server))
        }
        try planned.settings.budget.check(wanted)
        async let records = packed(fetched.snapshot)
        var sources = try await gatherer.gather(
            wanted, of: planned.id, base: present, hasZip: fetched.snapshot.metadata.hasAttachmentsZip, into: &outcome)
        for (digest, reason) in omitted { sources[digest] = .omitted(reason) }

        onEvent(.packing(planned.id))
        outcome.entry = try pack(planned, fetched.snapshot, sources, try await records)
        outcome.isHeldBack = holdsBack && FileStore.size(directory.packPath(planned.id)) != nil
        if !outcome.isHeldBack { try FileStore.remove(directory.stagedPath(planned.id)) }
        outcome.status =
            planned.held == nil ? .created : planned.action == .repack ? .repacked : isSameState ? .repaired : .updated
    }

    /// The bundle that is there, as far as it can be read: its attachments are used by hash, whatever else is wrong.
    private func presentBundle(_ planned: PlannedCollection) -> BundleReader? {
        try? BundleReader(path: directory.bundlePath(planned.id), limits: limits)
    }

    /// What a delta can be asked onto.
    private func base(_ planned: PlannedCollection, _ present: BundleReader?) -> BundleReader? {
        guard let present, let held = planned.held, present.head.timestamp == held.timestamp else { return nil }
        switch planned.action {
        case .update, .probe: return present
        default: return nil
        }
    }

    /// Whether the bundle may stay as it is where the server's state is the one that it has.
    private func isUsable(
        _ planned: PlannedCollection, _ present: BundleReader?, _ provenance: Provenance
    ) -> Bool {
        guard present != nil, let held = planned.held, held.attachmentRule == planned.settings.attachments.text
        else { return false }
        switch planned.action {
        case .update, .probe: return true
        case .refetch:
            // Newer signatures alone are no reason to write; another root is, and so is a file that is not the lock's.
            return held.trust.kind == provenance.kind && held.trust.verdict?.root == provenance.verdict?.root
                && (try? FileStore.digest(of: directory.bundlePath(planned.id))) == held.bundle.sha256
        default: return false
        }
    }

    /// Whether the server's state is the one that is held; also counts what differs.
    private func compare(
        _ planned: PlannedCollection, _ present: BundleReader?, _ fetched: SnapshotFetcher.Fetched,
        _ outcome: inout CollectionOutcome
    ) throws(CollectionError) -> Bool {
        guard let present, let payload = try? present.payload() else {
            return false
        }
        outcome.changes = RecordComparison.changes(from: payload.records, to: fetched.snapshot.records)
        guard let held = planned.held, held.timestamp == fetched.snapshot.timestamp,
            present.head.timestamp == held.timestamp
        else { return false }
        if payload == fetched.snapshot.payload { return true }
        // A damaged bundle differs too; only an intact one shows that the server says two things.
        if (try? present.verifyContents()) != nil, present.head.trust != .imported {
            throw .fetch(.equivocation(held.timestamp))
        }
        return false
    }

    /// The bundle's own snapshot, verified again at the time that the lock keeps.
    private func reread(_ planned: PlannedCollection, _ present: BundleReader) throws -> SnapshotFetcher.Fetched {
        guard let held = planned.held else { throw CollectionError.configuration("there is no lock entry") }
        let verified = try BundleVerifier(policy, limits: limits).snapshot(of: present, held)
        return SnapshotFetcher.Fetched(snapshot: verified)
    }

    private func packed(_ snapshot: Snapshot) async throws -> PackedRecords? {
        try PackedRecords(snapshot.payload, with: deflaters)
    }

    /// Writes the bundle beside its place, reads it back, notes what the lock will say of it, and gives it its name.
    private func pack(
        _ planned: PlannedCollection, _ snapshot: Snapshot, _ sources: [SHA256Digest: AttachmentSource],
        _ records: PackedRecords?
    ) throws -> LockFile.Collection {
        let temporary = directory.packPath(planned.id)
        try FileStore.remove(temporary)
        let written = try BundleWriter(snapshot, attachments: sources, packedRecords: records, limits: limits)
            .write(toNewFile: temporary)
        do {
            try planned.settings.budget.check(size: written.size, of: written.manifest)
            try BundleReader(path: temporary, limits: limits).verifyContents()
            let entry = LockFile.Collection(
                written, trust: snapshot.provenance, server: server, attachmentRule: planned.settings.attachments.text)
            if entry.isSameBundle(as: planned.held), FileStore.size(directory.bundlePath(planned.id)) == written.size,
                (try? FileStore.digest(of: directory.bundlePath(planned.id))) == written.sha256
            {
                // The same bytes again: the file and the time it was verified at stay as they are.
                try FileStore.remove(temporary)
                var kept = planned.held ?? entry
                kept.attachmentRule = entry.attachmentRule
                return kept
            }
            if !holdsBack { try directory.name(planned.id, entry) }
            return entry
        } catch {
            try? FileStore.remove(temporary)
            throw error
        }
    }
}

extension LockFile.Collection {
    fileprivate func isSameBundle(as other: LockFile.Collection?) -> Bool {
        guard let other else { return false }
        return bundle == other.bundle && content == other.content && timestamp == other.timestamp
    }
}
