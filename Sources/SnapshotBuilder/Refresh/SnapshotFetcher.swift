import ContentSignature
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The second and third stages of a refresh: fetches a collection's state and has it verified.
struct SnapshotFetcher: Sendable {
    /// What the server has, vouched for.
    struct Fetched {
        var snapshot: Snapshot
        var records: RecordTable
        var hasAttachmentsZip: Bool
        var notes: [String] = []
    }

    let client: ServerClient
    let chains: ChainStore
    let gate: RequestGate
    let trust: DumpsConfiguration.Trust
    let limits: Limits

    /// Fetches as a delta onto `base` where there is one, else everything. Where a delta does not verify, everything is
    /// fetched once.
    ///
    /// - Throws: ``CollectionError``, or what the transport throws.
    func fetch(_ planned: PlannedCollection, base: BundleReader?) async throws -> Fetched {
        var notes: [String] = []
        if let base {
            do {
                if let fetched = try await fetchDelta(planned, base: base) { return fetched }
                notes.append("the server answered nothing to a delta; everything was fetched")
            } catch {
                guard Self.isWorthRetryingInFull(error) else { throw error }
                notes.append("a delta could not be used (\(error)); everything was fetched")
            }
        }
        guard case .changes(let document, _) = try await changeset(planned, since: nil) else {
            throw CollectionError.changeset(.missing("changes"), url: "\(client.server)")
        }
        var fetched = try await verified(try parse(document), of: planned, onto: nil, at: document)
        fetched.notes = notes
        return fetched
    }

    private func fetchDelta(_ planned: PlannedCollection, base: BundleReader) async throws -> Fetched? {
        guard case .changes(let document, let answersSince) = try await changeset(planned, since: base.head.timestamp)
        else { return nil }
        // An answer that came without `_since` is a full list without tombstones: it replaces what is held.
        let records = answersSince ? try base.records() : nil
        return try await verified(try parse(document), of: planned, onto: records, at: document)
    }

    private func changeset(_ planned: PlannedCollection, since: Timestamp?) async throws -> ChangesetAnswer {
        do {
            return try await gate.pass {
                try await client.changeset(planned.id, expected: planned.serverTimestamp, since: since)
            }
        } catch let error as HTTPError {
            // Stock Kinto answers 401 or 403 for what it does not have.
            if let status = error.status, [401, 403, 404].contains(status) {
                throw planned.held == nil ? CollectionError.unknown(error) : .gone
            }
            throw error
        }
    }

    private func parse(_ document: ServerDocument) throws(CollectionError) -> Changeset {
        do {
            return try Changeset(parsing: document.body, limits: limits)
        } catch {
            throw .changeset(error, url: "\(document.url)")
        }
    }

    private func verified(
        _ changeset: Changeset, of planned: PlannedCollection, onto base: RecordTable?, at document: ServerDocument
    ) async throws -> Fetched {
        if let held = planned.held, changeset.timestamp < held.timestamp {
            throw CollectionError.rollback(held: held.timestamp, answered: changeset.timestamp)
        }
        let unverified: UnverifiedSnapshot
        do {
            unverified = try changeset.snapshot(of: planned.id, onto: base)
        } catch {
            throw CollectionError.changeset(error, url: "\(document.url)")
        }
        let snapshot: Snapshot
        if unverified.signatures.isEmpty && trust.acceptsUnsigned {
            if case .signed = planned.held?.trust { throw CollectionError.signatureLost }
            snapshot = Snapshot(vouchingFor: unverified, chain: nil, provenance: .unsigned)
        } else {
            let signer = trust.signer.map { SignerName($0) } ?? .expected(for: planned.id)
            let verdicts = await chains.verdicts(on: unverified.signatures, signer: signer)
            snapshot = try unverified.verified(with: verdicts, signer: signer, limits: limits)
        }
        let (records, _): (RecordTable, Timestamp)
        do {
            (records, _) = try Payload.read(snapshot.payload, limits: limits)
        } catch {
            throw CollectionError.changeset(error, url: "\(document.url)")
        }
        return Fetched(
            snapshot: snapshot, records: records, hasAttachmentsZip: changeset.metadata.hasAttachmentsZip)
    }

    /// Whether a full answer may be right where a delta was wrong.
    private static func isWorthRetryingInFull(_ error: any Error) -> Bool {
        switch error {
        case is ContentSignatureError, is BundleError: true
        case let error as CollectionError:
            if case .changeset = error { true } else { false }
        case let error as HTTPError:
            // A server that refuses `_since` altogether, or answers it with a redirect that fits nothing.
            if case .badRedirect = error.reason { true } else { error.status == 400 }
        default: false
        }
    }
}
