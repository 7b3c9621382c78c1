import Foundation
import RemoteSettingsModel
import SnapshotBundle
import SnapshotWriter
import Testing

@Suite struct ServerZIPTests {
    private let sizes = ["a": 3, "b": 4]

    private func read(_ bytes: [UInt8], limits: Limits = Limits()) throws -> ([String: [UInt8]], passedOver: [String]) {
        var files: [String: [UInt8]] = [:]
        let zip = try ServerZIP(Bytes(bytes), name: "server.zip", limits: limits)
        let passedOver = try zip.files(ofSize: { sizes[$0] }) { id, bytes in files[id] = bytes.array }
        return (files, passedOver)
    }

    private let base: [HandmadeZIP.Entry] = [
        .init("a", [1, 2, 3]), .init("a.meta.json", [0x7B, 0x7D]), .init("b", [1, 2, 3, 4]), .init("c", [5]),
    ]

    private func error(_ change: (inout [HandmadeZIP.Entry]) -> Void) -> BundleError? {
        var entries = base
        change(&entries)
        do {
            _ = try read(HandmadeZIP(entries: entries).bytes)
            return nil
        } catch {
            return error as? BundleError
        }
    }

    @Test func wantedFilesOfTheRightSizeAreGiven() throws {
        let (files, passedOver) = try read(HandmadeZIP(entries: base).bytes)
        #expect(files == ["a": [1, 2, 3], "b": [1, 2, 3, 4]])
        #expect(passedOver == [])
    }

    @Test func filesOfAnotherSizeArePassedOver() throws {
        var entries = base
        entries[0] = .init("a", [1, 2, 3, 4])
        let (files, passedOver) = try read(HandmadeZIP(entries: entries).bytes)
        #expect(files == ["b": [1, 2, 3, 4]])
        #expect(passedOver == ["a"])
    }

    @Test func zipOfPythonIsRead() throws {
        try TemporaryDirectory.with { directory in
            let script = """
                import zipfile
                with zipfile.ZipFile('s.zip', 'w', zipfile.ZIP_DEFLATED) as z:
                    z.writestr('a', b'abc')
                    z.writestr('a.meta.json', '{"id": "a"}')
                    z.writestr('b', b'\\0' * 4)
                """
            let python = try run("python3", ["-c", script], in: directory)
            try #require(python.status == 0, "\(python.output)")
            var files: [String: [UInt8]] = [:]
            try ServerZIP(path: directory + "/s.zip", limits: Limits()).files(ofSize: { sizes[$0] }) { id, bytes in
                files[id] = bytes.array
            }
            #expect(files == ["a": [0x61, 0x62, 0x63], "b": [0, 0, 0, 0]])
        }
    }

    @Test(arguments: ["../x", "/x", "x/y", "x/", ".hidden", "a.json", "a.meta.json.meta.json", "é", "a b"])
    func foreignNamesAreRefused(name: String) {
        #expect(error { $0[3].name = name } != nil)
    }

    @Test func duplicatesLinksAndDirectoriesAreRefused() {
        #expect(error { $0[3].name = "a" }?.kind == .malformed)
        #expect(error { $0[3].mode = 0o120777 } != nil)
        #expect(error { $0[3].mode = 0o040755 } != nil)
        #expect(error { $0[3].flags = 1 } != nil)
        #expect(error { _ in } == nil)
    }

    @Test func damageIsReported() throws {
        #expect(error { $0[0].crc ^= 1 }?.kind == .damaged)
        let bytes = HandmadeZIP(entries: base).bytes
        for count in 0..<bytes.count {
            _ = try? read(Array(bytes[..<count]))
        }
        #expect(throws: BundleError.self) { try read(Array(bytes.dropLast(30))) }
        #expect(throws: BundleError.self) { try read([]) }
        var limits = Limits()
        limits.attachmentsZipBytes = 10
        #expect(throws: BundleError.self) { try read(bytes, limits: limits) }
    }

    @Test func bombIsPassedOver() throws {
        try TemporaryDirectory.with { directory in
            let script = """
                import zipfile
                with zipfile.ZipFile('s.zip', 'w', zipfile.ZIP_DEFLATED) as z:
                    z.writestr('a', b'\\0' * (256 << 20))
                    z.writestr('b', b'four')
                """
            let python = try run("python3", ["-c", script], in: directory)
            try #require(python.status == 0, "\(python.output)")
            let (files, passedOver) = try read(contents(directory + "/s.zip"))
            #expect(files == ["b": Array("four".utf8)])
            #expect(passedOver == ["a"])
        }
    }
}
