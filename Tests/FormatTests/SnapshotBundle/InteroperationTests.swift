import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// A bundle is a plain ZIP file: other programs can read it, and bundles written by other programs are accepted.
final class InteroperationTests: DirectorySuite {
    /// 65,531 attachments make 65,535 entries, the maximum for a ZIP file without ZIP64 records.
    @Test(.external, arguments: [0, 40, 65_531, 65_532])
    func otherProgramsOpenBundles(count: Int) throws {
        let fixture = Fixture.records(count)
        let written = try fixture.writer().write(toNewFile: directory + "/b.zip")
        let script = """
            import hashlib, json, zipfile
            z = zipfile.ZipFile('b.zip')
            assert z.testzip() is None
            text = z.read('manifest.json')
            manifest = json.loads(text)
            assert len(z.namelist()) == 4 + manifest['attachments']
            for entry in manifest['entries']:
                data = z.read(entry['name'])
                assert (len(data), hashlib.sha256(data).hexdigest()) == (entry['size'], entry['sha256'])
            for file in manifest['files']:
                data = z.read('attachments/' + file['sha256'])
                assert (len(data), hashlib.sha256(data).hexdigest()) == (file['size'], file['sha256'])
            json.loads(z.read('records.json'))
            print(hashlib.sha256(text).hexdigest())
            """
        let python = try run("python3", ["-c", script], in: directory)
        #expect(python.status == 0)
        #expect(python.output == "\(written.content)\n")
        let unzip = try run("unzip", ["-tq", "b.zip"], in: directory)
        #expect(unzip.status == 0, "\(unzip.output)")
        let bsdtar = try run("bsdtar", ["-tf", "b.zip"], in: directory)
        #expect(bsdtar.status == 0)
        #expect(bsdtar.output.split(separator: "\n").count == 4 + count)
    }

    /// Includes large entries, which are compressed piece by piece.
    @Test(arguments: [0, 40, 2_000])
    func libarchiveWritesTheSameBytes(count: Int) throws {
        var fixture = Fixture.records(count)
        if count == 40 {
            var random = SplitMix(state: 5)
            let noise = (0..<100_000).map { _ in UInt8.random(in: 0...255, using: &random) }
            let digits = (0..<5 << 20).map { _ in UInt8.random(in: 48...63, using: &random) }
            for (id, bytes) in [("x", noise), ("y", digits), ("z", Array(digits.prefix(300_000)) + noise)] {
                fixture.records.append((id, (bytes, "main-workspace/fixture/\(id)")))
            }
            fixture.records.append(("zz", ([], "main-workspace/fixture/zz")))
        }
        // Use stored records, because deflate would compress many records in blocks.
        _ = try fixture.writer(count > 40 ? .storedRecords : .deflate).write(toNewFile: directory + "/b.zip")
        let reader = try BundleReader(path: directory + "/b.zip")
        var entries: [LibarchiveZIP.Entry] = [
            .init(name: "manifest.json", content: try reader.manifestText().array, isStored: true),
            .init(name: "records.json", content: Array(fixture.payload.utf8), isStored: false),
            .init(name: "metadata.json", content: Array(fixture.metadata.utf8), isStored: false),
            .init(name: "chain.pem", content: Array(fixture.chain.utf8), isStored: false),
        ]
        for hash in reader.attachments {
            let content = try #require(try reader.attachment(hash)).array
            entries.append(.init(name: "attachments/\(hash)", content: content, isStored: false))
        }
        let bundle = try contents(directory + "/b.zip")
        let methods = methods(bundle)
        try #require(methods.count == entries.count)
        for index in entries.indices { entries[index].isStored = methods[index] == 0 }
        #expect(count == 0 || Set(methods) == [0, 8])
        try LibarchiveZIP.write(entries, to: directory + "/l.zip")
        #expect(try contents(directory + "/l.zip") == bundle)
    }

    /// The compression methods in the directory of a ZIP file of less than 4 GiB.
    private func methods(_ file: [UInt8]) -> [Int] {
        func number(_ offset: Int, _ count: Int) -> Int {
            file[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
        }
        var methods: [Int] = []
        var offset = number(file.count - 6, 4)
        while number(offset, 4) == 0x0201_4B50 {
            methods.append(number(offset + 10, 2))
            offset += 46 + number(offset + 28, 2) + number(offset + 30, 2) + number(offset + 32, 2)
        }
        return methods
    }
}
