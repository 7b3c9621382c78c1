import Dumps
import Publish
import RemoteSettingsModel
import SnapshotBundle
import Testing

#if canImport(Darwin)
import Darwin
#elseif canImport(Glibc)
import Glibc
#endif

/// See commands/source-layouts.txt for tests of source layouts, and source-errors.txt for tests of errors.
@Suite struct SourceDirectoryTests {
    /// Writes `files`, given by path, and reads them as sources.
    private func read(_ files: [String: String]) throws -> [CollectionSource] {
        let root = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/sources")
        defer { try? FileStore.removeTree(root) }
        for (path, text) in files {
            try FileStore.makeDirectories(FileStore.parent(of: "\(root)/\(path)"))
            try FileStore.replace("\(root)/\(path)", with: Bytes(utf8: text))
        }
        return try SourceDirectory(root).read()
    }

    private func texts(_ source: CollectionSource) -> [String] { source.records.map { "{\($0.members.text)}" } }

    @Test func everyFileIsUsedOrListed() throws {
        let used = [
            "main/one.yaml": #"[{"id":"a","attachment":"files/x.svg"}]"#, "main/files/x.svg": "<svg/>",
            "main/two/collection.yaml": "metadata: {}", "main/two/r.json": "{\"attachment\":\"data/y\"}",
            "main/two/data/y": "y",
        ]
        let unused = [
            "app-config.yaml", "README.md", "main/prompts/chat/v1/model.json", "main/three.JSON", "main/four.jsonc",
            "main/files/z.svg", "main/two/notes.txt", "main/two/data/z.json",
        ]
        let root = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/sources")
        defer { try? FileStore.removeTree(root) }
        let hidden = [".git/config", "main/.DS_Store", "main/two/.keep"]
        for path in Array(used.keys) + unused + hidden {
            try FileStore.makeDirectories(FileStore.parent(of: "\(root)/\(path)"))
            try FileStore.replace("\(root)/\(path)", with: Bytes(utf8: used[path] ?? "{}"))
        }
        try link("\(root)/main/two/link", to: "data/y")
        let directory = SourceDirectory(root)
        let sources = try directory.read()
        #expect(sources.map { "\($0.id)" } == ["main/one", "main/two"])
        #expect(
            try directory.unused(by: sources).map(\.place).sorted()
                == (unused + ["main/two/link"]).map { "\(root)/\($0)" }.sorted())
        let two = [try CollectionID("main/two")]
        #expect(
            try directory.unused(by: directory.read(two), names: two).map(\.place).sorted()
                == ["data/z.json", "link", "notes.txt"].map { "\(root)/main/two/\($0)" })
    }

    @Test func sourceAttachmentMetadata() throws {
        let found = try read([
            "main/icons/files/a.svg": "<svg/>", "main/icons/a.yaml": "attachment: files/a.svg",
            "main/icons/b.yaml": "attachment: {file: files/a.svg, filename: b.svg, mimetype: text/x}",
            "main/icons/c.yaml": "attachment: null",
        ])
        let text = texts(found[0])[0]
        #expect(text.contains(#""filename":"a.svg""#) && text.contains(#""mimetype":"image/svg+xml","size":6"#))
        #expect(found[0].attachments.count == 1)
        #expect(texts(found[0])[1].contains(#""filename":"b.svg""#))
        #expect(texts(found[0])[2] == #"{"id":"c","attachment":null}"#)
    }

    @Test func sourceLinksAreNotFollowed() throws {
        let root = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/sources")
        defer { try? FileStore.removeTree(root) }
        try FileStore.makeDirectories("\(root)/main/c")
        try FileStore.replace("\(root)/main/c/r.yaml", with: Bytes(utf8: "attachment: other/x"))
        try FileStore.makeDirectories("\(root)/.elsewhere")
        try FileStore.replace("\(root)/.elsewhere/x", with: Bytes(utf8: "secret"))
        try link("\(root)/main/c/other", to: "\(root)/.elsewhere")
        #expect(throws: Failure.self) { try SourceDirectory(root).read() }
        try link("\(root)/main/d.yaml", to: "\(root)/.elsewhere/x")
        #expect(throws: Failure.self) { try SourceDirectory(root).collections() }
    }

    private func link(_ path: String, to target: String) throws {
        guard unsafe symlink(target, path) == 0 else { throw Failure("link", path) }
    }

    @Test func sourceYAMLBombAndDepthAreRefused() throws {
        var bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n"
        for (name, previous) in zip("bcdefghijk", "abcdefghij") {
            let alias = "*\(previous)"
            bomb += "\(name): &\(name) [\(Array(repeating: alias, count: 9).joined(separator: ","))]\n"
        }
        let deep = String(repeating: "[", count: 900) + String(repeating: "]", count: 900)
        let block = (0..<900).map { String(repeating: " ", count: $0 + 4) + "-" }.joined(separator: "\n")
        for text in [bomb + "? *k\n: 1\n", "records: [{id: a, v: \(deep)}]", "records:\n- id: a\n  v:\n\(block)"] {
            #expect(throws: Failure.self) { try read(["main/c.yaml": text]) }
        }
        #expect(throws: Failure.self) { try read(["main/c.json": deep]) }
    }
}
