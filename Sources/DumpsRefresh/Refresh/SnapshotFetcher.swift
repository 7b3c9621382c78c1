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
        var notes: [String] = []
    }

    let client: ServerClient
    let chains: ChainStore
    let gate: RequestGate
    let policy: TrustPolicy

    /// Fetches as a delta onto `base` where there is one, else everything. Where a delta does not verify, everything is
    /// fetched once.
    ///
    /// - Throws: ``CollectionError``, or what the transport throws.
    func fetch(_ planned: PlannedCollection, base: BundleReader?) async throws -> Fetched {
        let fetcher = CollectionFetcher(client: client, chains: chains, policy: policy)
        var wanted = CollectionFetcher.Wanted(
            id: planned.id, expected: planned.serverTimestamp, base: nil, floor: planned.held?.timestamp,
            wasSigned: planned.held?.trust.isSigned ?? false)
        // Whether the server says two things is for the refresh to judge: it knows whether the bundle is intact.
        wanted.refusesEquivocation = false
        var notes: [String] = []
        if let base {
            do throws(BundleError) {
                wanted.base = try base.payload()
            } catch {
                notes.append("a delta could not be used (\(error)); everything was fetched")
            }
        }
        do {
            if let fetched = try await gate.pass({ try await fetcher.fetch(wanted) }) {
                if let retried = fetched.retried {
                    notes.append("a delta could not be used (\(retried)); everything was fetched")
                }
                return Fetched(snapshot: fetched.snapshot, notes: notes)
            }
            notes.append("the server answered nothing to a delta; everything was fetched")
            wanted.base = nil
            guard let fetched = try await gate.pass({ try await fetcher.fetch(wanted) }) else {
                throw FetchError.noAnswer(url: "\(client.server)")
            }
            return Fetched(snapshot: fetched.snapshot, notes: notes)
        } catch let error as FetchError {
            if case .unknownCollection = error, planned.held != nil { throw CollectionError.gone }
            throw CollectionError.fetch(error)
        }
    }
}
