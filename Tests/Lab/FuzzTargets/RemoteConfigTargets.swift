#if Lab
import ConfigParameters
import Foundation
import Publish
import RemoteConfiguration
import RemoteSettingsModel
import TargetFilter

extension FuzzTarget {
    static let parameters = FuzzTarget(
        "parameters", "parameter records of remote config; the record that wins is the one that the explanation names",
        longest: 2048,
        words: [
            "{\"data\":[", "],\"last_modified\":\"1\"}", "{\"id\":\"a\"", "\"key\":\"k\"", "\"value\":",
            "\"priority\":",
            "\"in_app_default\":true", "\"filter_expression\":\"env.locale == 'de'\"", "\"filter_expression\":\"true\"",
            "\"filter_expression\":\" \"", "null", "\\\\", "\\\"", "\\u0001", "\\u00e9", "9007199254740991", "-", "{}",
            "[]",
        ],
        seeds: { _ in
            [
                #"{"data":[{"id":"a","key":"k","value":1},{"filter_expression":"env.locale == 'de'","id":"b","key":"k","#
                    + #""priority":2,"value":"x"},{"id":"c","in_app_default":true,"key":"other"}],"last_modified":"7"}"#,
                #"{"data":[{"filter_expression":"(","id":"a","key":"k","priority":-5,"value":{"a":[null,"\\\""]}},"#
                    + #"{"id":"b","key":"k","value":null},{"id":"c","key":"k","value":true}],"last_modified":"7"}"#,
                #"{"data":[],"last_modified":"1"}"#,
            ].map { Array($0.utf8) }
        }
    ) { input in
        guard let payload = try? Payload(parsing: Bytes(input), limits: Limits()) else { return }
        let parameters: ParameterSet
        do throws(ParameterRecordError) {
            parameters = try ParameterSet(payload.records)
        } catch {
            try require(!error.description.isEmpty, "an error without a text")
            return
        }
        try require(parameters.records.count == payload.records.count, "a record was lost")
        var filter = RecordFilter(context: .app(channel: "beta", locale: "de"), limits: limits)
        for key in parameters.keys.map(\.string) {
            let explanation = parameters.explanation(of: key, &filter)
            let winner = parameters.winner(for: key, &filter)
            try require(explanation.winner?.id == winner?.id, "\(key): the explanation names another record")
            for candidate in explanation.candidates {
                let parameter = candidate.parameter
                try require(parameter.key == key, "\(parameter.id) is of another key")
                try require(!candidate.description.isEmpty, "a candidate without a text")
                if let winner, winner.id != parameter.id, parameter.rank > winner.rank {
                    try require(
                        candidate.verdict != .outranked(by: winner.id), "a record of a higher rank does not win")
                }
                // A payload's records are JSON if its signature fits; here they may be anything.
                let json = parameter.record.json
                guard (try? CanonicalJSON.canonicalize(json, limits: Limits())) == json else { continue }
                // What the single pass over the bytes finds is what a reader of JSON finds.
                try require(parameter.record.field("key") == .string(key), "another key")
                switch parameter.content {
                case .value(let json):
                    try require(
                        (try? JSONValue(parsing: json, limits: Limits())) == parameter.record.field("value"),
                        "another value: \(json.text)")
                case .inAppDefault:
                    try require(parameter.record.field("in_app_default") == .bool(true), "an app's default unasked")
                }
                if let text = parameter.filter {
                    try require(parameter.record.field("filter_expression") == .string(text), "another filter")
                }
                if let priority = parameter.priority {
                    try require(parameter.record.field("priority")?.number?.int64 == priority, "another priority")
                }
            }
        }
        for finding in parameters.findings(limits: limits) {
            try require(!finding.description.isEmpty, "a finding without a text")
        }
    }

    private static let limits: FilterLimits = {
        var limits = FilterLimits()
        limits.steps = 20_000
        return limits
    }()

    static let propertyList = FuzzTarget(
        "property-list", "an app's defaults as a property list, binary or XML; every value has every form",
        longest: 2048,
        words: [
            "bplist00", "<plist version=\"1.0\"><dict>", "</dict></plist>", "<key>a</key>", "<string>", "</string>",
            "<integer>", "</integer>", "<real>", "</real>", "nan", "inf", "-0x7f", "<data>", "</data>", "AAAA",
            "<date>",
            "2026-01-01T00:00:00Z", "</date>", "<true/>", "<array>", "</array>", "<dict>", "</dict>", "<!--", "-->",
            "<![CDATA[", "]]>", "&amp;", "&#x1F600;", "&#xD800;", "&#", "<?xml version=\"1.0\" encoding=\"UTF-16\"?>",
            "{ a = b; c = (1, <00ff>); }", "\"\\U00e9\"", "/* x */", "\u{FEFF}", "CF$UID",
        ],
        seeds: { _ in
            let values: [String: Any] = [
                "text": "ü <&>", "int": 5, "negative": -7, "double": 2.5, "yes": true, "no": false,
                "data": Data([0xFF, 0x01]), "date": Date(timeIntervalSince1970: 1_700_000_000), "big": UInt64.max,
                "list": [1, "a", true, [2, ["x": Data()]]] as [Any], "map": ["k": ["n": 1]],
            ]
            var seeds: [[UInt8]] = []
            for values in [values, ["a": "b"], [:]] {
                for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
                    seeds.append(
                        Array(try PropertyListSerialization.data(fromPropertyList: values, format: format, options: 0)))
                }
            }
            return seeds + [Array("{ a = b; \"c d\" = (1, <00ff>, { e = f; }); }".utf8)]
        },
        mutate: { bytes, random in
            guard bytes.starts(with: "bplist".utf8), bytes.count > 40 else {
                TextMutation.apply(
                    to: &bytes, words: ["<dict>", "<array>", "<key>a</key>", "<real>nan</real>"], &random)
                return
            }
            switch random.below(4) {
            case 0:
                // A number of the trailer: the number of objects, the top one, the table's place.
                bytes.set(random.pick(EdgeNumbers.integers), 8, at: bytes.count - 24 + 8 * random.below(3))
            case 1:
                // The widths of offsets and references.
                bytes[bytes.count - 26 + random.below(2)] = UInt8(random.pick([0, 1, 2, 3, 4, 8, 9, 16, 255]))
            case 2:
                // A marker: the kind of an object with the length in its lower half.
                bytes[8 + random.below(bytes.count - 40)] = UInt8(
                    random.pick([
                        0, 8, 9, 15, 0x10, 0x13, 0x14, 0x22, 0x23, 0x33, 0x4F, 0x5F, 0x6F, 0x80, 0xA1, 0xAF, 0xD1, 0xDF,
                    ]))
            default: bytes[8 + random.below(bytes.count - 40)] = UInt8(random.below(16))
            }
        }
    ) { input in
        let values: [ExactString: RemoteConfigValue]
        do throws(RemoteConfigError) {
            values = try PropertyListDefaults.values(Data(input), name: "fuzz.plist")
        } catch {
            try require("\(error)".contains("fuzz.plist"), "an error that does not name the file: \(error)")
            return
        }
        for (key, value) in values {
            let number = value.numberValue
            _ = (number.int64Value, number.uintValue, number.floatValue, value.boolValue, value.dataValue)
            try require(number.doubleValue.isFinite, "\(key) is not finite")
            try require(RemoteConfigNumber(number.doubleValue).doubleValue == number.doubleValue, "another number")
            if let json = value.jsonValue {
                let text = Bytes(JSONText.compact(json))
                try require(
                    (try? JSONValue(parsing: text, limits: Limits())) == json, "\(key) is no JSON: \(text.text)")
            }
            _ = try? value.decoded(as: [String: Int].self)
            _ = value.stringValue
        }
    }

    static let configState = FuzzTarget(
        "config-state", "what remote config keeps in the index; what is read and written is read as the same",
        longest: 2048,
        words: [
            "{\"installation\":\"i\"", "\"lastFetch\":1", "\"lastStatus\":\"success\"",
            "\"lastError\":\"\"",
            "\"fetched\":1", "\"context\":\"\"", "\"failures\":1", "\"heldSince\":1", "\"heldUntil\":2",
            "\"heldBecause\":\"x\"", "\"staleSince\":1", "\"staleExpected\":1", "\"signals\":{\"a\":1.5}",
            "\"activated\":1", "\"fetches\":[1,2]", "\"announcedFetches\":[1,2,3,4]",
            "}", "{",
        ],
        seeds: { _ in
            let head =
                #"{"installation":"i","lastFetch":1,"lastStatus":"success","failures":3,"heldSince":1,"#
                + #""heldUntil":2,"heldBecause":"x","staleSince":1,"staleExpected":2,"signals":{"a":"b","n":1.5,"i":7},"#
                + #""activated":9}"#
            return [Array(head.utf8), Array(#"{"installation":"i"}"#.utf8)]
        }
    ) { input in
        guard let json = try? JSONValue(parsing: Bytes(input), limits: Limits()), let state = ConfigState(json)
        else { return }
        let written = Bytes(JSONText.compact(state.json))
        guard let read = try? JSONValue(parsing: written, limits: Limits()), let again = ConfigState(read) else {
            throw Finding("what was written cannot be read: \(written.text.debugDescription)")
        }
        try require(again.json == state.json, "written and read again, it differs: \(written.text.debugDescription)")
    }
}
#endif
