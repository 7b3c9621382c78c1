@testable import Dumps
import RemoteSettingsModel
import Testing

@Suite struct MissedRefreshesTests {
    @Test func missedRefreshesAreLaterCommits() async throws {
        let tree = try WorkTree()
        _ = try await tree.repository(of: 1, 2, 3)
        let missed = await MissedRefreshes(DumpsDirectory(tree.dumps))
        let (before, server) = (WorkTree.time(second: 30), WorkTree.time(second: 90))
        #expect(missed.since(server, bundle: before)?.count == 2)
        #expect(missed.since(server, bundle: before)?.first == WorkTree.time(second: 120))
        // A newly added collection, and a server that returned to an older state.
        #expect(missed.since(server, bundle: nil) == nil)
        #expect(missed.since(before, bundle: server) == nil)
        #expect(missed.since(server, bundle: server) == nil)
        #expect(missed.sentence(server, bundle: nil) == nil)
    }
}
