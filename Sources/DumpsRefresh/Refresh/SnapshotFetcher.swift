import ContentSignature
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotFetch

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

    /// Fetches as a delta onto `base` where there is one, else everything. Where a delta does not verify, everything is
    /// fetched once.
    ///
    /// - Throws: ``CollectionError``, or what the transport throws.
    func fetch(_ planned: PlannedCollection, base: BundleReader?) async throws -> Fetched {
        let fetcher = CollectionFetcher(
            client: client, chains: chains, acceptsUnsigned: trust.acceptsUnsigned, signer: trust.signer)
        var wanted = CollectionFetcher.Wanted(
            id: planned.id, expected: planned.serverTimestamp, base: nil, floor: planned.held?.timestamp,
            wasSigned: planned.held?.isSigned ?? false)
        // Whether the server says two things is for the refresh to judge: it knows whether the bundle is intact.
        wanted.refusesEquivocation = false
        var notes: [String] = []
        if let base {
            do throws(BundleError) {
                wanted.base = .init(
                    timestamp: base.head.timestamp, records: try base.records(), payload: try base.payload())
            } catch {
                notes.append("a delta could not be used (\(error)); everything was fetched")
            }
        }
        do {
            if let fetched = try await gate.pass({ try await fetcher.fetch(wanted) }) {
                if let retried = fetched.retried {
                    notes.append("a delta could not be used (\(retried)); everything was fetched")
                }
                return Fetched(fetched, notes: notes)
            }
            notes.append("the server answered nothing to a delta; everything was fetched")
            wanted.base = nil
            guard let fetched = try await gate.pass({ try await fetcher.fetch(wanted) }) else {
                throw FetchError.noAnswer(url: "\(client.server)")
            }
            return Fetched(fetched, notes: notes)
        } catch let error as FetchError {
            if case .unknownCollection = error, planned.held != nil { throw CollectionError.gone }
            throw CollectionError.fetch(error)
        }
    }
}

extension SnapshotFetcher.Fetched {
    fileprivate init(_ fetched: CollectionFetcher.Fetched, notes: [String]) {
        self.init(
            snapshot: fetched.snapshot, records: fetched.records,
            hasAttachmentsZip: fetched.metadata.hasAttachmentsZip, notes: notes)
    }
}

extension LockFile.Collection {
    fileprivate var isSigned: Bool {
        if case .signed = trust { true } else { false }
    }
}
