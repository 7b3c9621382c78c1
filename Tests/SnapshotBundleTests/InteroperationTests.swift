import Foundation
import RemoteSettingsModel
import SnapshotBundle
import SnapshotWriter
import Testing

/// A bundle is a plain ZIP: other programs open it, and a bundle that another program wrote is one.
@Suite struct InteroperationTests {
    /// 65,531 attachments are 65,535 entries, the most that a ZIP without ZIP64 records can count.
    @Test(arguments: [0, 40, 65_531, 65_532])
    func otherProgramsOpenBundles(count: Int) throws {
        try TemporaryDirectory.with { directory in
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
    }

    @Test func bundleWrittenByPythonIsRead() throws {
        let fixture = Fixture.records(20)
        try TemporaryDirectory.with { directory in
            let written = try fixture.writer().write(toNewFile: directory + "/b.zip")
            let script = """
                import zipfile
                source = zipfile.ZipFile('b.zip')
                with zipfile.ZipFile('p.zip', 'w') as target:
                    for number, name in enumerate(source.namelist()):
                        info = zipfile.ZipInfo(name)
                        info.create_system = 3
                        info.external_attr = 0o100644 << 16
                        method = zipfile.ZIP_DEFLATED if number % 2 else zipfile.ZIP_STORED
                        target.writestr(info, source.read(name), method)
                """
            let python = try run("python3", ["-c", script], in: directory)
            try #require(python.status == 0, "\(python.output)")
            let reader = try BundleReader(path: directory + "/p.zip")
            #expect(try reader.verifyContents() == written.manifest)
            #expect(try reader.payload().text == fixture.payload)
        }
    }
}
