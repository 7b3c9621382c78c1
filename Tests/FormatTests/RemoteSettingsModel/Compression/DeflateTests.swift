import Dispatch
@testable import RemoteSettingsModel
import Testing

struct DeflateTests {
    /// Content that compresses to about half its size.
    private static func content(_ count: Int) -> Bytes {
        var state: UInt32 = 1
        return Bytes(
            (0..<count).map { _ in
                state = state &* 1_664_525 &+ 1_013_904_223
                return UInt8(truncatingIfNeeded: state >> 28)
            })
    }

    private func decompress(_ compressed: [UInt8], piece: Int) throws -> (output: [UInt8], isAtEnd: Bool) {
        let stream = try GzipStream()
        var output: [UInt8] = []
        for start in stride(from: 0, to: compressed.count, by: piece) {
            stream.feed(Array(compressed[start..<min(start + piece, compressed.count)]))
            while let next = try stream.next() {
                #expect(next.count <= GzipStream.pieceSize)
                output += next
            }
        }
        return (output, stream.isAtEnd)
    }

    @Test func `The checksum has its check value`() {
        #expect(crc32(of: Bytes(utf8: "123456789")) == 0xCBF4_3926)
        #expect(crc32(of: Bytes(utf8: "6789"), continuing: crc32(of: Bytes(utf8: "12345"))) == 0xCBF4_3926)
    }

    @Test func `Checksums of two texts make one of both`() {
        let first = crc32(of: Bytes(utf8: "12345"))
        let second = crc32(of: Bytes(utf8: "6789"))
        #expect(crc32(first, followedBy: second, count: 4) == 0xCBF4_3926)
        #expect(crc32(first, followedBy: 0, count: 0) == first)
    }

    @Test func `A block stands on its own, ends on a byte, and is not the end`() throws {
        let content = Self.content(300_000)
        let deflater = try #require(Deflater(level: 7))
        let block = deflater.block(content, isLast: false)
        // An empty stored block.
        #expect(Array(block.suffix(4)) == [0, 0, 0xFF, 0xFF])
        #expect(deflater.block(content, isLast: false) == block)
        let last = deflater.block(content, isLast: true)
        #expect(try Bytes(Inflater.inflate(Bytes(block + last), size: 600_000)) == Bytes(content.array + content.array))
    }

    @Test(arguments: [0, 1, 100, 65_536, 300_000])
    func `What is deflated is what is inflated`(_ count: Int) throws {
        let deflater = try #require(Deflater(level: 9))
        let content = Self.content(count)
        var packed: [UInt8] = []
        // A reused compressor produces the same bytes.
        for round in 0..<2 {
            var output: [UInt8] = []
            deflater.reset()
            content.withSpan { span in
                deflater.deflate(span) { piece in for index in piece.indices { output.append(piece[index]) } }
            }
            deflater.finish { piece in for index in piece.indices { output.append(piece[index]) } }
            #expect(round == 0 || output == packed)
            packed = output
        }
        #expect(try Inflater.inflate(Bytes(packed), size: count) == content.array)
        #expect(throws: Failure.trailingBytes) { try Inflater.inflate(Bytes(packed + [0]), size: count) }
        #expect(throws: Failure.streamTooShort) { try Inflater.inflate(Bytes(packed), size: count + 1) }
        #expect(throws: Failure.streamTooShort) { try Inflater.inflate(Bytes(packed.dropLast()), size: count) }
        if count > 0 {
            #expect(throws: Failure.streamTooLong) { try Inflater.inflate(Bytes(packed), size: count - 1) }
        }
    }

    @Test func `What does not shrink is given up`() throws {
        let deflater = try #require(Deflater(level: 9))
        #expect(deflater.smaller(Bytes()) == nil)
        #expect(deflater.smaller(Bytes(utf8: "abc")) == nil)
        let packed = try #require(deflater.smaller(Self.content(1000)))
        #expect(try Inflater.inflate(Bytes(packed), size: 1000) == Self.content(1000).array)
    }

    @Test(arguments: [1, 7, 1000, 1 << 20])
    func `Gzip members behind each other are one content`(_ piece: Int) throws {
        let first = Self.content(200_000)
        let second = Bytes(utf8: "the second")
        let members = try [[first], [second, second]].flatMap { try #require(GzipMember.compress($0, level: 6)).array }
        let (output, isAtEnd) = try decompress(members, piece: piece)
        #expect(output == first.array + second.array + second.array)
        #expect(isAtEnd)
        #expect(try decompress(members.dropLast(), piece: piece).isAtEnd == false)
    }

    @Test func `A gzip stream with a wrong byte is refused`() throws {
        let member = try #require(GzipMember.compress([Self.content(1000)], level: 6)).array
        for index in [0, 2, member.count - 1, member.count - 5] {
            var damaged = member
            damaged[index] ^= 0x55
            #expect(throws: Failure.corruptStream) { try decompress(damaged, piece: 100) }
        }
        #expect(throws: Failure.corruptStream) { try decompress(member + [1, 2, 3], piece: 100) }
    }
}
