import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The first step of a refresh with a catalogue: it fetches the server's catalogue, verifies it, and checks it against
/// the packaged one.
struct CatalogueStep: Sendable {
    /// The result of this step.
    struct Result: Sendable {
        /// The catalogue whose states the refresh uses; `nil` if the server's catalogue failed and none is packaged.
        var catalogue: VerifiedCatalogue?
        /// The server's catalogue, if it replaces the packaged one.
        var snapshot: Snapshot?
        var error: DumpsError?
    }

    let publisher: PublisherName
    let directory: DumpsDirectory
    let fetcher: CollectionFetcher
    let policy: TrustPolicy
    let now: Timestamp
    let limits: Limits

    /// Fetches the catalogue if the monitor lists a different state than the packaged one. Does I/O and uses the
    /// network.
    ///
    /// - Parameter plan: the plan of the refresh. The catalogue's action in it becomes `unchanged` if the catalogue
    ///   need not be written.
    func run(_ plan: inout [PlannedCollection], _ lock: LockFile) async -> Result {
        guard let index = plan.firstIndex(where: { $0.id == Catalogue.collection }) else { return Result() }
        let result = await run(plan[index], lock)
        plan[index].isVouchedFor = true
        if result.error == nil, result.snapshot == nil { plan[index].action = .unchanged }
        return result
    }

    private func run(_ planned: PlannedCollection, _ lock: LockFile) async -> Result {
        let held = packaged(lock)
        if planned.action == .unchanged, let held { return Result(catalogue: held) }
        do {
            let bundle = held == nil ? nil : try? BundleReader(path: directory.bundlePath(planned.id), limits: limits)
            let base = planned.isBase(bundle?.head) ? try? bundle?.payload() : nil
            var known = planned
            // The catalogue's number is checked below, so its timestamp may be earlier than that of the packaged
            // catalogue.
            known.isVouchedFor = true
            let snapshot = try await fetcher.fetch(known, onto: base, minimum: nil).snapshot
            let found = try verified(snapshot, after: held)
            guard let held, !isWorthWriting(found, over: held, planned) else {
                return Result(catalogue: found, snapshot: snapshot)
            }
            return Result(catalogue: held)
        } catch {
            let error = DumpsError(ofRefresh: error)
            let isMissing = [.gone, .unknown].contains(error.kind)
            return Result(catalogue: held, error: isMissing ? .noCatalogue(publisher) : error)
        }
    }

    /// Returns the packaged catalogue if it is signed under a configured root and belongs to the configured publisher.
    /// Otherwise, its number is not a minimum for the server's catalogue.
    private func packaged(_ lock: LockFile) -> VerifiedCatalogue? {
        let verifier = BundleVerifier(policy, limits: limits)
        guard let held = try? directory.packagedCatalogue(lock, by: verifier, limits: limits),
            held.catalogue.publisher == publisher
        else { return nil }
        return held
    }

    private func verified(
        _ snapshot: Snapshot, after held: VerifiedCatalogue?
    ) throws(DumpsError) -> VerifiedCatalogue {
        do throws(BundleError) {
            let found = try VerifiedCatalogue(snapshot, roots: policy.roots, limits: limits)
            guard found.catalogue.publisher == publisher else {
                throw .otherPublisher(found: found.catalogue.publisher, expected: publisher)
            }
            try found.checkAcceptance(after: held, at: now, limits: limits)
            return found
        } catch {
            throw .catalogue(error)
        }
    }

    /// Returns whether the new catalogue must be written: if it differs in more than its confirmation, or if half of
    /// the packaged confirmation's validity period has passed. Without this rule, a publisher that confirms its
    /// catalogue every night would change the directory every night.
    ///
    /// If the expiry times differ by more than the publisher's validity period, the new confirmation is written at
    /// once. The packaged one may then be a forgery that expires far in the future, made by an attacker who had the key
    /// for a short time.
    private func isWorthWriting(
        _ found: VerifiedCatalogue, over held: VerifiedCatalogue, _ planned: PlannedCollection
    ) -> Bool {
        guard planned.action == .update || planned.action == .probe, found.chains == held.chains,
            found.catalogue.number == held.catalogue.number, found.catalogue.made == held.catalogue.made
        else { return true }
        let term = found.freshUntil.elapsed(since: found.catalogue.confirmed)
        guard found.freshUntil <= held.freshUntil.advanced(by: term),
            held.freshUntil <= found.freshUntil.advanced(by: term)
        else { return true }
        let lasts = held.freshUntil.elapsed(since: held.catalogue.confirmed)
        return now >= held.catalogue.confirmed.advanced(by: lasts / 2)
    }
}

extension RefreshPlanner {
    /// Returns the action that brings a collection to the state in a catalogue.
    ///
    /// - Parameter state: the state of the current bundle; `nil` if it cannot be read.
    func plan(
        _ settings: DumpsConfiguration.Collection, held: LockFile.Collection?, disk: DiskState, of catalogue: Catalogue,
        state: Catalogue.Entry?
    ) -> PlannedCollection {
        guard let listed = catalogue.entries[settings.id] else {
            var planned = PlannedCollection(settings: settings, action: .unchanged, held: held, serverTimestamp: nil)
            planned.problem =
                catalogue.removed[settings.id].map { .removed(settings.id, publisher: catalogue.publisher, since: $0) }
                ?? .unlisted(settings.id, publisher: catalogue.publisher, number: catalogue.number)
            return planned
        }
        var planned = plan(settings, held: held, disk: disk, monitor: [settings.id: listed.timestamp])
        guard settings.pin == nil else {
            if state != listed { planned.leftCatalogue = catalogue.number }
            return planned
        }
        planned.listed = listed
        planned.isVouchedFor = true
        guard state != listed else { return planned }
        switch planned.action {
        case .unchanged, .repack, .probe:
            planned.action = .refetch("its bundle is not at the state that catalogue \(catalogue.number) lists")
        case .create, .update, .refetch, .pinned, .pinUnmet: break
        }
        return planned
    }
}

extension PlannedCollection {
    /// Checks that a verified state is the one in the catalogue.
    func check(_ snapshot: Snapshot, number: UInt64) throws(DumpsError) {
        guard let listed else { return }
        guard listed.lists(snapshot.payload) else {
            throw .otherState(number: number, listed: listed.timestamp, found: snapshot.timestamp)
        }
    }
}
