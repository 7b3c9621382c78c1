import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

final class ManifestTests: DirectorySuite {
    private var fixture: Fixture {
        var fixture = Fixture()
        fixture.records = [("a", ([1], "l/1")), ("b", ([2, 2], "l/2")), ("c", ([1], "l/3")), ("d", ([1], "l/3"))]
        return fixture
    }

    /// Returns the error from verifying a bundle with a changed manifest.
    private func refusal(_ part: String, _ replacement: String) throws -> Failure? {
        var zip = try HandmadeZIP(fixture)
        let text = String(decoding: zip.entries[0].data, as: UTF8.self)
        try #require(text.contains(part))
        zip.entries[0] = .init("manifest.json", Array(text.replacingOccurrences(of: part, with: replacement).utf8))
        return failure(of: { try BundleReader(bytes: Bytes(zip.bytes), name: "b.zip").verifyContents() })
    }

    @Test func unchangedManifestIsAccepted() throws {
        #expect(try refusal("\"format\":1", "\"format\":1") == nil)
    }

    @Test func unknownManifestFormatAsksForUpdate() throws {
        let error = try #require(try refusal("\"format\":1", "\"format\":2"))
        #expect(error.code == .unknownVersion)
        #expect(error.description.contains("it was written by a newer rsdump; update"))
    }

    @Test(arguments: [
        ("\"bucket\":\"main\"", "\"bucket\":\"../x\""), ("\"collection\":\"fixture\"", "\"collection\":\"\""),
        ("\"timestamp\":1700000000123", "\"timestamp\":1700000000124"), ("\"records\":4", "\"records\":5"),
        ("\"records\":4", "\"records\":04"), ("\"records\":4", "\"records\":-4"), ("\"records\":4", "\"records\":4.0"),
        ("\"records\":4", "\"records\":9999999999999999999"), ("\"records\":4", "\"records\": 4"),
        ("\"attachments\":2", "\"attachments\":3"), ("\"omitted\":0", "\"omitted\":1"),
        ("\"trust\":\"signed\"", "\"trust\":\"unsigned\""), ("\"trust\":\"signed\"", "\"trust\":\"trusted\""),
        ("\"name\":\"records.json\"", "\"name\":\"records.yaml\""),
        ("\"name\":\"chain.pem\"", "\"name\":\"metadata.json\""), ("{\"format\"", " {\"format\""), ("]}\n", "]}"),
        ("]}\n", "]}\n\n"), (",\n\"files\"", ",\"files\""), ("\"location\":\"l/2\"", "\"location\":\"l/9\""),
        ("\"location\":\"l/2\"", "\"location\":\"l\\/2\""), ("\"location\":\"l/2\"", "\"location\":\"\\u006c/2\""),
        ("\"location\":\"l/2\"", "\"location\":\"l/2\u{7F}\""), ("\"location\":\"l/2\"", "\"location\":\"\\ud800\""),
        ("\"location\":\"l/2\"", "\"location\":\"\\u00E9\""), ("\"location\":\"l/2\"", "\"location\":\"é\""),
        ("\"location\":\"l/2\"", "\"location\":\"\\n\""), ("\"location\":\"l/3\"", "\"location\":\"l/1\""),
        ("\"location\":\"l/3\"", "\"location\":\"l/0\""), ("[\"c\",\"d\"]", "[\"d\",\"c\"]"),
        ("[\"c\",\"d\"]", "[\"c\",\"c\"]"), ("[\"c\",\"d\"]", "[\"c\"]"), ("[\"c\",\"d\"]", "[\"c\",\"d\",\"e\"]"),
        ("[\"c\",\"d\"]", "[]"), ("[\"c\",\"d\"]", "[\"c\",\"../d\"]"), ("[\"b\"]", "[\"b\"],\"omitted\":\"max-size\""),
        ("[\"b\"]", "[\"b\"],\"more\":1"), ("[\"b\"]", "[\"b\"],\"omitted\":\"\""), ("\"size\":2,", "\"size\":3,"),
        ("\"records\":4", "\"records\":4,\"records\":4"), ("\"size\":2,", ""),
        ("\"attachments\":2,\"omitted\":0", "\"omitted\":0,\"attachments\":2"),
    ])
    func changedManifestIsRefused(part: String, replacement: String) throws {
        let error = try #require(try refusal(part, replacement))
        #expect([.malformed, .damaged].contains(error.code))
        #expect(error.place == "b.zip")
    }

    @Test func wrongHashInManifestIsRefused() throws {
        let hex = digest([2, 2]).hex
        #expect(try refusal(hex, hex.uppercased()) != nil)
        #expect(try refusal(hex, String(hex.dropLast()) + (hex.hasSuffix("0") ? "1" : "0")) != nil)
        let records = digest(Array(fixture.payload.utf8)).hex
        let other = try #require(try refusal(records, hex))
        #expect((other.code, other.entry) == (.damaged, "records.json"))
    }

    @Test func omittedFileThatIsPresentIsRefused() throws {
        var zip = try HandmadeZIP(fixture)
        var text = String(decoding: zip.entries[0].data, as: UTF8.self)
        text = text.replacingOccurrences(of: "\"omitted\":0", with: "\"omitted\":1")
        text = text.replacingOccurrences(of: "\"attachments\":2", with: "\"attachments\":1")
        text = text.replacingOccurrences(of: "[\"b\"]", with: "[\"b\"],\"omitted\":\"max-size\"")
        zip.entries[0] = .init("manifest.json", Array(text.utf8))
        #expect(throws: Failure.self) { try BundleReader(bytes: Bytes(zip.bytes), name: "b.zip") }
        zip.entries.removeAll { $0.name == "attachments/\(digest([2, 2]))" }
        try BundleReader(bytes: Bytes(zip.bytes), name: "b.zip").verifyContents()
    }

    @Test func truncatedManifestIsRefused() throws {
        let text = try HandmadeZIP(fixture).entries[0].data
        #expect(try Manifest(parsing: Bytes(text), file: "b").text == text)
        for count in text.indices {
            #expect(throws: Failure.self) { try Manifest(parsing: Bytes(Array(text[..<count])), file: "b") }
        }
    }

    @Test func bundleHeadIsReadFromFirstBytes() throws {
        var fixture = Fixture.records(3)
        let long = String(repeating: "x", count: 255)
        fixture.collection = "\(long)/\(long)"
        let bytes = try fixture.bundle()
        let head = try BundleHead.read(Bytes(Array(bytes.prefix(1024))), name: "b")
        #expect(head.collection.description == fixture.collection)
        #expect(head.trust == .signed)
        let short = try Fixture.records(3).bundle()
        #expect(
            try BundleHead.read(Bytes(Array(short.prefix(300))), name: "b").timestamp.milliseconds == 1_700_000_000_123)
        for count in 0..<150 {
            #expect(throws: Failure.self) { try BundleHead.read(Bytes(Array(short.prefix(count))), name: "b") }
        }
    }

    @Test func unreadableBundleIsNamed() throws {
        for (path, found) in [
            (directory + "/none.zip", "No such file or directory"),
            (directory, "it is not a regular file"),
        ] {
            let error = try #require(throws: Failure.self) { try BundleReader(path: path) }
            #expect((error.code, error.place, error.problem) == (.storage, path, found))
            #expect(throws: Failure.self) { try BundleHead.read(path: path) }
        }
        let fifo = directory + "/fifo"
        try #require(unsafe mkfifo(fifo, 0o600) == 0)
        #expect(throws: Failure.self) { try BundleReader(path: fifo) }
        try write([], to: directory + "/empty.zip")
        let empty = try #require(throws: Failure.self) { try BundleReader(path: directory + "/empty.zip") }
        #expect(empty.code == .malformed)
    }
}
