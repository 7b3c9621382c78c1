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

@Suite struct SourceDirectoryTests {
    /// Reads sources of `files`, by their paths.
    private func read(_ files: [String: String]) throws -> [CollectionSource] {
        let root = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/sources")
        defer { try? FileStore.removeTree(root) }
        for (path, text) in files {
            try FileStore.makeDirectories(FileStore.parent(of: "\(root)/\(path)"))
            try FileStore.replace("\(root)/\(path)", with: Bytes(utf8: text))
        }
        do {
            return try SourceDirectory(root).read()
        } catch let error as Failure {
            throw Failure(
                problems: error.problems.map {
                    Failure(
                        place: String($0.place.dropFirst(root.utf8.count + 1)), line: $0.line, problem: $0.problem,
                        remedy: $0.remedy)
                })
        }
    }

    private func problems(_ files: [String: String]) throws -> [Failure] {
        do {
            _ = try read(files)
        } catch let error as Failure {
            return error.problems
        }
        return []
    }

    private func texts(_ source: CollectionSource) -> [String] { source.records.map { "{\($0.members.text)}" } }

    @Test func yamlAndJSONSayTheSame() throws {
        let yaml = """
            records:
              - id: b
                text: 'Grüße'
                list: [1, -2.5, true, null, ~, "1"]
                empty:
              - {id: a, on: {deep: [{x: 2026-01-01}]}}
            """
        let json = """
            {"records": [
              {"id": "b", "text": "Grüße", "list": [1, -2.5, true, null, null, "1"], "empty": null},
              {"id": "a", "on": {"deep": [{"x": "2026-01-01"}]}}
            ]}
            """
        let both = try read(["main/y.yaml": yaml, "main/z.json": json])
        #expect(texts(both[0]) == texts(both[1]))
        #expect(texts(both[0])[0] == #"{"id":"a","on":{"deep":[{"x":"2026-01-01"}]}}"#)
    }

    @Test func sourceQuestionMarksAreNoYAMLKeys() throws {
        let records = (0..<20).map {
            "  - {id: r\($0), text: Passé ? Présent ?}\n  - id: s\($0)\n    text: Où ? Là - où ?\n"
        }
        let found = try read(["main/c.yaml": "records:\n" + records.joined()])
        #expect(found[0].records.count == 40)
        #expect(texts(found[0]).last == #"{"id":"s9","text":"Où ? Là - où ?"}"#)
    }

    @Test func collectionIsAFileOrADirectory() throws {
        let found = try read([
            "main/one.yml": "records: {x: {v: 1}, y: {v: 2}}",
            "main/two/collection.yaml": "metadata: {flags: [startup]}\nid-from: name",
            "main/two/first.yaml": "name: first",
            "main/two/more.json": #"[{"name":"second"},{"name":"third part"}]"#,
            "other/three.json": #"[{"id":"a"}]"#, "README.md": "not a source",
            "main/two/notes.txt": "neither",
        ])
        #expect(found.map { "\($0.id)" } == ["main/one", "main/two", "other/three"])
        #expect(found[0].records.map(\.id) == ["x", "y"])
        #expect(found[1].records.count == 3)
        #expect(found[1].records.map(\.id).contains { $0.hasPrefix("third-part-") })
        #expect(found[1].metadata.map(\.key) == ["flags"])
    }

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

    @Test func sourcesWithoutCollectionsListUnusedFiles() throws {
        #expect(
            try problems(["main/prompts/chat/v1/model.json": "{}", "app-config.yaml": "{}"]).map(\.place)
                == ["app-config.yaml", "main/prompts/chat/v1/model.json"])
        #expect(try problems(["main/.keep": ""]).map(\.problem) == ["there are no collections in this directory"])
    }

    @Test(arguments: ["Collection.yaml", "COLLECTION.json"])
    func collectionFileNameInOtherCaseIsRefused(_ name: String) throws {
        let found = try problems(["main/two/\(name)": #"{"metadata": {}}"#])
        #expect(found.count == 1 && found[0].remedy!.contains("rename it to collection.yaml"), "\(found)")
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

    @Test(arguments: [
        ("../x", "is not inside"), ("/etc/passwd", "is not inside"), ("a/./b", "is not inside"), ("", "is not inside"),
        // Swift sees one character in the slash and the mark behind it.
        ("../\u{301}x", "is not inside"), ("/\u{301}x", "is not inside"),
        ("a\\\\b", "is not inside"), ("missing.svg", "there is no regular file at "),
        ("nowhere/x", "there is no directory "),
    ])
    func attachmentsOutsideOrMissingAreRefused(_ path: String, _ words: String) throws {
        let found = try problems(["main/c.json": #"[{"id":"a",\#n "attachment":"\#(path)"}]"#])
        #expect(found.count == 1 && found[0].line == 2 && found[0].problem.contains(words), "\(found)")
    }

    @Test func linksAreNotFollowed() throws {
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

    @Test func sourceErrorsNameTheLine() throws {
        let text = """
            unknown: 1
            metadata: {signature: x}
            records:
              - {id: a}
              - {id: a}
              - {id: "-x"}
              - {v: 1}
              - {id: 5}
              - {id: b, last_modified: 1}
              - {id: c, deleted: true}
              - {id: d, filter_expression: "env.x =="}
              - {id: e, filter_expression: 5}
              - text
            """
        let found = try problems(["main/c.yaml": text])
        #expect(found.map(\.line) == [1, 2, 5, 6, 7, 8, 9, 10, 11, 12, 13])
        #expect(found.allSatisfy { $0.place == "main/c.yaml" && !$0.remedy!.isEmpty })
    }

    @Test(arguments: [
        "a: &x [1]\nrecords: [*x]", "records: [{id: a, v: NO}]", "records: [{id: a, v: 0x1F}]",
        "records: [{id: a, v: 1_000}]", "records: [{id: a, v: .5}]", "records: [{id: a, v: 012}]",
        "records: [{id: a, v: 12:30}]", "records: [{id: a, v: +1}]", "records: [{id: a, v: True}]",
        "records: [{id: a, v: !!binary aGk=}]", "records: [{id: a, v: 1, v: 2}]", "records: [", "", "- - -",
        "records: [{id: a, [1]: 2}]",
    ])
    func ambiguousYAMLIsRefused(_ text: String) throws {
        #expect(try !problems(["main/c.yaml": text]).isEmpty)
    }

    @Test(arguments: ["null,,null", ",null", "true,,true", "1,,1", "{\"a\":,null}", "null null", "null,"])
    func sourceJSONIsReadStrictly(_ elements: String) throws {
        let found = try problems(["main/c.json": "{\"records\":\n[{\"id\":\"a\",\n\"x\":[\(elements)]}]}"])
        #expect(found.map(\.line) == [3])
    }

    /// The server's canonical form has no such numbers, so that no signature could cover them.
    @Test(arguments: ["-4294967298e308", "1e309", "18446744073709551616", "-9223372036854775809"])
    func numbersBeyondTheirRangeAreRefused(_ number: String) throws {
        for (file, text) in [
            ("main/c.yaml", "records:\n- id: a\n  v: [\(number)]"), ("main/c.yaml", "metadata:\n\n  v: \(number)"),
            ("main/c.json", "{\"records\":\n{\"a\":\n{\"v\":\(number)}}}"),
            ("main/c.yaml", "parameters:\n  a: 1\n  v: \(number)"),
            ("main/c.yaml", "parameters: {a: 1}\nrecords:\n- {id: b, v: \(number)}"),
        ] {
            let found = try problems([file: text])
            #expect(found.map(\.line) == [3] && found[0].problem.contains("\(number) is out of range"))
        }
    }

    @Test(arguments: ["1.2.3", "12e", "v1", "2026-01-01", "1-2", "10.0.0.1", "noon", "0xyz", "e5", "-", "."])
    func numberLikeYAMLTextsStayTexts(_ text: String) throws {
        let found = try read(["main/c.yaml": "records: {a: {v: \(text)}}"])
        #expect(texts(found[0]) == [#"{"id":"a","v":"\#(text)"}"#])
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
            #expect(try !problems(["main/c.yaml": text]).isEmpty)
        }
        #expect(try !problems(["main/c.json": deep]).isEmpty)
    }

    @Test func duplicateCollectionSourceIsRefused() throws {
        #expect(try problems(["main/c.yaml": "records:", "main/c.json": "[]"]).count == 1)
        #expect(try problems(["main/c.yaml": "records:", "main/c/collection.yaml": "records:"]).count == 1)
        #if !canImport(Darwin)
        // Elsewhere there may be two such files, and the bundles of both are checked out on a Mac as well.
        #expect(try problems(["main/c.yaml": "records:", "Main/C.json": "[]"]).count == 1)
        #endif
        #expect(try problems(["main/bad name.yaml": "records:"]).count == 1)
    }
}
