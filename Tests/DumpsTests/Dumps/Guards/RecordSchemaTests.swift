import RemoteSettingsModel
import TargetFilter
import Testing
@testable import Dumps

private func json(_ text: String) throws -> JSONValue { try JSONValue(parsing: Bytes(utf8: text)) }

/// Returns the schema violations of a value, each as `path: problem`.
private func problems(_ schema: String, _ value: String) throws -> [String] {
    var budget = RecordSchema.budget
    return try RecordSchema(json(schema)).violations(of: json(value), budget: &budget).map {
        "\($0.path.joined(separator: ".")): \($0.problem)"
    }
}

/// commands/configuration-errors.txt covers invalid schemas.
struct RecordSchemaTests {
    @Test func schemaViolationNamesThePath() throws {
        let schema = #"{"properties":{"a":{"items":{"type":"integer","maximum":5}}},"required":["a","b"]}"#
        #expect(
            try problems(schema, #"{"a":[1,2.0,6,"x"],"b":1}"#) == [
                "a.2: found 6, expected at most 5", #"a.3: found the string "x", expected integer"#,
            ])
        #expect(try problems(schema, #"{"a":[]}"#) == [": the member b is missing"])
    }

    @Test func schemaIgnoresServerMembers() throws {
        let schema =
            #"{"required":["id","last_modified","schema"],"additionalProperties":false,"properties":{"x":true}}"#
        #expect(try problems(schema, #"{"id":"a","last_modified":5,"schema":1,"x":2}"#).isEmpty)
        #expect(try problems(schema, #"{"id":"a","y":2}"#).count == 1)
    }

    @Test func recursiveSchemaTerminates() throws {
        #expect(try problems(##"{"$ref":"#"}"##, "{}").count == 1)
        #expect(try problems(##"{"not":{"$ref":"#"}}"##, "{}").first?.contains("too deep") == true)
        let nested =
            String(repeating: #"{"anyOf":[{"type":"null"},"#, count: 60) + "true" + String(repeating: "]}", count: 60)
        #expect(try problems(nested, "{}").isEmpty)
    }

    @Test(
        arguments: [
            // Each level refers to the next one three times.
            ##"{"definitions":{"a":{"allOf":[{"$ref":"#/definitions/b"},{"$ref":"#/definitions/b"},{"not":{"$ref":"##
                + ##""#/definitions/b"}}]},"b":{"properties":{"x":{"$ref":"#/definitions/a"}}}},"$ref":"#/definitions/a"}"##,
            #"{"properties":{"x":{"patternProperties":{"(a*)*b":true,"(b*)*c":true}}}}"#,
            #"{"properties":{"x":{"propertyNames":{"format":"regex"}}}}"#,
        ])
    func schemaValidationBudgetIsShared(_ schema: String) throws {
        var budget = WorkBudget(steps: 100_000)
        let members = (0..<50).map { #""aaaaaaaaaaaaaaaaaaaaaaaa\#($0)":1"# }.joined(separator: ",")
        let nested = String(repeating: #"{"x":"#, count: 12) + "{\(members)}" + String(repeating: "}", count: 12)
        let schema = try RecordSchema(json(schema))
        for value in Array(repeating: try json(schema.parts.count > 4 ? nested : "{\"x\":{\(members)}}"), count: 50) {
            let found = schema.violations(of: value, budget: &budget)
            guard budget.isExhausted else { continue }
            #expect(found.last?.problem == "validating the collection takes more than 100000 steps")
            return
        }
        Issue.record("the budget was not used up")
    }

    @Test func schemaUniqueItemsComparesDeepValues() throws {
        let deep = String(repeating: #"{"a\"":["#, count: 50) + #""\\""# + String(repeating: "]}", count: 50)
        #expect(try problems(#"{"properties":{"n":{"uniqueItems":true}}}"#, #"{"n":[\#(deep),\#(deep)]}"#).count == 1)
        // Swift considers these two strings equal, JSON Schema does not.
        let spellings = #"{"n":["\u00e9","e\u0301"]}"#
        #expect(try problems(#"{"properties":{"n":{"uniqueItems":true}}}"#, spellings).isEmpty)
        let named = #"{"required":["\u00e9"],"properties":{"e\u0301":false}}"#
        #expect(try problems(named, #"{"e\u0301":1}"#).count == 2)
    }
}
