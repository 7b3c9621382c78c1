import RemoteSettingsModel
@testable import SnapshotBundle
import Testing

struct TrustAnchorsTests {
    static let production =
        "C8:A8:0E:9A:FA:EF:4E:21:9B:6F:B5:D7:A7:1D:0F:10:12:23:BA:C5:00:1A:C2:8F:9B:0D:43:DC:59:A1:06:DB"
    static let staging =
        "3C:01:44:6A:BE:90:36:CE:A9:A0:9A:CA:A3:A5:20:AC:62:8F:20:A7:AE:32:CE:86:1C:B2:EF:B7:0F:A0:C7:45"

    @Test func mozillaRootHashes() throws {
        #expect(try TrustAnchors(hashes: [Self.production]) == .mozillaProduction)
        #expect(try TrustAnchors(hashes: [Self.staging]) == .mozillaStaging)
    }

    @Test func rootHashWithoutColons() throws {
        let plain = Self.production.split(separator: ":").joined()
        #expect(try TrustAnchors(hashes: [plain]) == .mozillaProduction)
        #expect(try TrustAnchors(hashes: [plain.lowercased()]) == .mozillaProduction)
        #expect(try TrustAnchors(hashes: [Self.production.lowercased()]) == .mozillaProduction)
    }

    @Test func trustAnchorsKeepTheirOrder() throws {
        let anchors = try TrustAnchors(hashes: [Self.staging, Self.production])
        #expect(anchors.roots == TrustAnchors.mozillaStaging.roots + TrustAnchors.mozillaProduction.roots)
    }

    @Test(arguments: [
        ("", "it has 0 digits instead of 64"),
        ("C8:A8", "it has 4 digits instead of 64"),
        (production + ":00", "it has 66 digits instead of 64"),
        (String(production.dropLast()), "colons must separate pairs of digits"),
        (":" + production, "colons must separate pairs of digits"),
        ("C8A80E:9A", "colons must separate pairs of digits"),
        (String(repeating: "x", count: 64), "it contains a character that is not a hexadecimal digit"),
        (String(repeating: "a", count: 63), "it has 63 digits instead of 64"),
        (" " + String(repeating: "a", count: 64), "it contains a character that is not a hexadecimal digit"),
        (String(repeating: "\u{FF11}", count: 64), "it contains a character that is not a hexadecimal digit"),
    ])
    func invalidRootHashIsRefused(text: String, reason: String) {
        #expect(throws: Failure.invalidRootHash(found: text, reason: reason)) {
            try TrustAnchors(hashes: [Self.production, text])
        }
    }
}

struct SignerNameTests {
    @Test(arguments: [
        ("main", "onecrl.content-signature.mozilla.org", false),
        ("main", "remote-settings.content-signature.mozilla.org", true),
        ("blocklists", "remote-settings.content-signature.mozilla.org", true),
        ("security-state", "onecrl.content-signature.mozilla.org", true),
        ("security-state-preview", "onecrl.content-signature.mozilla.org", true),
        ("security-state-2", "onecrl.content-signature.mozilla.org", false),
        ("main", "REMOTE-settings.content-signature.mozilla.org", true),
    ])
    func signerNameOfBucket(bucket: String, name: String, expected: Bool) throws {
        let collection = try CollectionID(bucket: bucket, name: "onecrl")
        #expect((SignerName.expected(for: collection) == SignerName(name)) == expected)
        #expect(!expected || SignerName.expected(for: collection).hashValue == SignerName(name).hashValue)
    }
}
