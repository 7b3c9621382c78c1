import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// The article's worked example is what the writer writes.
@Suite struct DocumentationTests {
    @Test func exampleIsTrue() throws {
        var fixture = Fixture()
        fixture.collection = "main/example"
        fixture.isSigned = false
        fixture.records = [("a", ([0x68, 0x69], "main-workspace/example/a.txt"))]
        fixture.metadata = #"{"id":"example"}"#
        let bundle = try fixture.bundle()
        let text = try article()
        for offset in stride(from: 0, to: 240, by: 16) {
            let line = bundle[offset..<offset + 16]
            let hex = line.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined(separator: " ")
            let shown = line.map { (0x20...0x7E).contains($0) ? String(UnicodeScalar($0)) : "." }.joined()
            let address = String(offset, radix: 16)
            let expected = String(repeating: "0", count: 8 - address.count) + address + "  " + hex + "  " + shown
            #expect(text.contains(expected), "\(expected)")
        }
        let reader = try BundleReader(bytes: Bytes(bundle), name: "example")
        #expect(text.contains(try reader.manifestText().text))
        #expect(text.contains(try reader.payloadText().text))
        #expect(text.contains(try Manifest.digest(of: reader.manifestText()).hex))
    }

    @Test func everyReasonIsExplained() throws {
        let text = try article()
        for reason: OmissionReason in [.none, .filter, .maxSize, .maxTotal, .notImported] {
            #expect(text.contains("`\(reason)`"), "\(reason)")
        }
    }

    private func article() throws -> String {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        return try String(
            contentsOf: tests.appending(path: "../../Sources/Format/SnapshotBundle/Documentation.docc/BundleFormat.md"),
            encoding: .utf8)
    }
}
