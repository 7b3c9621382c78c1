import AuthoredText
import RemoteSettingsModel
import Testing

struct YAMLNodeTests {
    private func compose(_ text: String) throws -> YAMLNode? { try YAMLNode.compose(Bytes(utf8: text), file: "f") }

    @Test func hasThePlaceAndTheWritingOfEachValue() throws {
        let root = try #require(try compose("\u{FEFF}a: 1\nb:\n  - 'ü': \"2\"\n    c: [x, é]\n    d: |\n      text\n"))
        guard case .mapping(let top) = root.content, case .sequence(let list) = top[1].value.content,
            case .mapping(let inner) = try #require(list.first).content
        else {
            Issue.record("\(root)")
            return
        }
        #expect(top.map(\.key.string) == ["a", "b"] && inner.map(\.key.string) == ["ü", "c", "d"])
        #expect(inner.map(\.key.line) == [3, 4, 5] && inner.map(\.key.column) == [5, 5, 5])
        #expect(inner[0].value.column == 10 && inner.map(\.value.isFlow) == [false, true, false])
        guard case .scalar("1", isPlain: true) = top[0].value.content,
            case .scalar("2", isPlain: false) = inner[0].value.content,
            case .scalar("text\n", isPlain: false) = inner[2].value.content
        else {
            Issue.record("\(root)")
            return
        }
    }

    @Test(arguments: ["", "# a comment\n", "\u{FEFF}", "---\n...\n# nothing\n"])
    func textsWithoutAValue(_ text: String) throws {
        let found = try compose(text)
        // A document that is begun has the value of an empty text.
        #expect(found?.string ?? "" == "")
    }

    @Test(arguments: [
        ("a: 1\nb: *c", 2, "aliases"), ("a: &c 1\nb: *c", 2, "aliases"), ("a: 1\n*c : 2", 2, "aliases"),
        ("a: 1\nb: !!int 2", 2, "tag:yaml.org,2002:int"), ("a: 1\nb: !own [2]", 2, "!own"),
        ("a: 1\nb: !own {c: 2}", 2, "!own"), ("a: 1\n? [b]\n: 2", 2, "a key is a list"),
        ("{a: 1,\n{b: 2}: 3}", 2, "a key is"),
        ("a: 1\nb: 2\na: 3", 3, "a appears here a second time"), ("{a: 1, b: 2,\n'a': 3}", 2, "second time"),
        ("a: 1\n---\nb: 2", 2, "a second document"), ("a: [1\nb: 2", 2, "not YAML"), ("a: 1\n b: 2", 2, "not YAML"),
        (String(repeating: "[", count: 5000), 1, "nest deeper"),
        (String(repeating: "- ", count: 5000), 1, "nest deeper"),
        (String(repeating: "? ", count: 5000), 1, "a key is"),
    ])
    func namesTheLineOfWhatIsRefused(text: String, line: Int, problem: String) {
        let error = #expect(throws: ConfigurationError.self) { try compose(text) }
        #expect(error?.line == line && error?.problem.contains(problem) == true, "\(String(describing: error))")
    }

    @Test func bytesThatAreNoTextHaveNoLine() {
        for bytes in [[0x61, 0x3A, 0x20, 0xFF], [0x61, 0x3A, 0x20, 0x01], [0x61, 0x3A, 0x20, 0xC3]] as [[UInt8]] {
            let error = #expect(throws: ConfigurationError.self) { try YAMLNode.compose(Bytes(bytes), file: "f") }
            #expect(error?.line == nil && error?.problem.contains("not YAML") == true)
        }
    }
}
