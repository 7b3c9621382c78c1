import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

final class AttachmentsZIPTests: DirectorySuite {
    private let sizes = ["a": 3, "b": 4]

    /// Returns the contents of the two wanted files, without missing ones.
    private func read(_ bytes: [UInt8]) throws -> [String: [UInt8]] {
        files(try AttachmentsZIP(Bytes(bytes), name: "server.zip"))
    }

    private func files(_ zip: AttachmentsZIP) -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for (id, size) in sizes { files[id] = zip.file(of: id, size: size)?.array }
        return files
    }

    private let base: [HandmadeZIP.Entry] = [
        .init("a", [1, 2, 3]), .init("a.meta.json", [0x7B, 0x7D]), .init("b", [1, 2, 3, 4]), .init("c", [5]),
    ]

    private func changed(_ change: (inout [HandmadeZIP.Entry]) -> Void) -> [UInt8] {
        var entries = base
        change(&entries)
        return HandmadeZIP(entries: entries).bytes
    }

    private func error(_ change: (inout [HandmadeZIP.Entry]) -> Void) -> Failure? {
        failure(of: { try read(changed(change)) })
    }

    @Test func zipEntryOfRightSizeIsReturned() throws {
        let zip = try AttachmentsZIP(Bytes(HandmadeZIP(entries: base).bytes), name: "server.zip")
        #expect(files(zip) == ["a": [1, 2, 3], "b": [1, 2, 3, 4]])
        #expect(zip.file(of: "a", size: 2) == nil)
        #expect(zip.file(of: "a", size: -1) == nil)
        #expect(zip.file(of: "d", size: 1) == nil)
        #expect(zip.file(of: "a.meta.json", size: 2) == nil)
    }

    /// Entry `a` does not match its header and is treated as missing; entry `b` is unaffected.
    @Test func zipEntryOfWrongSizeIsMissing() throws {
        let changes: [(inout HandmadeZIP.Entry) -> Void] = [
            { $0 = .init("a", [1, 2, 3, 4]) },
            { $0.size = 4 },
            { $0.size = .max },
            { $0.data = [1, 2] },
            { $0.method = 8 },
            { $0.method = 12 },
            { $0.offset = 1 << 30 },
            { $0.offset = 5 },
            // The directory announces three bytes, but the data inflates to two, then to four.
            { entry in (entry.data, entry.method, entry.size) = ([0x4B, 0x4C, 0x04, 0x00], 8, 3) },
            { entry in (entry.data, entry.method, entry.size) = ([0x4B, 0x4C, 0x4A, 0x4E, 0x01, 0x00], 8, 3) },
        ]
        for (index, change) in changes.enumerated() {
            #expect(try read(changed { change(&$0[0]) }) == ["b": [1, 2, 3, 4]], "change \(index)")
        }
    }

    @Test func zipOfLibarchiveIsRead() throws {
        let entries: [LibarchiveZIP.Entry] = [
            .init(name: "a", content: [0x61, 0x62, 0x63], isStored: false),
            .init(name: "a.meta.json", content: Array(#"{"id": "a"}"#.utf8), isStored: false),
            .init(name: "b", content: [0, 0, 0, 0], isStored: true),
        ]
        try LibarchiveZIP.write(entries, to: directory + "/s.zip")
        let zip = try AttachmentsZIP(path: directory + "/s.zip")
        #expect(files(zip) == ["a": [0x61, 0x62, 0x63], "b": [0, 0, 0, 0]])
    }

    @Test(arguments: ["", "../x", "/x", "x/y", "x/", ".hidden", "a.json", "a.meta.json.meta.json", "é", "a b", "..\\x"])
    func foreignNameInAttachmentsZipIsRefused(name: String) {
        #expect(error { $0[3].name = name }?.code == .malformed)
    }

    @Test func duplicateLinkOrDirectoryInZipIsRefused() {
        #expect(error { $0[3].name = "a" }?.code == .malformed)
        #expect(error { $0[3].name = "a.meta.json" }?.code == .malformed)
        #expect(error { $0[3].mode = 0o120777 }?.code == .malformed)
        #expect(error { $0[3].mode = 0o040755 }?.code == .malformed)
        #expect(error { $0[3].flags = 1 }?.code == .malformed)
        #expect(error { _ in } == nil)
    }

    @Test func truncatedZipIsRefused() throws {
        let bytes = HandmadeZIP(entries: base).bytes
        for count in 0..<bytes.count {
            #expect(throws: Failure.self, "\(count) bytes") { try read(Array(bytes[..<count])) }
        }
    }

    @Test func attachmentsZipSizeIsLimited() {
        let bytes = [UInt8](repeating: 0, count: Limits.attachmentsZipBytes + 1)
        #expect { try read(bytes) } throws: { ($0 as? Failure)?.code == .overLimit }
    }

    /// 1.15 MB of small files once expanded to 4 GB.
    @Test func attachmentsZipTotalSizeIsLimited() throws {
        func zip(_ size: Int) -> [UInt8] {
            let entries = (0..<16).map { index in
                var entry = HandmadeZIP.Entry("r\(index)", [UInt8](repeating: 0, count: 40_000))
                (entry.method, entry.size) = (8, size)
                return entry
            }
            return HandmadeZIP(entries: entries).bytes
        }
        let share = Limits.attachmentsZipContentBytes / 16
        _ = try read(zip(share))
        #expect(throws: Failure.self) { try read(zip(share + 1)) }
    }

    @Test func overlappingZipEntriesAreRefused() throws {
        let entries = (0..<100).map { index in
            var entry = HandmadeZIP.Entry("r\(index)", index == 0 ? [UInt8](repeating: 0, count: 50_000) : [])
            if index > 0 {
                (entry.offset, entry.size) = (0, 50_000)
                entry.directoryPackedSize = 50_000
            }
            return entry
        }
        #expect(failure(of: { try read(HandmadeZIP(entries: entries).bytes) })?.code == .malformed)
    }

    @Test func zipBombEntryIsSkipped() throws {
        let entries: [LibarchiveZIP.Entry] = [
            .init(name: "a", content: [UInt8](repeating: 0, count: 80 << 20), isStored: false),
            .init(name: "b", content: Array("four".utf8), isStored: false),
        ]
        try LibarchiveZIP.write(entries, to: directory + "/s.zip")
        let zip = try AttachmentsZIP(path: directory + "/s.zip")
        #expect(files(zip) == ["b": Array("four".utf8)])
        // The entry is missing even if a record claims that size.
        #expect(zip.file(of: "a", size: 80 << 20) == nil)
    }
}
