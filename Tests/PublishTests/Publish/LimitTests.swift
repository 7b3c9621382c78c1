import Dumps
import Publish
@testable import RemoteSettingsModel
import SnapshotBundle
import Testing

/// What `check` takes, `publish` takes too, and what `check` refuses, `publish` refuses, at each limit of the sources.
@Suite struct LimitTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)

    /// A limit, with sources that come close to it at one of the values that are tried.
    enum Limit: CaseIterable {
        case records, recordBytes, recordDepth, recordMembers, recordValues, collectionBytes
        case metadataBytes, metadataDepth, metadataMembers, metadataValues, attachments, attachmentBytes

        var path: WritableKeyPath<Limits, Int> {
            switch self {
            case .records: \.records
            case .recordBytes: \.recordBytes
            case .recordDepth, .metadataDepth: \.jsonDepth
            case .recordMembers, .metadataMembers: \.jsonMembers
            case .recordValues, .metadataValues: \.jsonValues
            case .collectionBytes: \.changesetBytes
            case .metadataBytes: \.metadataBytes
            case .attachments: \.attachments
            case .attachmentBytes: \.attachmentBytes
            }
        }

        var values: [Int] {
            switch self {
            case .records, .attachments: Array(1...4)
            case .recordBytes: Array(stride(from: 990, through: 1090, by: 7))
            case .recordDepth, .metadataDepth: Array(28...36)
            case .recordMembers, .metadataMembers: Array(58...68)
            case .recordValues: Array(396...410)
            // With room for what publishing adds.
            case .metadataValues: Array(stride(from: 396, through: 700, by: 9))
            case .collectionBytes: Array(stride(from: 2800, through: 3600, by: 57))
            case .metadataBytes: [1000, 3000, 60_000] + Array(stride(from: 66_000, through: 67_200, by: 57))
            case .attachmentBytes: Array(98...102)
            }
        }

        var source: String {
            switch self {
            case .records: "records: {a: {}, b: {}, c: {}}"
            case .recordBytes: "records: {a: {v: \(text(970))}}"
            case .recordDepth: "records: {a: {v: \(deep)}}"
            case .recordMembers: "records: {a: {v: \(members)}}"
            case .recordValues: "records: {a: {v: \(list)}}"
            case .collectionBytes: "records: {a: {v: \(text(1000))}, b: {v: \(text(1000))}, c: {v: \(text(1000))}}"
            case .metadataBytes: "metadata: {d: \(text(1000))}\nrecords: {a: {}}"
            case .metadataDepth: "metadata: {d: \(deep)}\nrecords: {a: {}}"
            case .metadataMembers: "metadata: {d: \(members)}\nrecords: {a: {}}"
            case .metadataValues: "metadata: {d: \(list)}\nrecords: {a: {}}"
            case .attachments, .attachmentBytes:
                "records: {a: {attachment: files/a}, b: {attachment: files/b}, c: {attachment: files/c}}"
            }
        }

        private func text(_ count: Int) -> String { String(repeating: "x", count: count) }
        private var deep: String { String(repeating: "[", count: 30) + "1" + String(repeating: "]", count: 30) }
        private var members: String { "{" + (0..<60).map { "k\($0): 1" }.joined(separator: ", ") + "}" }
        private var list: String { "[" + Array(repeating: "1", count: 400).joined(separator: ", ") + "]" }
    }

    @Test(arguments: Limit.allCases) func checkAndPublishSayTheSame(_ limit: Limit) async throws {
        let place = try PublishingPlace(at: now)
        try place.write(limit.source, to: "main/c/collection.yaml")
        if [.attachments, .attachmentBytes].contains(limit) {
            for name in ["a", "b", "c"] {
                try place.write(String(repeating: name, count: 100), to: "main/c/files/\(name)")
            }
        }
        var answers: Set<Bool> = []
        for value in limit.values {
            var limits = Limits()
            limits[keyPath: limit.path] = value
            let checked = await failure {
                for source in try SourceDirectory(place.sources.path, limits: limits).read() {
                    try Publisher.check(source, DumpsConfiguration(), at: now, limits: limits)
                }
            }
            let published = await failure {
                try FileStore.removeTree(place.dumps.path)
                let policy = TrustPolicy(roots: TrustAnchors([place.trusted]))
                let publish = Publisher(
                    into: try await .begin(in: place.dumps), signer: try place.keys.signer([:]), policy: policy,
                    options: .init(time: now),
                    limits: limits)
                let sources = try SourceDirectory(place.sources.path, limits: limits).read()
                for outcome in try await publish.run(sources) { _ = try outcome.result.get() }
                let entry = try #require(try place.dumps.lockFile(limits: limits).collections[place.id])
                try BundleVerifier(policy, limits: limits)
                    .verify(place.dumps.bundlePath(place.id), of: place.id, against: entry)
            }
            #expect((checked == nil) == (published == nil), "\(value): \(checked ?? "taken"); \(published ?? "taken")")
            if let checked { #expect(checked.contains("main/c"), "no file is named: \(checked)") }
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
