@testable import Dumps
import RemoteSettingsModel
import Testing

private func table(_ records: [String]) throws -> RecordTable {
    try RecordTable(records.map { Bytes(utf8: $0) })
}

private func record(_ number: Int, _ members: String) -> String {
    #"{"id":"r\#(number)","last_modified":\#(1000 + number),\#(members)}"#
}

private let usual =
    #""name":"a name","weight":10,"kind":"plan","url":"https://shop.example/a","tags":["a","b"],"at":{"x":1,"y":2}"#

/// Forty similar records.
private func state(_ members: (Int) -> String? = { _ in usual }) -> [String] {
    (0..<40).compactMap { number in members(number).map { record(number, $0) } }
}

/// Forty similar records, one of which is changed.
private func changed(_ old: String, _ new: String) -> [String] {
    state { $0 == 3 ? usual.replacing(old, with: new) : usual }
}

private func guards(_ yaml: String) throws -> Guards {
    try ConfigurationReader.read("version: 1\nguards: \(yaml)\n", file: "dumps.yaml").guards
}

private let strict = """
    {min-records: 30, max-removed: 10%, max-changed: 50%, max-added: 5, max-growth: 50%, required-ids: [r7, r8],
      schema: {required: [name], properties: {weight: {type: integer, minimum: 1}, name: {minLength: 1},
      kind: {enum: [plan, coupon]}, url: {pattern: "^https://shop[.]example/"}, tags: {type: [array, "null"],
      items: {type: string}}, at: {required: [x, "y"]}}}}
    """

/// Correctly signed but bad data, and the guards that stop it. `RecordSchemaTests` and `test_schemas.py` cover the
/// keywords of schemas.
private struct BadData: CustomTestStringConvertible {
    let testDescription: String
    let records: [String]
    let stoppedBy: [Guards.Name]

    init(_ description: String, _ records: [String], _ stoppedBy: [Guards.Name]) {
        testDescription = description
        self.records = records
        self.stoppedBy = stoppedBy
    }

    static let all: [BadData] = [
        .init("nothing", [], [.notEmptied, .minRecords, .maxRemoved, .requiredIDs]),
        .init("one record of forty", state { $0 == 7 ? usual : nil }, [.minRecords, .maxRemoved, .requiredIDs]),
        .init("half of it", state { $0 % 2 == 0 ? usual : nil }, [.minRecords, .maxRemoved, .requiredIDs]),
        .init("twice as much", state() + (40..<80).map { record($0, usual) }, [.maxAdded, .maxGrowth]),
        .init("a required id is missing", state { $0 == 7 ? nil : usual }, [.requiredIDs]),
        .init("a text where a number was", changed("10", #""10""#), [.schema]),
        .init("an unknown kind", changed("plan", "plam"), [.schema]),
        .init("somebody else's URL", changed("shop", "evil"), [.schema]),
        .init(
            "a filter that excludes everybody", state { _ in usual + #","filter_expression":"1 == 2""# },
            [.maxChanged]),
        // Two records with the same key: only the app knows that keys are unique.
        .init("a key twice", state { $0 == 3 || $0 == 4 ? usual + #","key":"k""# : usual }, []),
        .init("a huge text", changed("a name", String(repeating: "x", count: 9000)), [.maxGrowth]),
        .init("a field is missing in one record", changed(#""name":"a name","#, ""), [.schema]),
        .init("a field is renamed in all", state { _ in usual.replacing("weight", with: "wait") }, [.maxChanged]),
        .init("a list became an object", changed(#"["a","b"]"#, "{}"), [.schema]),
        .init("everything was touched", state { _ in usual.replacing("a name", with: "b name") }, [.maxChanged]),
        .init("all ids are new", (100..<140).map { record($0, usual) }, [.maxRemoved, .maxAdded, .requiredIDs]),
        .init(
            "another collection's records", (0..<40).map { record($0, #""url":"https://example.org""#) },
            [.maxChanged, .schema]),
        .init("six records too many", state() + (40..<46).map { record($0, usual) }, [.maxAdded]),
        // The records are valid but old. Problems appear only when the app starts.
        .init("yesterday's records", changed("10", "9"), []),
    ]
}

struct GuardsTests {
    @Test(arguments: BadData.all) private func guardsStopBadData(_ bad: BadData) throws {
        let (old, new) = (try table(state()), try table(bad.records))
        let found = try guards(strict).violations(of: new, after: old)
        #expect(Guards.Name.allCases.filter(Set(found.map(\.guarding)).contains) == bad.stoppedBy)
        #expect(found.allSatisfy { $0.ids.count <= 10 && $0.description.contains($0.guarding.rawValue) })
        // A new directory has one guard by default.
        let byDefault = Guards().violations(of: new, after: old).map(\.guarding)
        #expect(byDefault == (new.isEmpty ? [.notEmptied] : []))
    }

    @Test func guardViolationNamesLimitAndIDs() throws {
        let found = try guards("{max-removed: 10%}").violations(
            of: table(state { $0 < 25 ? usual : nil }), after: table(state()))
        #expect(
            found.map(\.description) == [
                "max-removed: 15 of 40 records removed, at most 10% allowed "
                    + "(r25, r26, r27, r28, r29, r30, r31, r32, r33, r34 and 5 more)"
            ])
        let failure = Failure.guarded(try CollectionID("main/markets"), found, command: "rsdump refresh")
        #expect("\(failure)".hasSuffix("accept it with: rsdump refresh --accept main/markets"))
    }

    @Test func guardsAcceptGoodData() throws {
        let strict = try guards(strict)
        let old = try table(state())
        // A new field, a few more records, changed values, and a field that every record now has.
        let more = state { $0 % 3 == 0 ? usual + #","new":1"# : usual } + (40..<45).map { record($0, usual) }
        #expect(strict.violations(of: try table(more), after: old).isEmpty)
        let sparse = try table(state { $0 == 2 ? #""name":"x","tags":null"# : usual })
        #expect(strict.violations(of: old, after: sparse).isEmpty)
    }

    @Test func guardsOfAFirstState() throws {
        let found = try guards(strict).violations(of: table([]), after: nil)
        #expect(found.map(\.guarding) == [.minRecords, .requiredIDs])
        #expect(Guards().violations(of: try table([]), after: nil).isEmpty)
        // The old records cannot be read, but their number is known.
        #expect(Guards().violations(of: try table([]), after: nil, oldCount: 5).map(\.guarding) == [.notEmptied])
        // Growth from zero has no percentage, so it exceeds no limit.
        #expect(try guards("{max-added: 10%, max-growth: 1%}").violations(of: table(state()), after: table([])).isEmpty)
    }

    @Test func guardViolationTextIsBounded() throws {
        let name = String(repeating: "\u{301}", count: 50_000)
        let found = try guards("{schema: {additionalProperties: {type: string}}}").violations(
            of: table([#"{"id":"r","\#(name)":1}"#]), after: nil)
        let sentence = try #require(found.first).sentence
        #expect(sentence.utf8.count < 1200 && sentence.contains("found the number 1, expected string"))
    }

    @Test func collectionOverridesSingleGuards() throws {
        let configuration = try ConfigurationReader.read(
            """
            version: 1
            guards: {max-removed: 2.5%, min-records: 3}
            collections:
              main/a:
              main/b: {guards: {min-records: 0, not-emptied: false}}
            """, file: "dumps.yaml")
        let (first, second) = (configuration.collections[0].guards, configuration.collections[1].guards)
        #expect(first.maxRemoved == .percent(.init(hundredths: 250)) && first.minRecords == 3)
        #expect(second.maxRemoved == first.maxRemoved && second.minRecords == 0 && !second.keepsRecords)
        #expect(
            second.settings.map { "\($0.name.rawValue) \($0.value)" }.joined(separator: ", ")
                == "not-emptied false, min-records 0, max-removed 2.5%")
    }
}
