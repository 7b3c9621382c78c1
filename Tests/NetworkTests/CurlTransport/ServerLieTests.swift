import CurlTransport
import FaultyServer
import RemoteSettingsHTTP
import Testing

@Suite("What a server can do wrong") struct ServerLieTests {
    @Test(arguments: Lie.chapters) func serverLieEndsInFailureOrRightBytes(chapter: Lie.Chapter) async throws {
        for complaint in try await chapter.complaints(about: { _ in CurlTransport() }) { Issue.record("\(complaint)") }
    }

    @Test("One table of codings for all transports", arguments: Coding.table)
    func recordDecidesWhetherContentIsDecoded(coding: Coding) async throws {
        let complaint = try await coding.complaint(about: CurlTransport(), decodes: false)
        #expect(complaint == nil)
    }
}
