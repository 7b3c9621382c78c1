import Dumps
import Publish
import RemoteSettingsModel
import SnapshotBundle
import Testing

/// See commands/template-errors.txt for tests of invalid templates and of defaults files.
@Suite struct FirebaseTemplateTests {
    private func template(_ text: String) throws -> FirebaseTemplate {
        try FirebaseTemplate(Bytes(utf8: text), file: "template", skipping: false)
    }

    private func records(_ source: Bytes) throws -> [String: JSONValue] {
        let root = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/template")
        defer { try? FileStore.removeTree(root) }
        try FileStore.makeDirectories("\(root)/main")
        try FileStore.replace("\(root)/main/c.yaml", with: source)
        let records = try SourceDirectory(root).read()[0].records
        return try Dictionary(
            uniqueKeysWithValues: records.map {
                ($0.id, try JSONValue(parsing: Bytes(utf8: "{\($0.members.text)}")))
            })
    }

    private let whole = #"""
        {"conditions": [
          {"name": "beta users!", "expression": "device.os == 'ios' && percent <= 10", "tagColor": "BLUE"},
          {"name": "german", "expression": "device.language in ['de']"}],
         "parameters": {
          "greeting": {"defaultValue": {"value": "Hi \"you\" \u0085 #1: yes"}, "description": "On the first page.",
            "conditionalValues": {"german": {"value": "Hallo"}, "beta users!": {"value": "Hello"}}},
          "flag": {"defaultValue": {"value": "FALSE"}, "valueType": "BOOLEAN",
            "conditionalValues": {"german": {"useInAppDefault": true}}},
          "number": {"defaultValue": {"value": "-007.50"}, "valueType": "NUMBER"},
          "shape": {"defaultValue": {"value": "{\"a\": [1, null, \"no\"]}"}, "valueType": "JSON"},
          "own": {"defaultValue": {"useInAppDefault": true}, "conditionalValues": {"german": {"value": "x"}}},
          "alone": {"defaultValue": {"useInAppDefault": true}},
          "rolled": {"defaultValue": {"value": "old"}, "conditionalValues": {"german":
            {"rolloutValue": {"rolloutId": "rollout_1", "value": "new", "percent": 12.5}}}},
          "empty": {"defaultValue": {"value": ""}}, "on": {"defaultValue": {"value": "yes"}}},
         "parameterGroups": {"home page": {"description": "d", "parameters": {
          "title": {"defaultValue": {"value": "T"}, "valueType": "STRING"}}}},
         "version": {"versionNumber": "6"}}
        """#

    @Test func firebaseTemplateConversion() throws {
        let made = try template(whole)
        #expect(made.skipped.isEmpty && made.notes.count == 1)
        let records = try records(made.source)
        func value(_ id: String) -> JSONValue? { records[id]?["value"] }
        #expect(value("greeting") == .string("Hi \"you\" \u{85} #1: yes"))
        // Strings remain strings, whatever their type.
        #expect(value("flag") == .string("FALSE") && value("number") == .string("-007.50"))
        #expect(value("shape") == .string(#"{"a": [1, null, "no"]}"#))
        #expect(value("empty") == .string("") && value("on") == .string("yes") && value("title") == .string("T"))
        #expect(records["alone"]?["in_app_default"] == .bool(true) && records["own"] == nil)
        #expect(value("own--german") == .string("x"))
        #expect(records["flag--german"]?["in_app_default"] == .bool(true))
        // Priorities follow the order of the conditions, not of the values.
        let greetings = records.filter { $0.key.hasPrefix("greeting--") }
        #expect(greetings["greeting--german"]?["priority"] == .count(1))
        let beta = try #require(greetings.first { $0.key.hasPrefix("greeting--beta-users") }?.value)
        #expect(beta["priority"] == .count(2))
        #expect(
            beta["filter_expression"]
                == .string("(env.appinfo.OS == 'iOS') && ([env.id, '']|bucketSample(0, 10, 100))"))
        let rolled = try #require(records.first { $0.key.hasPrefix("rolled--") }?.value)
        #expect(rolled["filter_expression"]?.string?.contains("'rollout_1']|bucketSample(0, 125000, 1000000)") == true)
    }

    @Test func emptyTemplateIsAnEmptyCollection() throws {
        #expect(try records(template("{}").source).isEmpty)
    }

    /// Brackets inside a string do not count as nesting.
    @Test func firebaseTextOfBracketsIsKept() throws {
        let value = String(repeating: "[", count: 1_290)
        let found = try records(template(#"{"parameters": {"a": {"defaultValue": {"value": "\#(value)"}}}}"#).source)
        #expect(found["a"]?["value"] == .string(value))
    }

    /// The import refuses what `publish` would refuse later: here, a number too large for a double.
    @Test func firebaseImportRefusesUnpublishableNumber() {
        var text = SourceText()
        text.line(0, "records: {a: {v: 1e999}}")
        let error = #expect(throws: Failure.self) { try text.checked("template") }
        #expect(error?.description.contains("template: publish would reject the result: ") ?? false)
    }
}
