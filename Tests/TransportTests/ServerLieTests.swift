import FaultyServer
import RemoteSettingsHTTP
import Testing

@Suite("One table of lies for all transports")
struct ServerLieTests {
    @Test(arguments: TestedTransport.allCases, Lie.chapters)
    func aTypedErrorOrTheRightBytes(_ transport: TestedTransport, chapter: Lie.Chapter) async throws {
        for complaint in try await chapter.complaints(about: transport.make) {
            Issue.record("\(complaint)")
        }
    }

    @Test func theTableIsLong() {
        #expect(Lie.chapters.map(\.lies.count).reduce(0, +) > 1700)
    }
}
