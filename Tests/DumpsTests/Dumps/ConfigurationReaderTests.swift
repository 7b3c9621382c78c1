@testable import Dumps
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// commands/configuration-errors.txt covers errors in `dumps.yaml`.
struct ConfigurationReaderTests {
    private func read(_ text: String) throws(Failure) -> DumpsConfiguration {
        try ConfigurationReader.read(text, file: "dumps.yaml")
    }

    @Test func everySettingIsRead() throws {
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

    @Test func configurationDefaults() throws {
        let configuration = try read("version: 1\ncollections:\n")
        #expect(configuration.server == "prod")
        #expect(configuration.trust.roots.isEmpty && !configuration.trust.acceptsUnsigned)
        #expect(configuration.collections.isEmpty)
    }

    /// Files from before 1.0 have a section that is now ignored.
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
    }

    /// If they were accepted, 200,000 directives would take minutes.
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

    /// A pull request can contain any of these. If they were accepted, the tests would never finish.
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
