@testable import Dumps
import RemoteSettingsModel
import SnapshotBundle
import Testing

struct ConfigurationReaderTests {
    private func read(_ text: String) throws(Failure) -> DumpsConfiguration {
        try ConfigurationReader.read(text, file: "dumps.yaml")
    }

    @Test func readsEverything() throws {
        let hash = String(repeating: "ab", count: 32)
        let configuration = try read(
            """
            version: 1
            server: https://example.org/v2
            allow-plain-http: true
            trust:
              roots: ["\(hash)", "\(Array(repeating: "CD", count: 32).joined(separator: ":"))"]
              signer: signer.example.org
              accept-unsigned: true
            attachments: none
            collections:
              main/b:
              main/a: {attachments: all}
              main/c:
                attachments:
                  include: fromLang == "en"
                  max-size: 1.5 MiB
                  max-total: 20000
            """)
        #expect(configuration.server == "https://example.org/v2")
        #expect(configuration.allowsPlainHTTP)
        #expect(configuration.trust.roots.map(\.hex) == [hash, String(repeating: "cd", count: 32)])
        #expect(configuration.trust.signer == "signer.example.org")
        #expect(configuration.trust.acceptsUnsigned)
        #expect(configuration.collections.map(\.id.description) == ["main/a", "main/b", "main/c"])
        #expect(
            configuration.collections.map(\.attachments.selection) == [.all, .none, .include(#"fromLang == "en""#)])
        #expect(configuration.collections[2].attachments.maxSize == 1_572_864)
        #expect(configuration.collections[2].attachments.maxTotal == 20_000)
    }

    @Test func defaults() throws {
        let configuration = try read("version: 1\ncollections:\n")
        #expect(configuration.server == "prod")
        #expect(configuration.trust.roots.isEmpty && !configuration.trust.acceptsUnsigned)
        #expect(configuration.collections.isEmpty)
    }

    @Test(arguments: [
        ("version: 2", 1, "unknown version"),
        ("server: prod", 1, "version is missing"),
        ("version: 1\nservers: prod", 2, "unknown key \"servers\""),
        ("version: 1\nserver: [prod]", 2, "server cannot be a list"),
        ("version: 1\nallow-plain-http: perhaps", 2, "allow-plain-http"),
        ("version: 1\ntrust:\n  root: x", 3, "unknown key \"root\""),
        ("version: 1\ntrust:\n  roots:\n    - \"abc\"", 4, "not a SHA-256"),
        ("version: 1\ntrust:\n  roots: abc", 3, "roots cannot be \"abc\""),
        ("version: 1\ncollections:\n  markets:", 3, "BUCKET/COLLECTION"),
        ("version: 1\ncollections:\n  main/../x:", 3, "BUCKET/COLLECTION"),
        ("version: 1\ncollections:\n  - main/x", 3, "collections cannot be a list"),
        ("version: 1\ncollections:\n  main/x:\n    attachment: all", 4, "unknown key \"attachment\""),
        ("version: 1\ncollections:\n  main/x:\n    attachments: some", 4, "attachments cannot be \"some\""),
        ("version: 1\ncollections:\n  main/x:\n    attachments:\n      max-size: 0", 5, "max-size"),
        ("version: 1\ncollections:\n  main/x:\n    attachments:\n      max-size: -1 MiB", 5, "max-size"),
        (
            "version: 1\ncollections:\n  main/x:\n    attachments:\n      max-total: 99999999999999999999 TiB", 5,
            "max-total"
        ),
        (
            "version: 1\ncollections:\n  main/x:\n    attachments:\n      include: \"a ==\"", 5,
            "include is not a filter expression"
        ),
        ("version: 1\ncollections:\n  main/x:\n  main/y:\n  main/x:", 5, "appears twice"),
        ("version: 1\ncollections:\n  main/x:\n  main/X:", 4, "ignores case"),
        ("version: 1\nserver: prod\nversion: 1", 3, "appears twice"),
        ("version: 1\ncollections:\n\tmain/x:", 3, "not YAML"),
        ("version: 1\nserver: \"unclosed", 2, "not YAML"),
    ])
    func namesTheLine(text: String, line: Int, problem: String) {
        do {
            _ = try read(text)
            Issue.record("\(text) was accepted")
        } catch {
            #expect(error.line == line, "\(error)")
            #expect(error.description.contains(problem), "\(error)")
            #expect(error.remedy?.isEmpty == false)
        }
    }

    /// Files of versions before 1.0 have a section that no longer means anything.
    @Test(arguments: ["off", "{publisher: a, expires-after: 36h}", "[1]"]) func obsoleteCatalogueSectionIsIgnored(
        value: String
    ) throws {
        let plain = "version: 1\ncollections:\n  main/a:\n"
        var expected = try read(plain)
        expected.hasCatalogue = true
        #expect(try read(plain + "catalogue: \(value)\n") == expected)
    }

    @Test func acknowledgedFailureIsRead() throws {
        func known(_ text: String) throws -> Acknowledgement? {
            try read("version: 1\ncollections:\n  main/a: {acknowledged: \(text)}\n").collections[0].acknowledged
        }
        let day = try #require(Pin.date("2026-12-31"))
        #expect(
            try known("{error: signature-lost, until: 2026-12-31, reason: bug 1}")
                == Acknowledgement(kind: .signatureLost, until: day, reason: "bug 1"))
        let last = try #require(try known("{error: http, until: 2026-12-31}"))
        #expect(!last.isOver(at: day.advanced(by: .seconds(86_399))))
        #expect(last.isOver(at: day.advanced(by: .seconds(86_400))))
        for (wrong, word) in [
            ("yes", "key: value"), ("{}", "no error"), ("{error: http}", "no until"),
            ("{until: 2026-12-31}", "no error"),
            ("{error: any, until: 2026-12-31}", "write one of attachment, backoff"),
            ("{error: [http], until: 2026-12-31}", "the acknowledged error cannot be a list"),
            ("{error: http, until: tomorrow}", "until cannot be"),
            ("{error: http, until: 2026-02-30}", "until cannot be"),
            ("{error: http, until: 2026-12-31, reason: \"a\\nb\"}", "single line"),
            ("{error: http, until: 2026-12-31, since: 2026-01-01}", "unknown key"),
        ] {
            let error = #expect(throws: Failure.self) { try known(wrong) }
            #expect(error?.description.contains(word) == true, "\(wrong): \(String(describing: error))")
        }
    }

    @Test(arguments: ["", "# only a comment\n", "just text", "- a list"])
    func configurationMustBeAMapping(_ text: String) {
        #expect(throws: Failure.self) { try read(text) }
    }

    /// Without the refusal, 200,000 directives take minutes.
    @Test(arguments: ["\n", "\r\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"])
    func manyYAMLDirectivesAreRefused(lineEnd: String) throws {
        let directives = (0..<2_000).map { "%TAG !a\($0)! b\(lineEnd)" }.joined()
        let error = #expect(throws: Failure.self) { try read(directives + "--- {version: 1}\n") }
        #expect(error?.problem.contains("begin with %") == true)
        #expect(try read("%YAML 1.1\n%TAG ! tag:example.org,2026:\n--- {version: 1}\n").collections.isEmpty)
    }

    @Test func questionMarksInTextAreNoYAMLKeys() throws {
        let collections = (0..<20).map { number in
            "  main/c\(number):\n    attachments:\n      include: 'size > \(number) ? true : size < 3 ? a : b'  # "
                + "très ? é ? \n"
        }
        #expect(try read("version: 1\ncollections:\n" + collections.joined()).collections.count == 20)
    }

    /// A pull request can carry each of them. Without the refusal, none of these tests ends.
    @Test(arguments: ["? *a12\n: 1", "*a12 : 1", "z: {*a12 : 1}"])
    func yamlAliasBombIsRefused(key: String) throws {
        let bomb = (1...12).map { level in
            "a\(level): &a\(level) [\(Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ","))]\n"
        }
        let error = #expect(throws: Failure.self) { try read("version: 1\na0: &a0 [x]\n" + bomb.joined() + key + "\n") }
        #expect(error?.problem.contains("aliases") == true)
        #expect(error?.line == 3)
        for lineEnd in ["\r", "\u{85}", "\u{2028}", "\u{2029}"] {
            let bomb = (1...12).map { level in
                let items = Array(repeating: "\(lineEnd)*a\(level - 1)\(lineEnd)", count: 9).joined(separator: ",")
                return "a\(level): &a\(level) [\(items)]\n"
            }
            let error = #expect(throws: Failure.self) {
                try read("version: 1\na0: &a0 [x]\n" + bomb.joined() + "? [\(lineEnd)*a12\(lineEnd)]\n: 1\n")
            }
            #expect(error?.problem.contains("aliases") == true)
        }
    }

    @Test func nestedYAMLKeysAreRefused() throws {
        let keys = (0..<400).map { String(repeating: " ", count: $0) + "?\n" }.joined()
        let list = String(repeating: " ", count: 400) + "[\(String(repeating: "x,", count: 1_000))x]\n"
        let error = #expect(throws: Failure.self) { try read("version: 1\nz:\n" + keys + list) }
        #expect(error?.problem == "a key is a list or a mapping")
        for lineEnd in ["\r", "\u{85}", "\u{2028}", "\u{2029}"] {
            let ended = keys.replacing("\n", with: lineEnd)
            #expect(throws: Failure.self) { try read("version: 1\nz:\n" + ended + list) }
        }
        let flat = String(repeating: "? ", count: 900)
        #expect(throws: Failure.self) { try read("version: 1\nz:\n  " + flat + "a\n") }
        let behindMark = #expect(throws: Failure.self) { try read("\u{FEFF}" + flat + "a\n") }
        #expect(behindMark?.problem == "a key is a list or a mapping")
        #expect(throws: Failure.self) {
            try read("version: 1\nz: " + String(repeating: "[", count: 200) + String(repeating: "]", count: 200))
        }
    }
}
