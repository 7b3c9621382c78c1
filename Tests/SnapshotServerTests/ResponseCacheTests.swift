import RemoteSettingsModel
import Testing

@testable import SnapshotOrigin
@testable import SnapshotServer

@Suite struct ResponseCacheTests {
    private func document(_ text: String) -> OriginResource {
        OriginResource(
            .changeset, type: "application/json", tag: "\(text.count)", freshness: .none,
            content: .segments([Bytes(utf8: text)]), gzip: .compressing)
    }

    @Test(arguments: [(100, false), (1 << 20, true)])
    func unkeptCompressedResponseCounts(keptBytes: Int, isKept: Bool) throws {
        var limits = ServerLimits()
        (limits.keptBodyBytes, limits.keptBytes) = (64, keptBytes)
        let cache = ResponseCache(limits)
        // The numbers are unordered, so that even the compressed body is too large to be kept.
        let large = document((0..<1000).map { "\($0 &* 2_654_435_761 % 1_000_003)," }.joined())
        let compressed = try #require(try cache.representation(of: large, isGzip: true))
        #expect(compressed.buffer == nil && compressed.content.count > 64)
        let small = try #require(try cache.representation(of: document("{}"), isGzip: false))
        #expect((small.buffer != nil) == isKept)
    }
}
