import Dumps
import Publish
import RemoteSettingsModel
import SnapshotBundle
import Testing

@Suite struct FirebaseTemplateTests {
    private func template(_ text: String, skipping: Bool = false) throws -> FirebaseTemplate {
        try FirebaseTemplate(Bytes(utf8: text), file: "template", skipping: skipping)
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

    private func problems(_ text: String, skipping: Bool = false) -> [Int?] {
        do {
            _ = try template(text, skipping: skipping)
        } catch let error as Failure {
            return error.problems.map(\.line)
        } catch {
            Issue.record(error)
        }
        return []
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
        // Texts stay texts, whatever their type.
        #expect(value("flag") == .string("FALSE") && value("number") == .string("-007.50"))
        #expect(value("shape") == .string(#"{"a": [1, null, "no"]}"#))
        #expect(value("empty") == .string("") && value("on") == .string("yes") && value("title") == .string("T"))
        #expect(records["alone"]?["in_app_default"] == .bool(true) && records["own"] == nil)
        #expect(value("own--german") == .string("x"))
        #expect(records["flag--german"]?["in_app_default"] == .bool(true))
        // The order of the conditions counts, not that of the values.
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

    private let foreign = #"""
        {"conditions": [
          {"name": "audience", "expression": "app.audiences.inAtLeastOne(['a'])"},
          {"name": "broken", "expression": "device.os =="}],
         "parameters": {
          "a": {"defaultValue": {"value": "1"}, "conditionalValues": {"audience": {"value": "2"}}},
          "b": {"defaultValue": {"personalizationValue": {"personalizationId": "p"}}},
          "c": {"defaultValue": {"value": "1"}, "conditionalValues": {"broken": {"experimentValue": {"experimentId": "e"}}}},
          "d": {"defaultValue": {"value": "1"}, "valueType": "COLOUR"}, "e": {"defaultValue": {"value": "1"}, "new": 1}},
         "surprise": 1}
        """#

    @Test func untranslatableFirebaseElementsAreNamed() throws {
        #expect(problems(foreign).count == 8)
        let made = try template(foreign, skipping: true)
        #expect(made.skipped.count == 8)
        let words = [
            "\"audience\"", "app.audiences", "personalizationValue", "COLOUR", "surprise", "unknown key new in",
        ]
        for word in words {
            #expect(made.skipped.contains { $0.contains(word) }, "\(word)")
        }
        #expect(try records(made.source).keys.sorted() == ["a", "c", "e"])
    }

    @Test(arguments: [
        "[]", "{", "{\"conditions\": 5}", #"{"conditions": [{"name": "a"}]}"#,
        #"{"conditions": [{"name": "a", "expression": "true"}, {"name": "a", "expression": "true"}]}"#,
        #"{"parameters": {"a": {"defaultValue": {"value": 5}}}}"#,
        #"{"parameters": {"a": {"defaultValue": {"value": "x", "useInAppDefault": true}}}}"#,
        #"{"parameters": {"a b": {"defaultValue": {"value": "x"}}}}"#,
        #"{"parameters": {"constructor": {"defaultValue": {"value": "x"}}}}"#,
        #"{"parameters": {"a": {"defaultValue": {"value": "x"}, "valueType": "NUMBER"}}}"#,
        #"{"parameters": {"a": {"defaultValue": {"value": "1."}, "valueType": "NUMBER"}}}"#,
        #"{"parameters": {"a": {"defaultValue": {"value": "yes"}, "valueType": "BOOLEAN"}}}"#,
        #"{"parameters": {"a": {"defaultValue": {"value": "{"}, "valueType": "JSON"}}}"#,
        #"{"parameters": {"a": {"conditionalValues": {"nobody": {"value": "x"}}}}}"#,
    ])
    func brokenTemplatesAreRefusedEvenWhenSkipping(_ text: String) {
        #expect(!problems(text, skipping: true).isEmpty)
    }

    @Test func emptyTemplateIsAnEmptyCollection() throws {
        #expect(try records(template("{}").source).isEmpty)
    }

    /// Brackets in a text nest nothing, however many there are.
    @Test func firebaseTextOfBracketsIsKept() throws {
        let value = String(repeating: "[", count: 1_290)
        let found = try records(template(#"{"parameters": {"a": {"defaultValue": {"value": "\#(value)"}}}}"#).source)
        #expect(found["a"]?["value"] == .string(value))
    }

    /// What publish would refuse later: here, a number that no double can hold.
    @Test func firebaseImportRefusesUnpublishableNumber() {
        var text = SourceText()
        text.line(0, "records: {a: {v: 1e999}}")
        let error = #expect(throws: Failure.self) { try text.checked("template") }
        #expect(error?.description.contains("template: publish would reject the result: ") ?? false)
    }

    // MARK: Defaults

    private func defaults(_ text: String) throws -> [String: JSONValue] {
        let root = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/defaults")
        defer { try? FileStore.removeTree(root) }
        return try records(DefaultsFile(Bytes(utf8: text), file: "defaults").source).compactMapValues { $0["value"] }
    }

    @Test func defaultsOfAllLayoutsKeepTheirTypes() throws {
        let plist = """
            <?xml version="1.0" encoding="UTF-8"?>
            <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
            <plist version="1.0"><dict>
              <key>a</key><string>x &lt;&amp;&#233; <![CDATA[<y>]]></string><key>b</key><true/><key>c</key><integer>-5</integer>
              <key>d</key><real>1</real><key>e</key><array><integer>1</integer><string/></array>
              <!-- note --><key>f</key><dict><key>g</key><false/></dict><key>h</key><array/></dict></plist>
            """
        let values = try defaults(plist)
        #expect(values["a"] == .string("x <&é <y>") && values["b"] == .bool(true))
        #expect(values["c"]?.number?.text == "-5" && values["d"]?.number?.text == "1.0")
        #expect(values["e"]?.array?.count == 2 && values["f"]?["g"] == .bool(false) && values["h"] == .array([]))
        let map =
            "<defaultsMap>\n<entry>\n<key>k</key><value> 1 "
            + "</value></entry><entry><key>l</key><value/></entry></defaultsMap>"
        #expect(try defaults(map) == ["k": .string(" 1 "), "l": .string("")])
        #expect(try defaults(#"{"k": {"x": [1]}, "l": null, "yes": "no"}"#).count == 3)
    }

    @Test(arguments: [
        "", "text", "[1]", "<x/>", "<plist><dict>", "<plist><array/></plist>", "bplist00",
        "<plist><dict><key>a</key></dict></plist>",
        "<plist><dict><key>a</key><date>2026-01-01T00:00:00Z</date></dict></plist>",
        "<plist><dict><key>a</key><integer>x</integer></dict></plist>",
        "<plist><dict><key>a</key><integer>1</integer><key>a</key><integer>1</integer></dict></plist>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><plist><dict/></plist>", "<plist><dict><key>&a;</key><true/></dict></plist>",
        "<defaultsMap><entry><key>a</key></entry></defaultsMap>", "<defaultsMap><x/></defaultsMap>",
        "<plist><dict><key>a</key>\(String(repeating: "<array>", count: 500))",
        // No parameter can have these names, which publish would say later.
        #"{"a\u0000b": 1}"#, #"{"": 1}"#, "<defaultsMap><entry><key>a\nb</key><value>1</value></entry></defaultsMap>",
        #"{"\#(String(repeating: "k", count: 257))": 1}"#,
    ])
    func whatIsNoDefaultsFileIsRefused(_ text: String) {
        #expect(throws: Failure.self) { try DefaultsFile(Bytes(utf8: text), file: "defaults") }
    }
}
