import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The refresh of one collection. See ``refresh(_:)`` for the steps.
///
/// The tests are in `CollectionRefreshTests`, and that of a kill is in `DumpsTransactionTests`.
///
/// | case | result | test |
/// | --- | --- | --- |
/// | there is no bundle | everything is fetched, and the bundle is created | `firstRefreshCreatesBundle` |
/// | the server has nothing newer | planned as unchanged: nothing is fetched or written | `unchangedWritesNothing` |
/// | the server has a newer state | changes are fetched; attachments in the bundle are reused | `changesComeAsDelta` |
/// | a delta does not verify | all records are fetched instead; a note reports it | `invalidDeltaFetchesAllRecords` |
/// | nothing verifies | it fails; the current bundle is kept | `unverifiableServerStateIsRefused` |
/// | an attachment is missing or has a wrong hash | it fails; the current bundle is kept | `wrongAttachmentIsRefused` |
/// | downloads were interrupted | complete and partial downloads are reused | `interruptedDownloadsAreReused` |
/// | an attachment, or the bundle, is over its budget | it fails; the current bundle is kept | `overBudgetIsRefused` |
/// | the new state violates a guard | it fails; the current bundle is kept | `guardViolationIsRefused` |
/// | it violates a guard, and is accepted | it is used; the lock file records it | `acceptedViolationIsRecorded` |
/// | it is pinned | only the pinned state is used | `pinnedCollectionIsNotUpdated` |
/// | the server no longer has it | it fails; the current bundle is kept | `collectionGoneFromServerKeepsBundle` |
/// | rsdump was killed during the commit | the next run finishes it | `killedCommitIsCompleted` |
/// | the current bundle is damaged | everything but intact attachments is fetched | `damagedBundleIsRepaired` |
/// | only its metadata changed (`--full`) | it is packed again; a note reports it | `changedMetadataNeedsFullRefresh` |
/// | list and response are older than the bundle | nothing changes; a note reports it | `olderServerChangesNothing` |
/// | the list has a newer state than the response | it fails; the current bundle is kept | `undeliveredStateFails` |
/// | other records have the same timestamp | it fails; the current bundle is kept | `equivocationIsRefused` |
/// | the current bundle is newer, but does not verify | the server's state is used | `unverifiedTimestampIsNoFloor` |
/// | only the rule for attachments changed | the bundle is verified and packed again | `changedRuleRepacksBundle` |
struct CollectionRefresher: Sendable {
    let transaction: DumpsTransaction
    let fetcher: CollectionFetcher
    let gatherer: AttachmentGatherer
    let verifier: BundleVerifier
    let server: String
    /// The collections whose new states are accepted even if they violate guards.
    let accepted: Set<CollectionID>
    let onEvent: @Sendable (RefreshEvent) -> Void

    /// Stages the server's state of a collection, or reports why its bundle is unchanged. The caller commits the staged
    /// bundles when all collections are done.
    ///
    /// - Parameter planned: the plan for the collection, which requires work.
    /// - Returns: the outcome, with the error if there is one.
    func refresh(_ planned: PlannedCollection) async -> CollectionOutcome {
        var outcome = CollectionOutcome(planned, status: .failed)
        do {
            // The bundle's attachments can be reused, by their hashes, even if its records are damaged.
            let atHand = try? BundleAtHand(path: transaction.directory.bundlePath(planned.id))
            let (snapshot, isSameState, verdict) = try await fetchAndVerify(planned, onto: atHand, into: &outcome)
            let changed = isSameState ? try changedMetadata(snapshot, planned, atHand) : []
            if isSameState, changed.isEmpty, try mayStay(planned, atHand, verdict) {
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
        } catch let error as Failure where error.cause == .stale {
            outcome.status = .unchanged
            outcome.notes.append("\(error)")
        } catch {
            outcome.error = Failure(ofRefresh: error, of: outcome.id)
        }
        return outcome
    }
}

// MARK: - Steps
extension CollectionRefresher {
    /// Returns the verified state of the collection, and whether its records are those of the current bundle.
    ///
    /// This is a separate method so that the records of the current bundle are released when it returns.
    private func fetchAndVerify(
        _ planned: PlannedCollection, onto atHand: BundleAtHand?,
        into outcome: inout CollectionOutcome
    ) async throws -> (Snapshot, isSameState: Bool, Succession) {
        // The payload of the current bundle is inflated and parsed only here.
        let payload = atHand.map { bundle in Result { () throws(Failure) in try bundle.reader.payload() } }
        let old = try? payload?.get()
        let snapshot: Snapshot
        var succession = Succession.same
        if planned.action == .repack, let atHand, let payload {
            guard let held = planned.held else { throw Failure(problem: "the lock file does not list it") }
            // Verify the bundle again, as of the time in the lock file.
            snapshot = try verifier.snapshot(of: atHand.reader, payload: payload.get(), as: held)
        } else {
            if case .failure(let error)? = payload {
                outcome.notes.append("the current bundle's records cannot be read (\(error)); all records were fetched")
            }
            let fetched = try await fetcher.fetch(planned, onto: atHand?.reader, old, verifier)
            if let retried = fetched.retried {
                outcome.notes.append("a delta could not be used (\(retried)); all records were fetched")
            }
            (snapshot, succession) = (fetched.snapshot, fetched.succession)
        }
        try planned.settings.checkPin(snapshot.timestamp)
        outcome.serverTimestamp = snapshot.timestamp
        if let old {
            outcome.changes = .init(from: old.records, to: snapshot.records)
            if old == snapshot.payload, planned.held?.timestamp == snapshot.timestamp {
                return (snapshot, true, succession)
            }
        }
        try guardAgainst(snapshot, planned, after: old, into: &outcome)
        return (snapshot, false, succession)
    }

    /// Checks a new state with the collection's guards. A pinned state is not checked, because a person chose it.
    private func guardAgainst(
        _ snapshot: Snapshot, _ planned: PlannedCollection, after old: Payload?, into outcome: inout CollectionOutcome
    ) throws {
        guard planned.settings.pin == nil else { return }
        let guards = planned.settings.guards
        let violations = guards.violations(of: snapshot.records, after: old?.records, oldCount: planned.held?.records)
        if old == nil, planned.held != nil, guards != Guards() {
            outcome.notes.append(
                "guards that compare with the earlier records were skipped, because those cannot be read")
        }
        guard !violations.isEmpty else { return }
        guard accepted.contains(planned.id) else {
            throw Failure.guarded(planned.id, violations, command: "rsdump refresh")
        }
        outcome.accepted = violations
        outcome.notes += violations.map { "accepted despite a guard: \($0)" }
    }

    /// Returns the members of the metadata that the server has changed without a new timestamp, sorted. Members written
    /// by a signer are ignored.
    private func changedMetadata(
        _ snapshot: Snapshot, _ planned: PlannedCollection, _ atHand: BundleAtHand?
    ) throws -> [String] {
        guard let held = planned.held, held.trust.kind == snapshot.provenance.kind, let atHand,
            let text = try? atHand.reader.metadataText(),
            let old = try? CollectionMetadata(parsing: text).writtenMembers()
        else { return [] }
        let new = try snapshot.metadata.writtenMembers()
        return Set(Set(old).symmetricDifference(new).map { VisibleText.excerpt($0.key) }).sorted()
    }

    /// Returns whether the current bundle, which has the server's records, can be kept.
    private func mayStay(_ planned: PlannedCollection, _ atHand: BundleAtHand?, _ verdict: Succession) throws -> Bool {
        guard let atHand, let held = planned.held, held.attachmentRule == planned.settings.attachments.text else {
            return false
        }
        switch planned.action {
        case .update, .probe: break
        case .refetch:
            // A newer signature alone is not a reason to write the bundle again. Another root is a reason, and so is a
            // failed verification of the bundle.
            guard verdict == .same, isVerified(atHand, planned.id, held) else { return false }
        default: return false
        }
        // The budget may have been lowered since the bundle was written.
        if let excess = try planned.settings.budget.excess(of: held, in: atHand.reader) {
            throw Failure.overBudget(excess)
        }
        return true
    }

    /// Returns whether the current bundle matches its entry in the lock file and is signed under a trusted root.
    private func isVerified(_ atHand: BundleAtHand, _ id: CollectionID, _ held: LockFile.Collection) -> Bool {
        (try? verifier.verify(atHand.file, of: id, against: held)) != nil
    }

    private func select(
        _ snapshot: Snapshot, by rule: AttachmentRule, notes: inout [String]
    ) throws -> (wanted: [WantedAttachment], omitted: [SHA256Digest: OmissionReason]) {
        let selector = try AttachmentSelector(rule)
        let (wanted, omitted) = try mapFailure(of: try selector.select(snapshot.records)) {
            Failure.changeset($0, url: server)
        }
        if wanted.isEmpty, !omitted.isEmpty, omitted.values.allSatisfy({ $0 == .filter }) {
            notes.append(
                "the attachment filter matches none of the attachments (\(omitted.count)); if it should, correct "
                    + "include: in dumps.yaml")
        }
        return (wanted, omitted)
    }
}
