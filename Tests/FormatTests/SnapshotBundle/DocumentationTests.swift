import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// The worked example in the article about the bundle format matches the writer's output.
@Suite struct DocumentationTests {
    @Test func bundleFormatExampleIsWritten() throws {
        var fixture = Fixture()
        fixture.collection = "main/example"
        fixture.isSigned = false
        fixture.records = [("a", ([0x68, 0x69], "main-workspace/example/a.txt"))]
        fixture.metadata = #"{"id":"example"}"#
        let bundle = try fixture.bundle()
        let text = try article()
        #expect(bundle[0x1E..<0x2B].elementsEqual("manifest.json".utf8))
        #expect(bundle[0x72..<0x7E].elementsEqual("\"timestamp\":".utf8))
        let reader = try BundleReader(bytes: Bytes(bundle), name: "example")
        #expect(text.contains(try reader.manifestText().text))
        #expect(text.contains(try reader.payloadText().text))
        #expect(text.contains(try Manifest.digest(of: reader.manifestText()).hex))
    }

    @Test func everyOmissionReasonIsDocumented() throws {
        let text = try article()
        for reason: OmissionReason in [.none, .filter, .maxSize, .maxTotal, .notImported] {
            #expect(text.contains("`\(reason)`"), "\(reason)")
        }
    }

    private func article() throws -> String {
        let path = "Sources/Format/SnapshotBundle/Documentation.docc/BundleFormat.md"
        return try String(contentsOf: repository.appending(path: path), encoding: .utf8)
    }
}
