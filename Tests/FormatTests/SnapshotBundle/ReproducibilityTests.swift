import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// Serialized because time zone, locale and umask are process-wide.
@Suite(.serialized) struct ReproducibilityTests {
    private func withTimeZone<Value>(_ zone: String?, _ body: () throws -> Value) rethrows -> Value {
        let before = ProcessInfo.processInfo.environment["TZ"]
        func set(_ zone: String?) {
            if let zone { _ = unsafe setenv("TZ", zone, 1) } else { _ = unsafe unsetenv("TZ") }
            tzset()
        }
        set(zone)
        defer { set(before) }
        return try body()
    }

    @Test func bundleBytesIgnoreTimeZoneMaskAndLocale() throws {
        let fixture = Fixture.records(50)
        let expected = try fixture.bundle()
        for zone in ["Pacific/Kiritimati", "America/St_Johns", "UTC"] {
            #expect(try withTimeZone(zone) { try fixture.bundle() } == expected)
        }
        for mask in [0o077, 0o000, 0o027] as [mode_t] {
            let before = umask(mask)
            let bytes = try fixture.bundle()
            umask(before)
            #expect(bytes == expected)
        }
        for locale in ["C", "C.UTF-8", "POSIX"] {
            let before = unsafe setlocale(LC_ALL, nil).map { unsafe String(cString: $0) }
            try #require(unsafe setlocale(LC_ALL, locale) != nil)
            let bytes = try fixture.bundle()
            _ = unsafe setlocale(LC_ALL, before)
            #expect(bytes == expected)
        }
    }

    @Test func bundleBytesIgnoreOrderOfAttachments() async throws {
        let fixture = Fixture.records(50)
        let expected = try fixture.bundle()
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for seed in 0..<8 as Range<UInt64> {
                group.addTask {
                    var random = SplitMix(state: seed)
                    var sources: [SHA256Digest: AttachmentInput] = [:]
                    for (hash, source) in fixture.sources.shuffled(using: &random) { sources[hash] = source }
                    return try written(by: BundleWriter(fixture.snapshot(), attachments: sources))
                }
            }
            for try await bytes in group { #expect(bytes == expected) }
        }
    }

    @Test func contentDoesNotDependOnCompression() throws {
        let fixture = Fixture.records(5)
        let deflated = try BundleReader(bytes: Bytes(fixture.bundle(.deflate)), name: "b")
        let stored = try BundleReader(bytes: Bytes(fixture.bundle(.stored)), name: "b")
        #expect(try deflated.manifestText() == stored.manifestText())
    }

    /// The manifest's text is part of the format, so it must not change.
    @Test func manifestTextIsFixed() throws {
        var fixture = Fixture()
        fixture.records = [("a", ([0x68, 0x69], "x/é")), ("b", nil)]
        let reader = try BundleReader(bytes: Bytes(fixture.bundle()), name: "b")
        let records = digest(Array(fixture.payload.utf8))
        let metadata = digest(Array(fixture.metadata.utf8))
        let chain = digest(Array(fixture.chain.utf8))
        let expected = """
            {"format":1,"bucket":"main","collection":"fixture","timestamp":1700000000123,"records":2,"attachments":1,\
            "omitted":0,"trust":"signed",
            "entries":[
            {"name":"records.json","size":\(fixture.payload.utf8.count),"sha256":"\(records)"},
            {"name":"metadata.json","size":48,"sha256":"\(metadata)"},
            {"name":"chain.pem","size":\(fixture.chain.utf8.count),"sha256":"\(chain)"}
            ],
            "files":[
            {"sha256":"8f434346648f6b96df89dda901c5176b10a6d83961dd3c1ac88b59b2dc327aa4","size":2,\
            "location":"x/\\u00e9","records":["a"]}
            ]}

            """
        #expect(try reader.manifestText().text == expected)
    }
}
