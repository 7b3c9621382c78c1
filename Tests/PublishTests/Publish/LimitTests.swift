import Dumps
import Publish
@testable import RemoteSettingsModel
import SnapshotBundle
import Testing

/// `check` and `publish` accept and refuse the same sources at each limit.
@Suite struct LimitTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)

    /// A limit on the contents of a source.
    enum Limit: CaseIterable {
        case recordDepth, metadataDepth, metadataBytes

        /// Sizes near the limit. For metadata, the limit leaves space for what publishing adds.
        var sizes: [Int] {
            switch self {
            case .recordDepth, .metadataDepth: Array(Limits.jsonDepth - 5...Limits.jsonDepth + 1)
            case .metadataBytes: [Limits.metadataBytes - 66_000, Limits.metadataBytes - 65_000]
            }
        }

        func source(_ size: Int) -> String {
            let nested = String(repeating: "[", count: size) + "1" + String(repeating: "]", count: size)
            return switch self {
            case .recordDepth: "records: {a: {v: \(nested)}}"
            case .metadataDepth: "metadata: {d: \(nested)}\nrecords: {a: {}}"
            case .metadataBytes: "metadata: {d: \(String(repeating: "x", count: size))}\nrecords: {a: {}}"
            }
        }
    }

    @Test(arguments: Limit.allCases) func checkAndPublishAgreeOnLimits(_ limit: Limit) async throws {
        let place = try PublishingPlace(at: now)
        var answers: Set<Bool> = []
        for size in limit.sizes {
            try place.write(limit.source(size), to: "main/c/collection.yaml")
            let checked = await failure {
                for source in try place.sources.read() {
                    try Publisher.check(source, DumpsConfiguration(), at: now)
                }
            }
            let published = await failure {
                try FileStore.removeTree(place.dumps.path)
                try await place.publish(at: now)
                try place.verify()
            }
            #expect((checked == nil) == (published == nil), "\(size): \(checked ?? "valid"); \(published ?? "valid")")
            if let checked { #expect(checked.contains("main/c"), "the error contains no file: \(checked)") }
            answers.insert(checked == nil)
        }
        #expect(answers == [true, false], "\(limit)")
    }

    private func failure(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return "\(error)"
        }
    }
}
