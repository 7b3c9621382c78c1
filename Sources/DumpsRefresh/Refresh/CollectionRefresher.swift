import ContentSignature
import Dumps
import FileStorage
import RemoteSettingsModel
import SnapshotBundle
import SnapshotFetch

/// Takes one collection through the stages: fetch and verify, gather, pack.
struct CollectionRefresher: Sendable {
    let directory: DumpsDirectory
    let fetcher: CollectionFetcher
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
        // Inflated and read here, and nowhere else.
        let payload = present.map { bundle in Result { () throws(BundleError) in try bundle.payload() } }
        let old = try? payload?.get()
        let snapshot: Snapshot
        if planned.action == .repack, let present, let payload {
            guard let held = planned.held else { throw CollectionError.configuration("there is no lock entry") }
            // Verified again at the time that the lock keeps.
            snapshot = try BundleVerifier(policy, limits: limits).snapshot(of: present, payload.get(), held)
        } else {
            if case .failure(let error)? = payload {
                outcome.notes.append("the present bundle's records cannot be read (\(error)); everything was fetched")
            }
            let base = planned.isBase(present?.head) ? old : nil
            let fetched = try await fetcher.fetch(planned, onto: base)
            if let retried = fetched.retried {
                outcome.notes.append("a delta could not be used (\(retried)); everything was fetched")
            }
            snapshot = fetched.snapshot
        }
        if let pin = planned.settings.pin, snapshot.timestamp != pin.at {
            throw PinError.unmet(planned.id, pin, reason: "the server now has \(snapshot.timestamp)")
        }
        outcome.serverTimestamp = snapshot.timestamp
        if let old { outcome.changes = .init(from: old.records, to: snapshot.records) }
        let isSameState = try isSame(planned, present, old, snapshot)
        if isSameState && planned.action != .repack && isUsable(planned, present) {
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
            (wanted, omitted) = try selector.select(snapshot.records)
        } catch {
            throw CollectionError.fetch(.changeset(error, url: server))
        }
        try planned.settings.budget.check(wanted)
        async let records = packed(snapshot)
        var sources = try await gatherer.gather(
            wanted, of: planned.id, base: present, hasZip: snapshot.metadata.hasAttachmentsZip, into: &outcome)
        for (digest, reason) in omitted { sources[digest] = .omitted(reason) }

        onEvent(.packing(planned.id))
        outcome.entry = try pack(planned, snapshot, sources, try await records)
        outcome.isHeldBack = holdsBack && FileStore.size(directory.packPath(planned.id)) != nil
        if !outcome.isHeldBack { try FileStore.remove(directory.stagedPath(planned.id)) }
        outcome.status =
            planned.held == nil ? .created : planned.action == .repack ? .repacked : isSameState ? .repaired : .updated
    }

    /// The bundle that is there, as far as it can be read: its attachments are used by hash, whatever else is wrong.
    private func presentBundle(_ planned: PlannedCollection) -> BundleReader? {
        try? BundleReader(path: directory.bundlePath(planned.id), limits: limits)
    }

    private func isUsable(_ planned: PlannedCollection, _ present: BundleReader?) -> Bool {
        guard present != nil else { return false }
        switch planned.action {
        case .update, .probe: return planned.held?.attachmentRule == planned.settings.attachments.text
        default: return false
        }
    }

    /// Whether the server's state is the one that is held.
    private func isSame(
        _ planned: PlannedCollection, _ present: BundleReader?, _ old: Payload?, _ snapshot: Snapshot
    ) throws(CollectionError) -> Bool {
        guard let present, let old, let held = planned.held, held.timestamp == snapshot.timestamp,
            old.timestamp == held.timestamp
        else { return false }
        if old == snapshot.payload { return true }
        // A damaged bundle differs too; only an intact one shows that the server contradicts itself.
        if (try? present.verifyContents()) != nil, present.head.trust != .imported {
            throw .fetch(.equivocation(held.timestamp))
        }
        return false
    }

    private func packed(_ snapshot: Snapshot) async throws -> PackedRecords? {
        try PackedRecords(snapshot.payload, with: deflaters)
    }

    /// Writes the bundle beside its place, reads it back, notes what the lock will say of it, and gives it its name.
    private func pack(
        _ planned: PlannedCollection, _ snapshot: Snapshot, _ sources: [SHA256Digest: AttachmentInput],
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
