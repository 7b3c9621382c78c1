import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Refreshes one collection. Read ``refresh(_:fetched:)`` from top to bottom to see how.
///
/// The tests are in `CollectionRefreshTests`.
///
/// | case | what happens | test |
/// | --- | --- | --- |
/// | there is no bundle | all is fetched, and the bundle is created | `new` |
/// | the server has nothing newer | the plan says so: nothing is fetched or written | `unchanged` |
/// | the server has a newer state | the changes are fetched; attachments in the bundle are used | `changedByDelta` |
/// | a delta does not verify | everything is fetched, once; a note says so | `deltaThatDoesNotVerify` |
/// | nothing verifies | it fails; the current bundle stays | `nothingVerifies` |
/// | an attachment is missing, or has another hash | it fails; the current bundle stays | `attachmentThatIsWrong` |
/// | downloads were interrupted | what had arrived is not fetched again | `interruptedDownloads` |
/// | an attachment, or the bundle, is over its budget | it fails; the current bundle stays | `overBudget` |
/// | the new state violates a guard | it fails; the current bundle stays | `guarded` |
/// | it violates a guard, and is accepted | it is taken; the lock says what was accepted | `accepted` |
/// | it is pinned | only the pinned state is taken | `pinned` |
/// | the server no longer has it | it fails; the current bundle stays | `gone` |
/// | it was killed during the commit | the next run finishes the commit | `killedDuringTheCommit` |
/// | the current bundle is damaged | everything but intact attachments is fetched | `damagedBundle` |
/// | only its metadata changed, seen by `--full` | it is packed again; a note says so | `metadataAtTheSameTime` |
/// | the list and the answer are older than the bundle | nothing changes; a note says so | `staleList` |
/// | the list has a newer state than the answer | it fails; the current bundle stays | `undelivered` |
/// | other records have the same timestamp | it fails; the current bundle stays | `otherRecordsAtTheSameTime` |
/// | the current bundle is newer, but does not verify | the server's state is taken | `unverifiedIsNoMinimum` |
/// | only the rule for attachments changed | the bundle is verified and packed again | `repacked` |
struct CollectionRefresher: Sendable {
    let transaction: DumpsTransaction
    let fetcher: CollectionFetcher
    let gatherer: AttachmentGatherer
    let verifier: BundleVerifier
    let server: String
    let limits: Limits
    /// The collections whose new states are taken even if they violate guards.
    let accepted: Set<CollectionID>
    /// The number of the catalogue, for errors; 0 if there is none.
    let catalogue: UInt64
    let onEvent: @Sendable (RefreshEvent) -> Void

    /// Stages the server's state of a collection, or says why its bundle stays as it is. The caller commits what is
    /// staged when all collections are done.
    ///
    /// - Parameters:
    ///   - planned: what the plan says. It needs work.
    ///   - fetched: the server's state, if it is already known.
    /// - Returns: the outcome, with the error if there is one.
    func refresh(_ planned: PlannedCollection, fetched: Snapshot? = nil) async -> CollectionOutcome {
        var outcome = CollectionOutcome(planned, status: .failed)
        do {
            // Its attachments can be used by hash even if its records are damaged.
            let atHand = try? BundleAtHand(path: transaction.directory.bundlePath(planned.id), limits: limits)
            let (snapshot, isSameState) = try await fetchAndVerify(planned, fetched, onto: atHand, into: &outcome)
            let changed = isSameState ? try changedMetadata(snapshot, planned, atHand) : []
            if isSameState, changed.isEmpty, try mayStay(planned, atHand, signedAs: snapshot.provenance) {
                try planned.checkDelivered(snapshot.timestamp)
                outcome.status = .unchanged
                return outcome
            }

            let (wanted, omitted) = try select(snapshot, by: planned.settings.attachments, notes: &outcome.notes)
            try planned.settings.budget.check(wanted)
            // Compress the payload while attachments are downloaded.
            async let records =
                planned.settings.compression == .stored
                ? nil : PackedRecords(snapshot.payload)
            var attachments = try await gatherer.gather(
                wanted, of: planned.id, from: atHand?.reader, isDoubtful: planned.action.isRefetch,
                hasZip: snapshot.metadata.hasAttachmentsZip, into: &outcome)
            for (digest, reason) in omitted { attachments[digest] = .omitted(reason) }

            onEvent(.packing(planned.id))
            let entry = try transaction.stage(
                snapshot, attachments: attachments, records: try await records, settings: planned.settings,
                server: server,
                accepted: isSameState ? planned.held?.accepted ?? [] : outcome.accepted.map(\.sentence))
            outcome.entry = entry
            if !changed.isEmpty { outcome.notes.append("its metadata has changed: \(changed.joined(separator: ", "))") }
            let isRepaired = isSameState && changed.isEmpty || entry.content == planned.held?.content
            outcome.status =
                planned.held == nil
                ? .created : planned.action == .repack ? .repacked : isRepaired ? .repaired : .updated
        } catch let error as DumpsError where error.kind == .stale {
            outcome.status = .unchanged
            outcome.notes.append("\(error)")
        } catch {
            outcome.error = DumpsError(ofRefresh: error, of: outcome.id)
        }
        return outcome
    }
}

// The steps.
extension CollectionRefresher {
    /// The verified state of the collection, and whether its records are those of the current bundle.
    ///
    /// The records of the current bundle are no longer in memory when it returns.
    private func fetchAndVerify(
        _ planned: PlannedCollection, _ fetched: Snapshot?, onto atHand: BundleAtHand?,
        into outcome: inout CollectionOutcome
    ) async throws -> (Snapshot, isSameState: Bool) {
        // The payload is inflated and read only here.
        let payload = atHand.map { bundle in Result { () throws(BundleError) in try bundle.reader.payload() } }
        let old = try? payload?.get()
        let snapshot: Snapshot
        if let fetched {
            snapshot = fetched
        } else if planned.action == .repack, let atHand, let payload {
            guard let held = planned.held else { throw DumpsError(problem: "there is no lock entry") }
            // Verified again at the time in the lock.
            snapshot = try verifier.snapshot(of: atHand.reader, payload: payload.get(), as: held)
        } else {
            if case .failure(let error)? = payload {
                outcome.notes.append("the current bundle's records cannot be read (\(error)); all records were fetched")
            }
            let fetched = try await fetcher.fetch(
                planned, onto: planned.isBase(atHand?.reader.head) ? old : nil,
                minimum: verifier.minimum(for: planned, in: atHand?.reader, old))
            if let retried = fetched.retried {
                outcome.notes.append("a delta could not be used (\(retried)); all records were fetched")
            }
            snapshot = fetched.snapshot
        }
        try planned.settings.checkPin(snapshot.timestamp)
        outcome.serverTimestamp = snapshot.timestamp
        try planned.check(snapshot, number: catalogue)
        if let atHand, let old {
            outcome.changes = .init(from: old.records, to: snapshot.records)
            if try isSameState(snapshot, planned, atHand, old) { return (snapshot, true) }
        }
        try guardAgainst(snapshot, planned, after: old, into: &outcome)
        return (snapshot, false)
    }

    /// Whether the server has the same records as the current bundle at the same timestamp.
    private func isSameState(
        _ snapshot: Snapshot, _ planned: PlannedCollection, _ atHand: BundleAtHand, _ old: Payload
    ) throws -> Bool {
        guard let held = planned.held, held.timestamp == snapshot.timestamp, old.timestamp == held.timestamp else {
            return false
        }
        if old == snapshot.payload { return true }
        // A damaged or edited bundle differs too. Only a bundle that verifies shows that the server contradicts itself.
        // If there is a catalogue, it decides which of the two is right.
        if !planned.isVouchedFor, held.trust.isSigned, isVerified(atHand, planned.id, held) {
            throw HTTPError.equivocation(held.timestamp)
        }
        return false
    }

    /// Checks a new state by the collection's guards. A pin's state was chosen by somebody, and a catalogue has no
    /// guards, so neither is checked.
    private func guardAgainst(
        _ snapshot: Snapshot, _ planned: PlannedCollection, after old: Payload?, into outcome: inout CollectionOutcome
    ) throws {
        guard planned.settings.pin == nil, planned.id != Catalogue.collection else { return }
        let guards = planned.settings.guards
        let violations = guards.violations(
            of: snapshot.records, after: old?.records, oldCount: planned.held?.records)
        if old == nil, planned.held != nil, guards != Guards() {
            outcome.notes.append(
                "guards that compare with the earlier records were skipped, because these cannot be read")
        }
        guard !violations.isEmpty else { return }
        guard accepted.contains(planned.id) else {
            throw DumpsError.guarded(planned.id, violations, command: "rsdump refresh")
        }
        outcome.accepted = violations
        outcome.notes += violations.map { "accepted despite a guard: \($0)" }
    }

    /// The members of the metadata that the server has changed without a new timestamp, sorted. Those that a signer
    /// writes do not count.
    private func changedMetadata(
        _ snapshot: Snapshot, _ planned: PlannedCollection, _ atHand: BundleAtHand?
    ) throws -> [String] {
        guard let held = planned.held, held.trust.kind == snapshot.provenance.kind, let atHand,
            let text = try? atHand.reader.metadataText(),
            let old = try? CollectionMetadata(parsing: text, limits: limits).writtenMembers(limits: limits)
        else { return [] }
        let new = try snapshot.metadata.writtenMembers(limits: limits)
        let different = Set(old).symmetricDifference(Set(new))
        return Set(different.map { VisibleText.excerpt($0.key) }).sorted()
    }

    /// Whether the current bundle, which has the server's records, may stay.
    private func mayStay(
        _ planned: PlannedCollection, _ atHand: BundleAtHand?, signedAs provenance: Provenance
    ) throws -> Bool {
        guard let atHand, let held = planned.held, held.attachmentRule == planned.settings.attachments.text else {
            return false
        }
        switch planned.action {
        case .update, .probe: break
        case .refetch:
            // Newer signatures alone are not a reason to write. Another root is, and so is a bundle that does not
            // verify.
            guard held.trust.kind == provenance.kind, held.trust.verdict?.root == provenance.verdict?.root,
                isVerified(atHand, planned.id, held)
            else { return false }
        default: return false
        }
        // The budget may have been lowered since the bundle was written.
        if let excess = try planned.settings.budget.excess(of: held, in: atHand.reader) {
            throw DumpsError.overBudget(excess)
        }
        return true
    }

    /// Whether the current bundle matches its lock entry and is vouched for by a trusted root.
    private func isVerified(_ atHand: BundleAtHand, _ id: CollectionID, _ held: LockFile.Collection) -> Bool {
        (try? verifier.verify(atHand.file, of: id, against: held)) != nil
    }

    private func select(
        _ snapshot: Snapshot, by rule: AttachmentRule, notes: inout [String]
    ) throws -> (wanted: [WantedAttachment], omitted: [SHA256Digest: OmissionReason]) {
        let selector = try AttachmentSelector(rule)
        let (wanted, omitted) = try Result { () throws(FormatError) in try selector.select(snapshot.records) }
            .mapError { HTTPError.changeset($0, url: server) }.get()
        if wanted.isEmpty, !omitted.isEmpty, omitted.values.allSatisfy({ $0 == .filter }) {
            notes.append(
                "the attachment filter keeps none of \(omitted.count); if you want some, correct include: in "
                    + "dumps.yaml")
        }
        return (wanted, omitted)
    }
}
