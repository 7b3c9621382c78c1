import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

struct ChainStoreTests {
    private final class CountingKeeper: ChainStore.Keeper {
        let kept = Mutex<[String]>([])

        func chain(x5u: String) -> Bytes? { nil }
        func keep(_ pem: Bytes, x5u: String) { kept.withLock { $0.append(x5u) } }
    }

    /// Parallel syncs of many collections request their common chain at the same moment.
    @Test func chainIsFetchedOnceForParallelSyncs() async throws {
        let place = try Workplace()
        let collections = try (0..<8).map { _ in try place.collection() }
        for collection in collections { try collection.put("a", ["value": 1]) }
        let client = ServerClient(
            server: try ServerURL(place.server.url), transport: place.server,
            userAgent: UserAgent(name: "tests", version: "1"))
        let keeper = CountingKeeper()
        let policy = TrustPolicy(roots: place.server.root)
        let store = ChainStore(client: client, policy: policy, time: HTTPEnvironment.system.now(), keeper: keeper)
        let fetcher = CollectionFetcher(client: client, chains: store, policy: policy)
        try await withThrowingTaskGroup { group in
            for collection in collections {
                group.addTask {
                    _ = try await fetcher.fetch(.init(id: collection.collection, expected: nil, held: nil, base: nil))
                }
            }
            try await group.waitForAll()
        }
        #expect(keeper.kept.withLock { $0.count } == 1)
        #expect(place.server.requests.filter { $0.path.contains("/chains/") }.count == 1)
    }
}
