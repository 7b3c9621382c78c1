import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

@Suite struct HostileBundleTests {
    /// Returns the error from opening or verifying a bundle.
    private func refusal(_ bytes: [UInt8]) -> Failure? {
        let error = failure(of: { try BundleReader(bytes: Bytes(bytes), name: "hostile.zip").verifyContents() })
        #expect(error?.description.hasPrefix("hostile.zip") != false)
        return error
    }

    /// Returns the error from opening a bundle.
    private func openingRefusal(_ bytes: [UInt8]) -> Failure? {
        failure(of: { try BundleReader(bytes: Bytes(bytes), name: "hostile.zip") })
    }

    private func refusal(_ count: Int = 3, _ change: (inout HandmadeZIP) throws -> Void) throws -> Failure? {
        var zip = try HandmadeZIP(Fixture.records(count))
        try change(&zip)
        return refusal(zip.bytes)
    }

    @Test func handmadeBundleIsAccepted() throws {
        #expect(try refusal { _ in } == nil)
        #expect(try refusal { $0.isZIP64 = true } == nil)
        #expect(
            try refusal { zip in for index in zip.entries.indices { zip.entries[index].hasDescriptor = true } } == nil)
        #expect(try refusal { zip in for index in zip.entries.indices { zip.entries[index].isZIP64 = true } } == nil)
        #expect(try refusal { zip in for index in zip.entries.indices { zip.entries[index].flags = 1 << 11 } } == nil)
    }

    @Test(arguments: [
        "../x", "/etc/passwd", "a/../../b", "attachments/", "attachments/../manifest.json", "évil", "MANIFEST.JSON",
        "attachments/ABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCDEFABCD",
        "attachments/zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz", "", "extra.txt", "a\u{0}b",
    ])
    func foreignEntryNameIsRefused(name: String) throws {
        for index in [0, 1, 2, 3, 4, 6] {
            let error = try #require(try refusal { $0.entries[index].name = name })
            #expect(error.code == .malformed)
        }
        let appended = try #require(try refusal { $0.entries.append(.init(name, [])) })
        #expect(appended.code == .malformed)
    }

    @Test func duplicateOrReorderedEntryIsRefused() throws {
        for index in 0..<7 {
            #expect(try refusal { $0.entries.insert($0.entries[index], at: index) }?.code == .malformed)
        }
        for index in 0..<6 {
            #expect(try refusal { $0.entries.swapAt(index, index + 1) }?.code == .malformed)
        }
    }

    @Test func missingAndExtraEntriesAreRefused() throws {
        for index in 0..<7 {
            #expect(try refusal { $0.entries.remove(at: index) } != nil)
        }
        let hex = String(repeating: "f", count: 64)
        let extra = try #require(try refusal { $0.entries.append(.init("attachments/\(hex)", [1])) })
        #expect(extra.code == .damaged)
        #expect(try refusal { $0.entries.removeAll() } != nil)
        #expect(refusal(HandmadeZIP(entries: []).bytes)?.code == .malformed)
    }

    @Test(arguments: [
        (0o120777, 3), (0o040755, 3), (0o010644, 3), (0o060644, 3), (0o020644, 3), (0o140644, 3), (0, 3), (0o100644, 0),
    ])
    func nonRegularFileIsRefused(mode: Int, host: Int) throws {
        let error = try refusal { zip in
            zip.entries[4].mode = UInt16(mode)
            zip.entries[4].host = UInt8(host)
        }
        #expect(error?.code == .malformed)
        #expect(error?.entry?.hasPrefix("attachments/") == true)
    }

    @Test(arguments: [1, 1 << 5, 1 << 6, 1 << 13])
    func encryptedAndPatchedEntriesAreRefused(flags: Int) throws {
        #expect(try refusal { $0.entries[4].flags = UInt16(flags) }?.code == .malformed)
    }

    @Test(arguments: [1, 9, 12, 14, 93, 99])
    func otherCompressionMethodIsRefused(method: Int) throws {
        #expect(try refusal { $0.entries[1].method = UInt16(method) }?.code == .malformed)
    }

    @Test func commentsTrailingBytesAndGapsAreRefused() throws {
        #expect(try refusal { $0.comment = [0x61] }?.code == .malformed)
        #expect(try refusal { $0.trailing = [0] }?.code == .malformed)
        #expect(try refusal { $0.entries[2].comment = [0x61] }?.code == .malformed)
        #expect(try refusal { $0.entries[2].gap = [0x61] }?.code == .malformed)
        #expect(try refusal { $0.entries[6].gap = [0x61] }?.code == .malformed)
        #expect(try refusal { $0.count = 6 }?.code == .malformed)
        #expect(try refusal { $0.count = 8 }?.code == .malformed)
        let bundle = try Fixture.records(1).bundle()
        #expect(refusal([0x4D, 0x5A] + bundle)?.code == .malformed)
        #expect(refusal(bundle + bundle) != nil)
    }

    @Test func localHeaderMustAgree() throws {
        #expect(try refusal { $0.entries[1].localName = "recordz.json" }?.entry == "records.json")
        #expect(try refusal { $0.entries[4].localName = "../x" }?.code == .malformed)
        #expect(try refusal { $0.entries[1].localMethod = 8 }?.code == .malformed)
        #expect(try refusal { $0.entries[1].localSize = 7 }?.code == .malformed)
    }

    /// Extra fields and versions that make `unzip` use a different name or skip the entry.
    @Test func onlyKnownExtraFieldsAndVersionsAreAccepted() throws {
        // Info-ZIP's Unicode path (0x7075): version 1, a checksum of the name, and the replacement name.
        let path: [UInt8] = [0x75, 0x70, 9, 0, 1, 0, 0, 0, 0, 0x65, 0x76, 0x69, 0x6C]
        let times: [UInt8] = [0x55, 0x54, 1, 0, 0]
        let truncated: [UInt8] = [0x55, 0x54, 2, 0, 0]
        let unneeded: [UInt8] = [1, 0, 8, 0, 1, 0, 0, 0, 0, 0, 0, 0]
        for wrong in [
            path, times + path, truncated, times + times, [0x55], [0x55, 0x54, 0, 0, 0], unneeded + unneeded,
        ] {
            #expect(try refusal { $0.entries[1].extra = wrong }?.code == .malformed)
            #expect(try refusal { $0.entries[1].localExtra = wrong }?.code == .malformed)
            #expect(try refusal { $0.entries[4].localExtra = wrong }?.code == .malformed)
        }
        for version in [46, 51, 63, 0x8014] as [UInt16] {
            #expect(try refusal { $0.entries[1].version = version }?.code == .malformed)
            #expect(try refusal { $0.entries[1].localVersion = version }?.code == .malformed)
        }
        let accepted = try refusal { zip in
            for index in zip.entries.indices {
                (zip.entries[index].extra, zip.entries[index].localExtra) = (times, times)
                (zip.entries[index].version, zip.entries[index].localVersion) = (45, 10)
            }
        }
        #expect(accepted == nil)
    }

    @Test func overlappingAndStrayDataIsRefused() throws {
        #expect(try refusal { $0.entries[2].offset = 0 }?.code == .malformed)
        #expect(try refusal { $0.entries[5].offset = 1 << 30 }?.code == .malformed)
        #expect(try refusal { $0.entries[0].offset = 1 }?.code == .malformed)
        let shared = try refusal { zip in
            zip.entries[6].offset = 2000
            zip.entries[6].isZIP64 = true
        }
        #expect(shared?.code == .malformed)
        let far = try refusal { zip in
            zip.entries[6].offset = Int.max
            zip.entries[6].isZIP64 = true
        }
        #expect(far?.code == .malformed)
    }

    @Test func damagedBundleEntryIsNamed() throws {
        for index in 1..<7 {
            let name = try HandmadeZIP(Fixture.records(3)).entries[index].name
            #expect(try refusal { $0.entries[index].crc ^= 1 }?.entry == name)
            let other = try #require(
                try refusal { zip in
                    var data = zip.entries[index].data
                    data[data.count / 2] ^= 1
                    zip.entries[index] = .init(name, data)
                })
            #expect((other.code, other.entry) == (.damaged, name))
            let longer = try refusal { $0.entries[index] = .init(name, $0.entries[index].data + [0]) }
            #expect(longer?.entry == name)
            #expect(try refusal { $0.entries[index].size += 1 }?.entry == name)
        }
    }

    /// Attachments of these sizes are read concurrently.
    @Test func firstDamagedBundleEntryIsNamed() throws {
        var random = SplitMix(state: 7)
        var fixture = Fixture()
        for index in 0..<8 {
            let bytes = (0..<64 << 10).map { _ in UInt8.random(in: 0...255, using: &random) }
            fixture.records.append(("r\(index)", (bytes, "main-workspace/fixture/\(index).bin")))
        }
        var bundle = try fixture.bundle(.storedRecords)
        #expect(refusal(bundle) == nil)
        let sorted = fixture.records.compactMap(\.attachment?.bytes).sorted { digest($0) < digest($1) }
        func damage(_ contents: some Sequence<UInt8>) throws {
            let start = try #require(bundle.firstRange(of: Array(contents.prefix(16)))).lowerBound
            bundle[start] ^= 1
        }
        for attachment in [sorted[6], sorted[2], sorted[3]] { try damage(attachment) }
        #expect(refusal(bundle)?.entry == "attachments/\(digest(sorted[2]))")
        try damage(fixture.payload.utf8)
        #expect(refusal(bundle)?.entry == "records.json")
    }

    @Test func wrongDeflatedSizeIsRefused() throws {
        let fixture = Fixture.records(3)
        let reader = try BundleReader(bytes: Bytes(fixture.bundle()), name: "b")
        let plain = try reader.payloadText().array
        let packed = try deflated(plain)
        func refusal(_ change: (inout HandmadeZIP.Entry) -> Void) throws -> Failure? {
            try self.refusal { zip in
                zip.entries[1].data = packed
                zip.entries[1].method = 8
                change(&zip.entries[1])
            }
        }
        #expect(try refusal { _ in } == nil)
        #expect(try refusal { $0.size -= 1 }?.code == .damaged)
        #expect(try refusal { $0.size += 1 }?.code == .damaged)
        #expect(try refusal { $0.data.append(0) }?.code == .damaged)
        #expect(try refusal { $0.data.removeLast() }?.code == .damaged)
        #expect(try refusal { $0.data[0] = 7 }?.code == .damaged)

        for change in [-1, 1, 1000] {
            var zip = try HandmadeZIP(fixture)
            zip.entries[1].data = packed
            zip.entries[1].method = 8
            zip.entries[1].size += change
            let opened = try BundleReader(bytes: Bytes(zip.bytes), name: "b")
            #expect(throws: Failure.self) { try opened.payloadText() }
        }
    }

    @Test func zipBombInBundleIsRefused() throws {
        var zip = try HandmadeZIP(Fixture.records(1))
        zip.entries[1].method = 8
        zip.entries[1].data = try deflated([UInt8](repeating: 0, count: 10 << 20))
        zip.entries[1].size = 10 << 30
        zip.entries[1].isZIP64 = true
        #expect(openingRefusal(zip.bytes)?.code == .overLimit)
        // The declared size is smaller than the content; no more than the declared size is ever allocated.
        zip.entries[1].size = 1 << 20
        zip.entries[1].isZIP64 = false
        let opened = try BundleReader(bytes: Bytes(zip.bytes), name: "b")
        #expect(throws: Failure.self) { try opened.payloadText() }
    }

    @Test func bundleEntryLimits() throws {
        let limits = [(1, Limits.changesetBytes), (2, Limits.metadataBytes), (3, Limits.chainBytes)]
        for (position, limit) in limits {
            var zip = try HandmadeZIP(Fixture.records(3))
            (zip.entries[position].method, zip.entries[position].size) = (8, limit + 1)
            let refusal = openingRefusal(zip.bytes)
            #expect(refusal?.code == .overLimit && refusal?.entry == zip.entries[position].name)
        }
    }

    @Test func truncatedBundleIsRefused() throws {
        for fixture in [Fixture.records(0), Fixture.records(3)] {
            let bytes = try fixture.bundle()
            for count in 0..<bytes.count {
                #expect(openingRefusal(Array(bytes[..<count])) != nil, "truncated to \(count) bytes")
            }
        }
    }

    /// Flips bits in every byte of a small bundle: nothing crashes, and a bundle that is still accepted has the same
    /// content.
    @Test(arguments: [BundleWriter.Compression.deflate, .storedRecords, .stored])
    func flippedBytesAreCaughtOrHarmless(storage: BundleWriter.Compression) throws {
        let fixture = Fixture.records(4)
        let bytes = try fixture.bundle(storage)
        let manifest = try BundleReader(bytes: Bytes(bytes), name: "b").verifyContents()
        var random = SplitMix(state: 7)
        var refused = 0
        for offset in bytes.indices {
            var flipped = bytes
            flipped[offset] ^= UInt8.random(in: 1...255, using: &random)
            do {
                let reader = try BundleReader(bytes: Bytes(flipped), name: "b")
                #expect(try reader.verifyContents() == manifest)
                #expect(try reader.payloadText().text == fixture.payload)
                #expect(try reader.metadataText().text == fixture.metadata)
                #expect(try reader.chain()?.text == fixture.chain)
            } catch {
                refused += 1
            }
        }
        #expect(refused > bytes.count / 2)
    }

    private func deflated(_ bytes: [UInt8]) throws -> [UInt8] {
        try #require(Deflater(level: 9)?.smaller(Bytes(bytes)))
    }
}
