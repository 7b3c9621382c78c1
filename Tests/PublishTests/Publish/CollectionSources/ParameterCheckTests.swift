import ConfigParameters
import Publish
import RemoteSettingsModel
import Testing

struct ParameterCheckTests {
    private func set(_ records: String) throws -> ParameterSet {
        let body = #"{"metadata":{"id":"c","bucket":"main"},"timestamp":1,"changes":[\#(records)]}"#
        return try ParameterSet(try Changeset(parsing: Bytes(utf8: body)).records)
    }

    @Test func parameterCheckFindsMistakes() throws {
        let records = try set(
            #"""
            {"id":"a","key":"twice","value":1},{"id":"b","key":"twice","value":2},
            {"id":"c","key":"broken","value":1},{"id":"d","key":"broken","value":2,"filter_expression":"1 +"},
            {"id":"e","key":"types","value":1},{"id":"f","key":"types","value":"1","filter_expression":"env.a"},
            {"id":"g","key":"types","in_app_default":true,"filter_expression":"env.b"},
            {"id":"k","key":"never","value":1},{"id":"l","key":"never","value":2,"filter_expression":"env.a == 'x'"},
            {"id":"n","key":"never","value":4,"filter_expression":"env.a == 'x'"},
            {"id":"h","key":"nodefault","value":[],"filter_expression":"true"},
            {"id":"i","key":"good","value":true},{"id":"j","key":"good","value":false,"filter_expression":"true"}
            """#)
        let findings = records.findings()
        #expect(findings.map(\.key) == ["broken", "never", "nodefault", "twice", "types"])
        #expect(findings.map(\.records) == [["d"], ["n"], ["h"], ["a", "b"], ["e", "f"]])
        #expect(findings.map(\.isError) == [true, false, false, true, false])
        #expect(findings[1].problem == .shadowed(by: "l"))
        #expect(findings[4].problem == .changingType(kinds: ["a number", "a string"]))
        #expect(findings[4].description == "types: its values have different types: e is a number, f is a string")
        #expect(findings[0].description.hasPrefix("broken: the record d never applies: at byte 3"))
    }
}
