import RemoteSettingsModel
import SnapshotBundle

/// Fetches the server's state of one collection and verifies it.
///
/// If there is a local state, it fetches only the changes since then (a delta), otherwise all records. If a delta does
/// not verify, it fetches all records, once.
package struct CollectionFetcher: Sendable {
    /// A request for one collection's state.
    package struct Wanted: Sendable {
        var id: CollectionID
        /// The collection's timestamp in the monitor's response.
        var expected: Timestamp?
        /// The state that the server's one would replace.
        var held: Held?
        /// The records whose changes are requested; `nil` to request all records.
        package var base: Payload?
        /// Whether to fetch all records if the server has nothing newer than the base.
        package var needsState = false

        package init(id: CollectionID, expected: Timestamp?, held: Held?, base: Payload?) {
            self.id = id
            self.expected = expected
            self.held = held
            self.base = base
        }
    }

    /// A local state.
    package struct Held: Sendable {
        let standing: Standing
        /// Its records; `nil` if they cannot be read.
        let payload: Payload?
        /// See ``Situation/isProven``.
        let isProven: Bool

        package init(_ standing: Standing, _ payload: Payload?, isProven: Bool) {
            (self.standing, self.payload, self.isProven) = (standing, payload, isProven)
        }
    }

    /// The server's state, verified or accepted without a signature.
    package struct Fetched: Sendable {
        package var snapshot: Snapshot
        /// Whether it is the local state, or replaces it.
        package var succession = Succession.replace
        /// The reason why all records were fetched although a delta was requested; `nil` if that did not happen.
        package var retried: Failure?
    }

    private let client: ServerClient
    private let chains: ChainStore
    package let policy: TrustPolicy
    private let gate: RequestGate?

    /// Creates a fetcher.
    ///
    /// - Parameter gate: limits the number of simultaneous fetches; `nil` if the caller limits it.
    package init(client: ServerClient, chains: ChainStore, policy: TrustPolicy, gate: RequestGate? = nil) {
        self.client = client
        self.chains = chains
        self.policy = policy
        self.gate = gate
    }

    /// Fetches and verifies a collection's state. Uses the network; does no other I/O.
    ///
    /// - Returns: the state; `nil` if the server has nothing newer than the base, unless ``Wanted/needsState`` is set.
    package func fetch(_ wanted: Wanted) async throws(Failure) -> Fetched? {
        guard let gate else { return try await fetchUngated(wanted) }
        return try await gate.pass(to: client.server.root) { () async throws(Failure) in
            try await fetchUngated(wanted)
        }
    }

    private func fetchUngated(_ wanted: Wanted) async throws(Failure) -> Fetched? {
        guard let base = wanted.base else { return try await fetchAll(wanted, retried: nil) }
        let failure: Failure
        do throws(Failure) {
            if let fetched = try await fetch(wanted, onto: base) { return fetched }
            guard wanted.needsState else { return nil }
            failure = .noAnswer(url: "\(client.server)")
        } catch {
            guard error.isWorthRetryingInFull else { throw error }
            failure = error
        }
        return try await fetchAll(wanted, retried: failure)
    }

    private func fetchAll(_ wanted: Wanted, retried: Failure?) async throws(Failure) -> Fetched {
        guard var fetched = try await fetch(wanted, onto: nil) else { throw .noAnswer(url: "\(client.server)") }
        fetched.retried = retried
        return fetched
    }

    private func fetch(_ wanted: Wanted, onto base: Payload?) async throws(Failure) -> Fetched? {
        guard case .changes(let document, let answersSince) = try await changeset(wanted, since: base?.timestamp) else {
            return nil
        }
        let unverified: UnverifiedSnapshot
        do throws(Failure) {
            // A response whose URL has no `_since` is a full list without tombstones, so it replaces the local state.
            let most = client.limits.records
            unverified = try Changeset(parsing: document.body, records: most)
                .snapshot(of: wanted.id, onto: answersSince ? base?.records : nil)
            guard unverified.records.count <= most else { throw Failure.tooManyRecords(limit: most) }
        } catch {
            throw .changeset(error, url: "\(document.url)")
        }
        do throws(Failure) {
            return try await accept(unverified, wanted)
        } catch {
            guard !answersSince, let cut = error.asCutShort(unverified.records.count, document) else { throw error }
            throw cut
        }
    }

    /// Verifies a collection's full state, from any kind of document. Uses the network for certificate chains.
    func accept(_ unverified: UnverifiedSnapshot, _ wanted: Wanted) async throws(Failure) -> Fetched {
        // If a state from the future were accepted, every later correct one would be refused as a rollback.
        guard unverified.timestamp <= chains.time.advanced(by: .seconds(Limits.clockToleranceSeconds)) else {
            throw .future(answered: unverified.timestamp, now: chains.time)
        }
        let snapshot = try await vouch(for: unverified, wanted)
        guard let held = wanted.held else { return Fetched(snapshot: snapshot) }
        // Only a verified state proves a rollback. A delta to an older state does not verify, so all records are
        // fetched.
        let succession = succession(
            of: snapshot.standing, after: held.standing,
            in: Situation(
                .fetched, hasSameRecords: held.payload.map { $0 == snapshot.payload }, isProven: held.isProven))
        switch succession {
        case .refuse(.older): throw .rollback(held: held.standing.timestamp, answered: snapshot.timestamp)
        case .refuse(.equivocation): throw .equivocation(snapshot.timestamp)
        case .refuse: throw .signatureWithheld
        case .same, .replace, .keep: return Fetched(snapshot: snapshot, succession: succession)
        }
    }

    private func changeset(_ wanted: Wanted, since: Timestamp?) async throws(Failure) -> ChangesetAnswer {
        do throws(Failure) {
            // If the monitor reports an older state than the local one, its response may come from a cache. The local
            // timestamp in the request then bypasses that cache.
            let minimum = wanted.held.flatMap { $0.isProven && $0.standing.isOwn ? $0.standing.timestamp : nil }
            let expected = wanted.expected.map { max($0, minimum ?? $0) }
            return try await client.changeset(wanted.id, expected: expected, since: since)
        } catch {
            // An unmodified Kinto server answers 401 or 403 for a collection that does not exist. If the monitor lists
            // the collection, it exists and the server refuses access to it.
            let status = error.status
            let isUnknown = status == 404 || wanted.expected == nil && (status == 401 || status == 403)
            throw isUnknown ? error.asUnknownCollection() : error.asRefusedAccess()
        }
    }

    private func vouch(for unverified: UnverifiedSnapshot, _ wanted: Wanted) async throws(Failure) -> Snapshot {
        let verifier = SnapshotVerifier(policy)
        if policy.acceptsUnsigned, !unverified.signatures.contains(where: \.namesChain) {
            do throws(Failure) {
                let isKnownSigned = wanted.held?.standing.trust == .signed
                return try verifier.believe(unverified, .nothing(isKnownSigned: isKnownSigned))
            } catch {
                throw .signatureWithheld
            }
        }
        let verdicts = await chains.verdicts(
            on: unverified.signatures, signer: policy.signer(for: unverified.collection))
        let snapshot: Snapshot
        do throws(Failure) {
            snapshot = try verifier.believe(unverified, .chains(verdicts))
        } catch {
            // A failure to fetch the chain does not mean that the signature is wrong.
            throw await chains.cause(of: error, unverified.signatures) ?? error
        }
        // Keep the other chains, because other readers of the snapshot may trust a different root.
        guard verdicts.count > 1 else { return snapshot }
        return snapshot.keeping(await chains.chains(on: unverified.signatures, verdicts))
    }
}
