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
          # Markets come first.
          main/markets:   # for the map
            # none, they are large
            attachments: none
          main/zones:
        # The end.

        """

    private func editor(_ text: String?) throws(Failure) -> ConfigurationEditor {
        try ConfigurationEditor(text, file: "dumps.yaml")
    }

    private func read(_ editor: ConfigurationEditor) throws(Failure) -> DumpsConfiguration {
        try ConfigurationReader.read(editor.text, file: "dumps.yaml")
    }

    @Test func editorStartsAFile() throws {
        var editor = try editor(nil)
        #expect(try editor.add(try CollectionID("main/b"), attachments: "none"))
        #expect(try editor.add(try CollectionID("main/a"), attachments: nil))
        #expect(try !editor.add(try CollectionID("main/a"), attachments: "all"))
        let configuration = try read(editor)
        #expect(configuration.collections.map(\.id.description) == ["main/a", "main/b"])
        #expect(configuration.collections[1].attachments == AttachmentRule(.none))
        #expect(editor.text.hasSuffix("  main/a:\n  main/b:\n    attachments: none\n"))
    }

    @Test func editorAddsInOrderAndKeepsComments() throws {
        var editor = try editor(text)
        #expect(try editor.add(try CollectionID("main/search"), attachments: nil))
        #expect(editor.text == text.replacing("  main/zones:\n", with: "  main/search:\n  main/zones:\n"))
        #expect(try editor.add(try CollectionID("security-state/onecrl"), attachments: "all"))
        #expect(editor.text.contains("  main/zones:\n  security-state/onecrl:\n    attachments: all\n# The end.\n"))
    }

    /// The collections are added in a single edit, because each of thousands of edits would read the whole file.
    @Test(arguments: [
        "", "  main/b:\n  main/f: # last\n\n", "  main/f:\n    attachments: none\n  main/b:\n# The end.\n",
    ])
    func editorAddsManyAsOneAfterAnother(_ block: String) throws {
        let ids = try ["main/g", "main/c", "main/b", "main/a", "main/c", "other/a"].map { try CollectionID($0) }
        var one = try editor("version: 1\ncollections:\n\(block)")
        var all = one
        let new = Set(try ids.filter { try one.add($0, attachments: "all") })
        #expect(try all.add(ids, attachments: "all") == new)
        #expect(all.text == one.text)
        #expect(try all.add(ids, attachments: "none").isEmpty)
        #expect(all.text == one.text)
    }

    @Test func editorRemovesAndKeepsComments() throws {
        var editor = try editor(text)
        #expect(try editor.remove(try CollectionID("main/markets")))
        #expect(
            editor.text
                == text.replacing(
                    "  main/markets:   # for the map\n    # none, they are large\n    attachments: none\n", with: ""))
        #expect(try !editor.remove(try CollectionID("main/markets")))
        #expect(try editor.remove(try CollectionID("main/zones")))
        #expect(try read(editor).collections.isEmpty)
        #expect(try editor.add(try CollectionID("main/again"), attachments: nil))
        #expect(try read(editor).collections.count == 1)
    }

    @Test func editorSetsTheServer() throws {
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

    @Test(arguments: [true, false]) func editorAddsARoot(hasTrust: Bool) throws {
        let root = try #require(SHA256Digest(hex: String(repeating: "b", count: 64)))
        var editor = try editor(hasTrust ? text : "version: 1\n# here\ncollections:\n  main/a:\n")
        try editor.addRoot(root)
        try editor.addRoot(root)
        #expect(try read(editor).trust.roots.count == (hasTrust ? 2 : 1))
        #expect(try read(editor).trust.roots.last == root)
        #expect(editor.text.contains(hasTrust ? "# the old one" : "# here\ncollections:"))
    }

    @Test(arguments: ["version: 1\ncollections: {main/a: }\n", "version: 1\ncollections: { main/a: , main/c: }\n"])
    func editorRefusesFlowStyleCollections(_ text: String) throws {
        var editor = try editor(text)
        #expect(throws: Failure.self) { try editor.add(try CollectionID("main/b"), attachments: nil) }
        #expect(throws: Failure.self) { try editor.remove(try CollectionID("main/a")) }
        #expect(editor.text == text)
    }

    @Test func namesDifferingInCaseAreRefused() throws {
        var editor = try ConfigurationEditor("version: 1\ncollections:\n  main/markets:\n", file: "dumps.yaml")
        let error = #expect(throws: Failure.self) {
            try editor.add([CollectionID("main/search"), CollectionID("main/Markets")], attachments: nil)
        }
        #expect(error?.problem.hasPrefix("main/Markets and main/markets would share one bundle file") == true)
        #expect(try editor.add(CollectionID("main/search"), attachments: nil))
    }

    @Test func editorKeepsWindowsLineEnds() throws {
        var editor = try editor("version: 1\r\ncollections:\r\n  main/a:\r\n")
        #expect(try editor.add(try CollectionID("main/b"), attachments: nil))
        #expect(try read(editor).collections.count == 2)
        try editor.setServer("stage")
        try editor.setServer("dev")
        let lines = editor.text.unicodeScalars.split(separator: "\n")
        #expect(lines.count == 5 && lines.allSatisfy { $0.last == "\r" }, "\(editor.text.debugDescription)")
    }

    /// libyaml ends a line at each of these, and the last line may be unterminated.
    @Test(arguments: ["\n", "\r\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"], ["", "\u{FEFF}"])
    func editorKeepsLineEndsAndByteOrderMark(_ end: String, mark: String) throws {
        let lines = ["# a\u{2028}# b", "version: 1", "server: prod # é", "collections:", "  main/x:", "    pin: 7"]
        let new = end.unicodeScalars.allSatisfy { $0.isASCII } ? end : "\n"
        for last in ["", end] {
            let text = mark + lines.joined(separator: end) + last
            var editor = try editor(text)
            #expect(try editor.add(CollectionID("main/y"), attachments: nil))
            #expect(editor.text == text + (last.isEmpty ? "\(new)  main/y:" : "  main/y:\(new)"))
            var other = try self.editor(text)
            try other.setServer("stage")
            #expect(other.text == text.replacing("prod", with: "stage"))
            #expect(try other.removePin(of: CollectionID("main/x"))?.at == Timestamp(milliseconds: 7))
            #expect(
                other.text.utf8.elementsEqual(
                    (mark + lines.dropLast().joined(separator: end).replacing("prod", with: "stage") + end).utf8))
            #expect(try other.remove(CollectionID("main/x")))
            #expect(try read(other).collections.isEmpty)
        }
    }

    /// Whatever the text contains, an edit changes only what it should, or nothing.
    @Test func editsOfRandomTextsKeepEveryOtherByte() throws {
        var random = SplitMix(state: 54)
        let ends = ["\n", "\n", "\r\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"]
        let pieces = [
            "version: 1", "server: prod", "server: 'http://é.example/v1'  # x", "trust:", "  roots:",
            "  - \"\(String(repeating: "a", count: 64))\"", "collections:", "  main/a:",
            "  main/a: {attachments: none}", "  main/b:   # \u{301}é", "    attachments: none", "    pin: 3",
            "    pin:", "      at: 4", "# e\u{301}", "", "  ", "\t", "  # \u{1F600}", "'main/c':", "  \"main/x\": ~",
            "---", "...", "\u{FEFF}", "%",
        ]
        let (root, id) = (SHA256Digest(hashing: Bytes()), try CollectionID("main/a"))
        let edits: [(inout ConfigurationEditor) throws -> Void] = [
            { _ = try $0.add([CollectionID("main/aa"), CollectionID("main/z")], attachments: "none") },
            { _ = try $0.remove(id) }, { try $0.setServer("stage") }, { try $0.addRoot(root) },
            { try $0.setPin(Pin(at: Timestamp(milliseconds: 9), reason: "\"\u{301}\\"), of: id) },
            { _ = try $0.removePin(of: id) },
        ]
        var counts = Array(repeating: 0, count: edits.count)
        for _ in 0..<5000 {
            var text = random.below(8) == 0 ? "\u{FEFF}" : ""
            let usual = ends[random.below(ends.count)]
            var order = ["version: 1", "server: prod", "collections:", "  main/a:", "    pin: 3", "  main/b:"]
            for _ in 0..<random.below(4) {
                order.insert(pieces[random.below(pieces.count)], at: random.below(order.count + 1))
            }
            if random.below(3) == 0 { order.remove(at: random.below(order.count)) }
            for line in order { text += line + (random.below(6) == 0 ? ends[random.below(ends.count)] : usual) }
            if random.below(3) == 0 { text.unicodeScalars.removeLast() }
            for (index, edit) in edits.enumerated() {
                guard var editor = try? editor(text) else { continue }
                let isDone = (try? edit(&editor)) != nil
                let (before, after) = (Array(text.utf8), Array(editor.text.utf8))
                guard isDone else {
                    #expect(before == after, "\(text.debugDescription)")
                    continue
                }
                if before != after { counts[index] += 1 }
                _ = try read(editor)
                // Collections may be added in two places, and a pin may be replaced.
                guard ![0, 4].contains(index) else {
                    #expect(index == 4 || before.isSubsequence(of: after), "\(text.debugDescription)")
                    continue
                }
                let start = zip(before, after).prefix { $0 == $1 }.count
                let end = zip(before.dropFirst(start).reversed(), after.dropFirst(start).reversed())
                    .prefix { $0 == $1 }.count
                let changed = before.count - start - end
                let server = try read(self.editor(text)).server
                let most = [1: before.count, 2: server.utf8.count + 20, 3: 0, 5: 90]
                #expect(
                    changed <= most[index] ?? 0, "\(index) \(text.debugDescription) \(editor.text.debugDescription)")
            }
        }
        #expect(counts.allSatisfy { $0 > 100 }, "\(counts)")
    }
}

/// A deterministic random number generator.
private struct SplitMix {
    var state: UInt64

    mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ (mixed >> 31)) % UInt64(bound))
    }
}

extension [UInt8] {
    fileprivate func isSubsequence(of other: [UInt8]) -> Bool {
        var rest = self[...]
        for byte in other where byte == rest.first { rest = rest.dropFirst() }
        return rest.isEmpty
    }
}
