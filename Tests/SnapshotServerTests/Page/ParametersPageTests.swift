import RemoteSettingsModel
import SnapshotServer
import Testing

/// The page that lists the values of parameters.
@Suite struct ParametersPageTests {
    private let fixture: PageFixture

    init() {
        func record(
            _ key: String, _ value: JSONValue?, _ filter: String? = nil, priority: Int? = nil
        ) -> [String: JSONValue] {
            var record: [String: JSONValue] = ["key": .string(key)]
            record[value == nil ? "in_app_default" : "value"] = value ?? .bool(true)
            if let filter { record["filter_expression"] = .string(filter) }
            if let priority { record["priority"] = .count(priority) }
            return record
        }
        var fixture = PageFixture()
        fixture.records = [
            "text": record("text", .string("plain value")),
            "text--no": record("text", .string("norsk"), "env.country == 'NO'", priority: 2),
            "text--new": record("text", .string("shiny"), "env.version|versionCompare('2.0') >= 0", priority: 1),
            "roll--1": record("roll", .string("rolled"), "[env.id, 'dice']|bucketSample(0, 30, 100)").merging([
                "ramp": [[1_767_571_200_000, 50_000], [1_770_076_800_000, 1_000_000]]
            ]) { $1 },
            "roll": record("roll", .string("not rolled")),
            "gold": record("gold", nil, "env.plan == 'gold' && env.level > 4"),
        ]
        self.fixture = fixture
    }

    private func text(_ query: String) async throws -> String {
        let answer = try await fixture.answer("/collections/main/samples/parameters\(query)")
        #expect(answer.status == 200)
        #expect(answer[header: "Content-Security-Policy"]?.contains("default-src 'none'") == true)
        #expect(!answer.text.contains("<script"))
        return answer.text
    }

    @Test func collectionOfParametersOffersThePage() async throws {
        let page = try await fixture.answer("/collections/main/samples").text
        #expect(page.contains("href=\"/collections/main/samples/parameters\""))
        let other = try await PageFixture().answer("/collections/main/samples").text
        #expect(!other.contains("/parameters"))
        #expect(try await PageFixture().answer("/collections/main/samples/parameters").status == 404)
        #expect(try await fixture.answer("/collections/main/none/parameters").status == 404)
    }

    @Test func parametersPageOrdersValues() async throws {
        let page = try await text("")
        let values = ["norsk", "shiny", "plain value"].map { page.firstRange(of: "&quot;\($0)&quot;")?.lowerBound }
        #expect(values[0]! < values[1]! && values[1]! < values[2]!)
        #expect(page.contains("env.country == &#39;NO&#39;") && page.contains("the app’s own default"))
        #expect(page.contains("3 parameters") && page.contains("A ramp: 5 % from 2026-01-05, all from 2026-02-03"))
        for record in fixture.records.keys { #expect(page.contains("/records/\(record)\"")) }
    }

    @Test func parametersPageIsBounded() async throws {
        var fixture = PageFixture()
        fixture.records = [:]
        for number in 100..<700 {
            fixture.records["p\(number)"] = ["key": .string("p\(number)"), "value": .string("v\(number)")]
        }
        let page = try await fixture.answer("/collections/main/samples/parameters").text
        #expect(page.contains("v599") && !page.contains("v600"))
        #expect(page.contains("600 parameters; this page shows the first 500"))
    }
}
