import RemoteSettingsModel
import Testing

@testable import SnapshotExchange

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
        #expect(try MozLZ4.decompress(bytes, name: "f", limit: 100).text == "[1,2,3]")
    }

    @Test func everyPrefixIsRefused() {
        let whole = container("[1,2,3]")
        for length in 0..<whole.count {
            #expect(throws: ExchangeError.self) {
                try MozLZ4.decompress(Bytes(Array(whole[..<length])), name: "f", limit: 100)
            }
        }
    }

    @Test(arguments: [0, 6, 8, 100, 101, 1 << 31, 0xFFFF_FFFF])
    func anotherSizeIsRefused(_ size: Int) {
        #expect(throws: ExchangeError.self) {
            try MozLZ4.decompress(Bytes(container("[1,2,3]", size: size)), name: "f", limit: 100)
        }
    }
}
