import RemoteSettingsModel
import Testing

@Suite struct SHA256DigestTests {
    private let bytes = (0..<32).map { UInt8($0 * 8 + 3) }
    private let hex = "030b131b232b333b434b535b636b737b838b939ba3abb3bbc3cbd3dbe3ebf3fb"

    @Test func digestFromBytesAndHex() throws {
        let digest = try #require(SHA256Digest(bytes))
        #expect(digest.hex == hex)
        #expect(digest.bytes == bytes)
        #expect(SHA256Digest(hex: hex) == digest)
    }

    @Test func invalidDigestIsRefused() {
        #expect(SHA256Digest(hex: "") == nil)
        #expect(SHA256Digest(hex: String(hex.dropLast())) == nil)
        #expect(SHA256Digest(hex: hex + "0") == nil)
        #expect(SHA256Digest(hex: hex.uppercased()) == nil)
        for letter in ["g", " ", "/", ":", "@", "`", "é"] {
            let text = letter + hex.dropFirst(letter.utf8.count)
            #expect(text.utf8.count == 64 && SHA256Digest(hex: text) == nil)
        }
        #expect(SHA256Digest(bytes.dropLast()) == nil)
    }
}
