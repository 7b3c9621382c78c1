import Foundation
import RemoteSettingsModel
import Testing

@testable import SnapshotBundle

/// Payloads, which are deflated in blocks.
final class PayloadBlocksTests: DirectorySuite {
    /// Records of about a kilobyte each, whose values are hexadecimal digits.
    private static func records(_ count: Int) -> [(id: String, value: String)] {
        var random = SplitMix(state: 7)
        return (0..<count).map { index in
            var value = ""
            for _ in 0..<60 { value += String(random.next(), radix: 16) }
            return ("r\(1_000_000 + index)", value)
        }
    }

    private static func snapshot(_ records: [(id: String, value: String)], _ timestamp: UInt64 = 2) throws -> Snapshot {
        let texts = records.map { #"{"id":"\#($0.id)","last_modified":1,"value":"\#($0.value)"}"# }
        let payload = #"{"data":[\#(texts.joined(separator: ","))],"last_modified":"\#(timestamp)"}"#
        let unverified = UnverifiedSnapshot(
            collection: try CollectionID("main/fixture"),
            payload: try Payload(parsing: Bytes(utf8: payload)),
            metadata: try CollectionMetadata(parsing: Bytes(utf8: "{}")))
        return Snapshot(vouchingFor: unverified, chain: nil, provenance: .unsigned)
    }

    private static func blocks(_ payload: Payload) throws -> PayloadBlocks { try PayloadBlocks(payload, file: "b.zip") }

    private static func bundle(_ snapshot: Snapshot) throws -> [UInt8] {
        try BundleWriter(snapshot, attachments: [:]).bytes(name: "b.zip").bytes.array
    }

    private static func reader(_ bytes: [UInt8]) throws -> BundleReader {
        try BundleReader(bytes: Bytes(bytes), name: "old.zip")
    }

    @Test func `A block begins at a record, and nothing but ids and sizes decides where`() throws {
        let blocks = try Self.blocks(Self.snapshot(Self.records(600)).payload)
        // Block boundaries must not change between versions.
        #expect(
            blocks.ranges.map(\.lowerBound) == [
                0, 34_124, 56_189, 73_243, 99_327, 165_520, 192_604, 239_741, 280_876, 297_923, 320_975, 360_082,
                399_197, 432_301, 456_378, 489_480, 517_566, 534_634, 562_714, 597_801, 601_816,
            ])
        #expect(blocks.least == 16 << 10)
        #expect(blocks.ranges.last?.upperBound == blocks.payload.bytes.count)
        #expect(blocks.payload.bytes[blocks.ranges[blocks.ranges.count - 1]].text == #"],"last_modified":"2"}"#)
        for (range, next) in zip(blocks.ranges, blocks.ranges.dropFirst()).dropLast() {
            #expect(range.upperBound == next.lowerBound)
            #expect(range.count >= blocks.least)
            #expect(range.count < 4 * blocks.least + 2_000)
            #expect(blocks.payload.bytes[next].starts(with: Array(#"{"id":""#.utf8)))
        }
    }

    @Test func `A change of one record changes one or two blocks`() throws {
        var records = Self.records(6_000)
        let before = try Self.blocks(Self.snapshot(records).payload)
        records[3_000].value = "changed"
        let after = try Self.blocks(Self.snapshot(records, 3).payload)
        let known = Set(before.ranges.map { before.payload.bytes[$0] })
        let changed = after.ranges.filter { !known.contains(after.payload.bytes[$0]) }
        // The last block contains the timestamp.
        #expect(changed.count <= 3)
        #expect(after.ranges.count > 90)
    }

    @Test func `The better a payload deflates, the larger are its blocks`() throws {
        for (repeats, least) in [(1, 16), (2, 128), (4, 256), (8, 512)] {
            let records = Self.records(900).map { record in
                (record.id, String(repeating: String(record.value.prefix(900 / repeats)), count: repeats))
            }
            #expect(try Self.blocks(Self.snapshot(records).payload).least == least << 10)
        }
        let small = try Self.blocks(Self.snapshot(Self.records(10)).payload)
        #expect(small.ranges.count == 1)
    }

    @Test func `A payload of one block has the bytes of one stream at the highest level`() throws {
        let payload = try Self.snapshot(Self.records(20)).payload
        let deflater = try #require(Deflater(level: 9))
        #expect(try PackedRecords(payload)?.bytes.array == deflater.smaller(payload.bytes))
    }

    @Test func `What was written is compared with what was meant`() throws {
        let records = Self.records(5_000)
        let snapshot = try Self.snapshot(records)
        let reader = try Self.reader(Self.bundle(snapshot))
        let content = SHA256Digest(hashing: try reader.manifestText())
        try reader.verifyContents(of: snapshot.payload, content: content)
        #expect(reader.hasPayload(snapshot.payload))
        var changed = records
        changed[4_000].value = String(changed[4_000].value.reversed())
        for other in [changed, records.dropLast()] {
            let payload = try Self.snapshot(other).payload
            #expect(!reader.hasPayload(payload))
            #expect(throws: Failure.self) { try reader.verifyContents(of: payload, content: content) }
        }
        let otherContent = SHA256Digest(hashing: Bytes([]))
        #expect(throws: Failure.self) { try reader.verifyContents(of: snapshot.payload, content: otherContent) }
    }

    /// An independent Python implementation of the rules in the doc comment of `PayloadBlocks`.
    @Test func `The stream is what the rules say`() throws {
        let bytes = try Self.bundle(Self.snapshot(Self.records(6_000)))
        try write(bytes, to: directory + "/b.zip")
        let script = """
            import json, sys, zipfile, zlib
            with open("b.zip", "rb") as file:
                whole = file.read()
            archive = zipfile.ZipFile("b.zip")
            entry = archive.getinfo("records.json")
            text = archive.read(entry)
            begin = entry.header_offset + 30 + 12 + 20
            trial, least = zlib.compressobj(1, zlib.DEFLATED, -15, 8), 16384
            deflated = len(trial.compress(text[:131072]) + trial.flush())
            ratio = min(len(text), 131072) / deflated
            while least < 524288 and ratio ** 2 > 2.5 * least / 16384 and ratio ** 3 > 8 * least / 16384:
                least *= 2
            starts, place, most = [0], 9, 2 ** 64
            for record in json.loads(text)["data"]:
                size = len(json.dumps(record, separators=(",", ":"), sort_keys=True))
                hashed = 0xCBF29CE484222325
                for byte in record["id"].encode():
                    hashed = (hashed ^ byte) * 0x100000001B3 % most
                hashed = (hashed ^ hashed >> 33) * 0xFF51AFD7ED558CCD % most
                hashed = (hashed ^ hashed >> 33) % least
                so_far = place - starts[-1]
                if so_far >= 4 * least or so_far >= least and hashed < size:
                    starts.append(place)
                place += size + 1
            starts.append(place - 1)
            stream = b""
            for start, end in zip(starts, starts[1:] + [len(text)]):
                deflater = zlib.compressobj(7, zlib.DEFLATED, -15, 8)
                stream += deflater.compress(text[start:end])
                stream += deflater.flush(zlib.Z_FINISH if end == len(text) else zlib.Z_SYNC_FLUSH)
            assert len(starts) > 4, starts
            assert stream == whole[begin:begin + entry.compress_size], (len(stream), entry.compress_size)
            """
        let outcome = try run("python3", ["-c", script], in: directory)
        #expect(outcome.status == 0, "\(outcome.output)")
    }
}
