@testable import ConfigParameters
import RemoteSettingsModel
import TargetFilter
import Testing

/// Parses the records of a changeset into canonical form.
private func table(_ records: String) throws -> RecordTable {
    let body = #"{"metadata":{"id":"c","bucket":"main"},"timestamp":1,"changes":[\#(records)]}"#
    return try Changeset(parsing: Bytes(utf8: body)).records
}

private func set(_ records: String) throws -> ParameterSet { try ParameterSet(try table(records)) }

/// The winning value as JSON, or `nil` if the app's default applies.
private func value(_ set: ParameterSet, _ key: String) -> String? {
    var filter = RecordFilter(context: .empty)
    guard case .value(let json)? = set.winner(for: key, &filter)?.content else { return nil }
    return json.text
}

/// See commands/check-parameters.txt for tests of invalid records, and commands/values.txt for tests of values.
struct ParameterSetTests {
    @Test func parameterKeyLengthIsLimited() throws {
        func key(_ count: Int) -> String {
            #"{"id":"bad","key":"\#(String(repeating: "ü", count: count))","value":1}"#
        }
        #expect(try set(key(256)).keys.count == 1)
        #expect(throws: Failure.invalidKey.of(record: "bad")) { try set(key(257)) }
        let long = String(repeating: "a", count: 257)
        #expect(throws: Failure.self) { try set(#"{"id":"bad","key":"\#(long)","value":1}"#) }
    }

    @Test(arguments: ["", "{", "[]", "{}x", #"{"key":"#, #"{"key":"k","value":}"#, #"{"key" :"k","value":1}"#])
    func parameterRecordMustBeCanonicalJSON(_ json: String) {
        let record = Record(id: "bad", json: Bytes(utf8: json))
        #expect(throws: Failure.self) { try ParameterRecord(record) }
    }

    /// The order of the records does not matter.
    @Test func parameterRecordsMayBeUnsorted() throws {
        let texts = #"{"id":"a","key":"k","value":1},{"id":"b","key":"k","value":2},{"id":"c","key":"l","value":3}"#
        let records = Array(try table(texts))
        for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
            let set = try ParameterSet(order.map { records[$0] })
            #expect(value(set, "k") == "1")
            #expect(set.records.map(\.id) == ["a", "b", "c"])
        }
    }
}
