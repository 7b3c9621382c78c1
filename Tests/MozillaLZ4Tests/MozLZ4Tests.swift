import MozillaLZ4
import RemoteSettingsModel
import Testing

struct MozLZ4Tests {
    /// One block of literals only (LZ4 block format: a token, then the bytes).
    private func container(_ text: String, size: Int? = nil) -> [UInt8] {
        let content = Array(text.utf8)
        let length = size ?? content.count
        return Array("mozLz40\0".utf8) + (0..<4).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) }
            + [UInt8(content.count << 4)] + content
    }

    @Test func reads() throws {
        let bytes = Bytes(container("[1,2,3]"))
        #expect(MozLZ4.isOne(bytes))
        #expect(try MozLZ4.unpack(bytes, limit: 100).text == "[1,2,3]")
    }

    @Test func `What is packed is what is unpacked`() throws {
        let segments = ["[1,", String(repeating: "2", count: 3000), "]"].map { Bytes(utf8: $0) }
        let packed = try #require(MozLZ4.pack(segments))
        #expect(packed.count < 200)
        #expect(try MozLZ4.unpack(packed, limit: 4000).array == segments.flatMap(\.array))
        #expect(throws: MozLZ4.Refused.self) { try MozLZ4.unpack(packed, limit: 3003) }
    }

    @Test func everyPrefixIsRefused() {
        let whole = container("[1,2,3]")
        for length in 0..<whole.count {
            #expect(throws: MozLZ4.Refused.self) {
                try MozLZ4.unpack(Bytes(Array(whole[..<length])), limit: 100)
            }
        }
    }

    @Test(arguments: [0, 6, 8, 100, 101, 1 << 31, 0xFFFF_FFFF])
    func anotherSizeIsRefused(_ size: Int) {
        #expect(throws: MozLZ4.Refused.self) {
            try MozLZ4.unpack(Bytes(container("[1,2,3]", size: size)), limit: 100)
        }
    }
}
