import Dumps
import RemoteSettingsModel
import Testing

struct ConfigurationEditorTests {
    private let text = """
        # Our dumps.
        version: 1
        server: prod  # the real one

        trust:
          roots:
            # the old one
            - "\(String(repeating: "a", count: 64))"

        # Sorted.
        collections:
          # Regions come first.
          main/regions:   # for the map
            # none, they are large
            attachments: none
          main/zones:
        # The end.

        """

    private func editor(_ text: String?) throws(ConfigurationError) -> ConfigurationEditor {
        try ConfigurationEditor(text, file: "dumps.yaml")
    }

    private func read(_ editor: ConfigurationEditor) throws(ConfigurationError) -> DumpsConfiguration {
        try ConfigurationReader.read(editor.text, file: "dumps.yaml")
    }

    @Test func startsAFile() throws {
        var editor = try editor(nil)
        #expect(try editor.add(try CollectionID("main/b"), attachments: "none"))
        #expect(try editor.add(try CollectionID("main/a"), attachments: nil))
        #expect(try !editor.add(try CollectionID("main/a"), attachments: "all"))
        let configuration = try read(editor)
        #expect(configuration.collections.map(\.id.description) == ["main/a", "main/b"])
        #expect(configuration.collections[1].attachments == AttachmentRule(.none))
        #expect(editor.text.hasSuffix("  main/a:\n  main/b:\n    attachments: none\n"))
    }

    @Test func addsInOrderAndKeepsComments() throws {
        var editor = try editor(text)
        #expect(try editor.add(try CollectionID("main/search"), attachments: nil))
        #expect(editor.text == text.replacing("  main/zones:\n", with: "  main/search:\n  main/zones:\n"))
        #expect(try editor.add(try CollectionID("security-state/onecrl"), attachments: "all"))
        #expect(
            editor.text.contains("  main/zones:\n  security-state/onecrl:\n    attachments: all\n# The end.\n"))
    }

    /// As one edit, because thousands of edits would each read all of the file.
    @Test(arguments: [
        "", "  main/b:\n  main/f: # last\n\n", "  main/f:\n    attachments: none\n  main/b:\n# The end.\n",
    ])
    func addsManyAsOneAfterAnother(_ block: String) throws {
        let ids = try ["main/g", "main/c", "main/b", "main/a", "main/c", "other/a"].map { try CollectionID($0) }
        var one = try editor("version: 1\ncollections:\n\(block)")
        var all = one
        let new = Set(try ids.filter { try one.add($0, attachments: "all") })
        #expect(try all.add(ids, attachments: "all") == new)
        #expect(all.text == one.text)
        #expect(try all.add(ids, attachments: "none").isEmpty)
        #expect(all.text == one.text)
    }

    @Test func removesAndKeepsComments() throws {
        var editor = try editor(text)
        #expect(try editor.remove(try CollectionID("main/regions")))
        #expect(
            editor.text
                == text.replacing(
                    "  main/regions:   # for the map\n    # none, they are large\n    attachments: none\n", with: ""))
        #expect(try !editor.remove(try CollectionID("main/regions")))
        #expect(try editor.remove(try CollectionID("main/zones")))
        #expect(try read(editor).collections.isEmpty)
        #expect(try editor.add(try CollectionID("main/again"), attachments: nil))
        #expect(try read(editor).collections.count == 1)
    }

    @Test func setsTheServer() throws {
        var editor = try editor(text)
        try editor.setServer("https://example.org/v1")
        #expect(
            editor.text
                == text.replacing(
                    "server: prod  # the real one", with: "server: https://example.org/v1  # the real one"))
        var bare = try self.editor("version: 1\ncollections:\n  main/a:\n")
        try bare.setServer("stage")
        #expect(try read(bare).server == "stage")
    }

    @Test(arguments: [true, false]) func addsARoot(hasTrust: Bool) throws {
        let root = try #require(SHA256Digest(hex: String(repeating: "b", count: 64)))
        var editor = try editor(hasTrust ? text : "version: 1\n# here\ncollections:\n  main/a:\n")
        try editor.addRoot(root)
        try editor.addRoot(root)
        #expect(try read(editor).trust.roots.count == (hasTrust ? 2 : 1))
        #expect(try read(editor).trust.roots.last == root)
        #expect(editor.text.contains(hasTrust ? "# the old one" : "# here\ncollections:"))
    }

    @Test(arguments: ["version: 1\ncollections: {main/a: }\n", "version: 1\ncollections: { main/a: , main/c: }\n"])
    func refusesWhatItCannotKeep(_ text: String) throws {
        var editor = try editor(text)
        #expect(throws: ConfigurationError.self) { try editor.add(try CollectionID("main/b"), attachments: nil) }
        #expect(throws: ConfigurationError.self) { try editor.remove(try CollectionID("main/a")) }
        #expect(editor.text == text)
    }

    @Test func keepsAByteOrderMark() throws {
        var editor = try ConfigurationEditor("\u{FEFF}version: 1\ncollections:\n  main/b:\n", file: "dumps.yaml")
        #expect(try editor.add(CollectionID("main/a"), attachments: nil))
        #expect(try editor.add(CollectionID("main/c"), attachments: nil))
        #expect(editor.text == "\u{FEFF}version: 1\ncollections:\n  main/a:\n  main/b:\n  main/c:\n")
    }

    @Test func namesWhatDiffersInCaseOnly() throws {
        var editor = try ConfigurationEditor("version: 1\ncollections:\n  main/regions:\n", file: "dumps.yaml")
        do {
            _ = try editor.add([CollectionID("main/search"), CollectionID("main/Regions")], attachments: nil)
            Issue.record("it was added")
        } catch let error as ConfigurationError {
            #expect(error.problem.hasPrefix("main/Regions and main/regions would share one bundle file"))
        }
        #expect(try editor.add(CollectionID("main/search"), attachments: nil))
    }

    @Test func keepsWindowsLineEnds() throws {
        var editor = try editor("version: 1\r\ncollections:\r\n  main/a:\r\n")
        #expect(try editor.add(try CollectionID("main/b"), attachments: nil))
        #expect(try read(editor).collections.count == 2)
        try editor.setServer("stage")
        try editor.setServer("dev")
        let lines = editor.text.unicodeScalars.split(separator: "\n")
        #expect(lines.count == 5 && lines.allSatisfy { $0.last == "\r" }, "\(editor.text.debugDescription)")
    }
}
