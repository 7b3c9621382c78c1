import RemoteSettingsModel
import SnapshotOrigin
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

    /// What liblz4 packs, long literals, long matches and overlapping ones, is read here without it.
    @Test func readsWhatLiblz4Packs() throws {
        var random = SystemRandomNumberGenerator()
        for round in 0..<60 {
            var bytes: [UInt8] = []
            while bytes.count < round * 400 {
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes += (0..<Int.random(in: 1...700, using: &random)).map { _ in UInt8.random(in: 0...255) }
                case 1: bytes += Array(repeating: UInt8(round), count: Int.random(in: 1...900, using: &random))
                default:
                    guard let start = bytes.indices.randomElement(using: &random) else { continue }
                    bytes += Array(bytes[start...].prefix(400))
                }
            }
            let packed = try #require(MozLZ4.pack([Bytes(bytes)]))
            #expect(try MozLZ4.unpack(packed, limit: bytes.count).array == bytes)
        }
    }

    /// Damage is refused or gives other bytes of the right size; it never ends the program.
    @Test func damageIsSurvived() throws {
        let text = String(repeating: "abcabcabd", count: 200) + String(repeating: "x", count: 300)
        let packed = try #require(MozLZ4.pack([Bytes(utf8: text)])).array
        for position in 0..<packed.count {
            for bit in 0..<8 {
                var damaged = packed
                damaged[position] ^= 1 << UInt8(bit)
                let content = try? MozLZ4.unpack(Bytes(damaged), limit: 1 << 16)
                #expect(content == nil || position >= 12 && content?.count == text.utf8.count)
            }
        }
    }

    @Test(
        arguments: [
            [0xF0], [0xF0, 0xFF, 0xFF, 0xFF], [0x00, 0x00, 0x00], [0x10, 0x41, 0x00, 0x00], [0x10, 0x41, 0x02, 0x00],
            [0x1F, 0x41, 0x01, 0x00, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], [0x10, 0x41, 0x01],
        ] as [[UInt8]])
    func badBlocksAreRefused(_ block: [UInt8]) {
        let header = Array("mozLz40\0".utf8) + [8, 0, 0, 0]
        #expect(throws: MozLZ4.Refused.self) { try MozLZ4.unpack(Bytes(header + block), limit: 100) }
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
