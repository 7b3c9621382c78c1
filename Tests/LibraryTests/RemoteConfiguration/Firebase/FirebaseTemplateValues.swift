import Foundation
import Publish
import RemoteConfiguration
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

/// A template with every kind of parameter, imported, signed and synced: each getter gives what Firebase's gives for
/// the text.
struct FirebaseTemplateValues {
    private static let texts: [(key: String, type: String, text: String)] =
        TextTests.table.enumerated().map { ("text_\($0.offset)", "STRING", $0.element.text) }
        + [
            ("minimum", "NUMBER", "1.10"), ("whole", "NUMBER", "2.0"), ("half", "NUMBER", "1.50"),
            ("point", "NUMBER", ".5"),
            ("zeros", "NUMBER", "-007.50"), ("large", "NUMBER", "9007199254740993"), ("seven", "NUMBER", "7"),
            ("yes", "BOOLEAN", "TRUE"), ("no", "BOOLEAN", "false"), ("mixed", "BOOLEAN", "True"),
            ("object", "JSON", "{ \"b\": 1.50,\n \"a\": [1e3, null, \"ü\\u2028\"] }"),
            ("array", "JSON", "[1, 2.0, \"x\"]"),
            ("scalar", "JSON", " 1.10 "), ("quoted", "JSON", "\"text\""), ("nothing", "JSON", "null"),
        ]

    /// Publishes what comes of a template, as its author does.
    private func publish(_ template: JSONValue, to collection: ServerCollection) throws {
        let made = try FirebaseTemplate(Bytes(JSONText.compact(template)), file: "template.json", skipping: false)
        let root = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/template")
        defer { try? FileStore.removeTree(root) }
        try FileStore.makeDirectories("\(root)/main")
        try FileStore.replace("\(root)/main/config.yaml", with: made.source)
        var records: [String: [String: Any]] = [:]
        for record in try SourceDirectory(root).read()[0].records {
            let members = try JSONSerialization.jsonObject(with: Data("{\(record.members.text)}".utf8))
            records[record.id] = try #require(members as? [String: Any]).filter { $0.key != "id" }
        }
        try collection.put(all: records)
    }

    private func parameter(_ text: String, _ type: String, _ conditional: JSONValue? = nil) -> JSONValue {
        .members([
            "defaultValue": .members(["value": .string(text)]), "valueType": .string(type),
            "conditionalValues": conditional,
        ])
    }

    @Test func gettersGiveWhatFirebasesGive() async throws {
        let place = try ConfigPlace()
        var parameters = Self.texts.map { JSONValue.Member(key: $0.key, value: parameter($0.text, $0.type)) }
        parameters.append(
            .init(
                key: "conditional",
                value: parameter("1.10", "NUMBER", .members(["beta": .members(["value": .string("2.0")])]))))
        parameters.append(
            .init(key: "own", value: .members(["defaultValue": .members(["useInAppDefault": .bool(true)])])))
        let grouped = JSONValue.object([.init(key: "title", value: parameter("T", "STRING"))])
        try publish(
            .members([
                "conditions": .array([
                    .members([
                        "name": .string("beta"),
                        "expression": .string("app.customSignal['ring'].exactlyMatches(['beta'])"),
                    ])
                ]),
                "parameters": .object(parameters),
                "parameterGroups": .members(["home": .members(["parameters": grouped])]),
            ]), to: place.collection)
        let config = place.start()
        config.setDefaults(["own": "mine"])
        try await config.fetchAndActivate()
        for row in Self.texts {
            let value = config[row.key]
            #expect(value.source == .remote && value.stringValue == row.text, "\(row.key)")
            #expect(value.dataValue == Data(row.text.utf8))
            // The same text as a default is read by the same rules, which are compared with Foundation's elsewhere.
            let reference = place.start()
            reference.setDefaults(["k": row.text])
            #expect(value.boolValue == reference["k"].boolValue && value.numberValue == reference["k"].numberValue)
            // Foundation takes objects and arrays only, as in Firebase.
            let object = try? JSONSerialization.jsonObject(with: Data(row.text.utf8))
            #expect((value.jsonValue != nil) == (object != nil), "\(row.key)")
            #expect((value.jsonObject != nil) == (object is [String: Any]), "\(row.key)")
            #expect((value.jsonArray != nil) == (object is [Any]), "\(row.key)")
        }
        #expect(config.text("minimum") == "1.10" && config["minimum"].numberValue == 1.1)
        #expect(config["yes"].boolValue && !config["no"].boolValue && config["yes"].numberValue == 0)
        #expect(config["object"].jsonObject?["b"] as? Double == 1.5)
        #expect(config["own"].source == .default && config.text("own") == "mine" && config.text("title") == "T")
        #expect(config.text("conditional") == "1.10")
        try await config.setCustomSignals(["ring": "beta"])
        try await config.activate()
        #expect(config.text("conditional") == "2.0")
    }
}
