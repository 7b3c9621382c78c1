import CurlTransport
import FaultyServer
import RemoteSettingsHTTP
import Testing

@Suite("What a server can do wrong")
struct ServerLieTests {
    @Test(arguments: Lie.chapters)
    func aTypedErrorOrTheRightBytes(chapter: Lie.Chapter) async throws {
        for complaint in try await chapter.complaints(about: { _ in CurlTransport() }) {
            Issue.record("\(complaint)")
        }
    }

    @Test func theTableIsLong() {
        #expect(Lie.chapters.map(\.lies.count).reduce(0, +) > 1700)
    }
}
