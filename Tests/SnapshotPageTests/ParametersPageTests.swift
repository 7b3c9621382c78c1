import RemoteSettingsModel
import SnapshotPage
import Testing

/// The page that explains which value of a parameter a device gets.
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
            "roll--1": record("roll", .string("rolled"), "[env.id, 'dice']|bucketSample(0, 30, 100)"),
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

    @Test func valueThatWinsDependsOnTheDevice() async throws {
        for (query, value) in [
            ("?key=text", "plain value"), ("?key=text&country=NO", "norsk"), ("?key=text&version=2.1", "shiny"),
            ("?key=text&version=2.1&country=NO", "norsk"), ("?key=text&version=1.9", "plain value"),
            ("?key=roll&percent=29.5", "rolled"), ("?key=roll&percent=30", "not rolled"),
            ("?key=roll&percent=100", "not rolled"), ("?key=roll&percent=0", "rolled"),
        ] {
            let page = try await text(query)
            #expect(page.contains("<code dir=\"auto\">&quot;\(value)&quot;</code></h2>"), "\(query)")
        }
        #expect(try await text("?key=gold&signals=plan%3Dgold,+level%3D5").contains("as this record says"))
        #expect(try await text("?key=gold&signals=plan%3Dgold,level%3D4").contains("as no record applies"))
        #expect(try await text("?key=roll&installation=device-1").contains("</h2>"))
    }

    @Test func eachRecordSaysWhy() async throws {
        let page = try await text("?key=text&version=2.1&country=NO")
        #expect(page.contains("Wins: its filter is true.") && page.contains("Comes after text--no."))
        let other = try await text("?key=text&country=SE")
        #expect(other.contains("Wins: it has no filter.") && other.contains("excluded: the filter is false"))
        #expect(other.contains("env.country == &#39;NO&#39;"))
    }

    @Test func withoutAKeyAllAreListed() async throws {
        let page = try await text("?country=NO")
        for key in ["text", "roll", "gold"] { #expect(page.contains("?key=\(key)&amp;country=NO")) }
        #expect(page.contains("norsk") && page.contains("3 parameters"))
    }

    @Test func whatIsNonsenseIsSaid() async throws {
        #expect(try await text("?key=nothing").contains("There is no parameter"))
        for percent in ["x", "-1", "101", "nan", "1e999"] {
            #expect(try await text("?key=roll&percent=\(percent)").contains("no number from 0 to 100"))
        }
        #expect(try await text("?key=%3Cscript%3E&country=%22%3E%3Cimg").contains("&lt;script&gt;"))
        #expect(try await text("?signals=a,b%3D,%3D,%3D%3D%3D,,").contains("parameters"))
    }

    /// Hundreds of parameters whose filters are all different, and one filter that hundreds share.
    @Test(arguments: [(false, 3_000), (true, 200)])
    func aPageCostsNoMoreThanItMay(isShared: Bool, steps: Int) async throws {
        var fixture = PageFixture()
        fixture.limits.server.pageSteps = steps
        fixture.records = [:]
        for number in 100..<400 {
            let filter = "'\(isShared ? 0 : number)' != '' && env.country == 'NO'"
            fixture.records["p\(number)"] = [
                "key": .string("p\(number)"), "value": .string("v\(number)"), "filter_expression": .string(filter),
            ]
        }
        let page = try await fixture.answer("/collections/main/samples/parameters?country=NO").text
        #expect(page.contains("v100") && page.contains("300 parameters"))
        #expect(page.contains("v399") == isShared)
        #expect(page.contains("not worked out here") == !isShared)
        // Each of them alone is explained.
        let one = try await fixture.answer("/collections/main/samples/parameters?country=NO&key=p399").text
        #expect(one.contains("Wins: its filter is true."))
        fixture.limits.server.pageSteps = 10
        let none = try await fixture.answer("/collections/main/samples/parameters?country=NO&key=p399").text
        #expect(none.contains("role=\"alert\"") && !none.contains("Wins"))
    }
}
