import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

@testable import RemoteSettingsHTTP

/// Files transferred as deltas (RFC 9842). `Tests/Integration/test_deltas.py` tests the requests.
@Suite struct FileDeltaTests {
    private static func list(_ lines: Int, changing changed: Set<Int> = []) -> Bytes {
        let text = (0..<lines).map { number in
            "||tracker-\(number * 7_919 % 10_007)\(changed.contains(number) ? "-changed" : "").example^\n"
        }
        return Bytes(utf8: text.joined())
    }

    private static let old = list(400)
    private static let new = list(400, changing: [17, 300])
    private static let held = HeldFile(
        old, digest: SHA256Digest(hashing: old), location: "main-workspace/lists/1--a--list.txt",
        newer: SHA256Digest(hashing: new))

    private static func made() throws -> [UInt8] {
        try #require(FileDelta.made(of: new, from: old, named: SHA256Digest(hashing: old)))
    }

    /// The decoded file, or `nil` if the delta was refused.
    private static func decoded(_ delta: [UInt8], in pieces: Int = 1, size: Int = new.count) -> [UInt8]? {
        do {
            let decoder = try DeltaDecoder(from: held, size: size)
            let length = max(1, (delta.count + pieces - 1) / pieces)
            for start in stride(from: 0, to: delta.count, by: length) {
                try decoder.decode(Array(delta[start..<min(start + length, delta.count)]))
            }
            try decoder.finish()
            return decoder.piece(at: 0)
        } catch {
            return nil
        }
    }

    @Test func `A delta is a hundredth of the file`() throws {
        let delta = try Self.made()
        #expect(delta.count < Self.new.count / 60)
        for pieces in [1, 2, delta.count] { #expect(Self.decoded(delta, in: pieces) == Self.new.array) }
    }

    @Test func `Any flipped byte and any cut is refused, or does no harm`() throws {
        let delta = try Self.made()
        for place in delta.indices {
            #expect(Self.decoded(Array(delta[..<place])) == nil, "cut at \(place)")
            for bit in 0..<8 {
                var flipped = delta
                flipped[place] ^= 1 << bit
                let found = Self.decoded(flipped)
                #expect(found == nil || found == Self.new.array, "bit \(bit) of byte \(place)")
            }
        }
        for more in [[0], delta, Array(delta.dropFirst(40))] { #expect(Self.decoded(delta + more) == nil) }
    }

    @Test func `A size that the record does not state is refused`() throws {
        let delta = try Self.made()
        for size in [1, Self.new.count - 1, Self.new.count + 1, 1 << 20] {
            #expect(Self.decoded(delta, size: size) == nil)
        }
    }

    /// A delta whose blocks of four bytes each expand to 128 KiB of one repeated byte.
    private static func bomb(blocks: Int, window: UInt8) -> [UInt8] {
        let frame: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0, window]
        let header = 131_072 << 3 | 1 << 1
        let block = [UInt8(header & 0xFF), UInt8(header >> 8 & 0xFF), UInt8(header >> 16 & 0xFF), 0x61]
        return FileDelta.head(SHA256Digest(hashing: old)) + frame + (0..<blocks).flatMap { _ in block }
    }

    #if os(Linux)
    @Test func `What expands without end takes no memory`() throws {
        // The bombs expand to 8 GiB, with windows of 8 MiB and 2 GiB.
        for window in [UInt8(13 << 3), UInt8(21 << 3)] {
            let bomb = Self.bomb(blocks: 65_536, window: window)
            let decoder = try DeltaDecoder(from: Self.held, size: 1 << 20)
            let before = try Self.residentBytes()
            #expect(throws: Failure.self) { try decoder.decode(bomb) }
            #expect(try Self.residentBytes() - before < 3 << 20)
        }
    }

    private static func residentBytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        return try #require(line.split(separator: " ").compactMap { Int($0) }.first) << 10
    }
    #endif

    @Test func `Windows are those of RFC 9842`() {
        let mebi = 1 << 20
        let expected = [0: 23, 6 * mebi: 23, 7 * mebi: 24, 16 * mebi: 25, 200 * mebi: 27, Int.max: 27]
        for (dictionary, log) in expected { #expect(FileDelta.mostWindowLog(dictionary) == Int32(log)) }
        let made = [(0, 0, 10), (4097, 1, 13), (8 * mebi, 0, 23), (12 * mebi, 4 * mebi, 23), (4 * mebi, 14 * mebi, 22)]
        for (size, dictionary, log) in made { #expect(FileDelta.windowLog(of: size, dictionary) == Int32(log)) }
    }

    @Test func `What is small or large is asked for whole`() {
        #expect(!FileDelta.isWorthwhile(from: 4 << 10, to: 1 << 10))
        #expect(FileDelta.isWorthwhile(from: 4 << 10, to: 4 << 10))
        #expect(!FileDelta.isWorthwhile(from: 9 << 20, to: 8 << 20))
        #expect(!FileDelta.isWorthwhile(from: .max, to: .max))
    }

    @Test(arguments: [
        ("main-workspace/lists/1--a--list.txt", "\"1--a--list.txt\""), ("a/b\"c", nil), ("a/é", nil), ("", nil),
    ])
    func `The headers name what is held`(location: String, name: String?) {
        let held = HeldFile(
            Bytes(utf8: "abc"), digest: SHA256Digest(hashing: Bytes(utf8: "abc")), location: location,
            newer: SHA256Digest(hashing: Bytes()))
        let headers = HTTPHeaders(held.headers)
        #expect(headers["Available-Dictionary"] == ":ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=:")
        #expect(headers["Dictionary-ID"] == name)
    }
}
