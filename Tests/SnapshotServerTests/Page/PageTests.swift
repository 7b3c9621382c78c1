import Foundation
import RemoteSettingsModel
import SnapshotServer
import Testing

struct PageTests {
    @Test func frontPageListsCollections() async throws {
        var fixture = PageFixture()
        fixture.pin = "1700000000123"
        fixture.problem = "certificate chain: expired"
        let answer = try await fixture.answer("/")
        #expect(answer.status == 200)
        for part in [
            "samples</a>", "1700000000123", "2023-11-14 22:13 UTC", "3 days", "certificate chain: expired",
            "main/samples does not match the lock file", "Unsigned", "data-label=\"Pin\"", "<caption>",
            "scope=\"col\"", "scope=\"row\"",
        ] {
            #expect(answer.text.contains(part), "\(part)")
        }
    }

    /// A proxy may serve the pages below a path.
    @Test(arguments: [
        "/", "/?q=x", "/collections/main/samples", "/collections/main/samples/records/one",
        "/collections/main/samples/changes", "/nothing", "/collections/main/none",
    ])
    func pageLinksStartWithPublicPath(target: String) async throws {
        var fixture = PageFixture()
        fixture.files = ["one": ("a.png", "image/png", [0x89, 0x50])]
        let plain = try await fixture.answer(target).text
        fixture.path = "/set&tings"
        let text = try await fixture.answer(target).text
        for name in ["href", "src", "action"] {
            let (before, after) = ("\(name)=\"/", "\(name)=\"/set&amp;tings/")
            #expect(text.split(separator: before).count == plain.split(separator: before).count)
            #expect(text.split(separator: after).count == text.split(separator: before).count, "\(name)")
        }
        #expect(text.contains("href=\"/set&amp;tings/icon.svg\""))
    }

    @Test func pageSearchFindsCollections() async throws {
        let catalog = PageCatalog(collections: try ["main/one", "main/two"].map { try named($0).collection() })
        let found = await PageFixture.answer("/?q=TW", of: catalog).text
        #expect(found.contains("/collections/main/two") && !found.contains("/collections/main/one"))
        #expect(await PageFixture.answer("/?q=three", of: catalog).text.contains("No collection has “three”"))
    }

    @Test(arguments: [
        ("", ["a", "b", "c"]), ("first", ["a"]), ("FIRST", ["a"]), ("name", ["a", "b", "c"]), ("name+t", ["a", "c"]),
        ("na%C3%AFve", ["c"]), ("quo%22e", ["b"]), ("nothing", []), ("%F0%9F%98%80", ["b"]),
    ])
    func pageSearchFindsRecords(query: String, ids: [String]) async throws {
        var fixture = PageFixture()
        fixture.records = [
            "a": ["name": .string("First")], "b": ["name": .string("quo\"e 😀")], "c": ["name": .string("naïve, the")],
        ]
        let text = try await fixture.answer("/collections/main/samples?q=\(query)").text
        #expect(["a", "b", "c"].filter { text.contains("/records/\($0)\"") } == ids)
    }

    @Test func recordsPageIsPaginated() async throws {
        var fixture = PageFixture()
        fixture.records = [:]
        for index in 0..<250 { fixture.records["r\(1000 + index)"] = [:] }
        func shown(_ query: String) async throws -> [String] {
            let text = try await fixture.answer("/collections/main/samples\(query)").text
            return fixture.records.keys.sorted().filter { text.contains("/records/\($0)\"") }
        }
        #expect(try await shown("").count == 100)
        #expect(try await shown("?page=3").first == "r1200")
        #expect(try await shown("?page=3").count == 50)
        #expect(try await shown("?page=99").count == 50)
        #expect(try await shown("?page=-1").first == "r1000")
        #expect(try await shown("?show=all").count == 250)
        // Each page is built in memory, so its size is limited.
        for index in 250..<2100 { fixture.records["r\(1000 + index)"] = [:] }
        func rows(_ query: String) async throws -> Int {
            try await fixture.answer("/collections/main/samples\(query)").text.components(separatedBy: "/records/r")
                .count
                - 1
        }
        #expect(try await rows("?show=all") == 2000)
        #expect(try await rows("?show=all&page=2") == 100)
        #expect(try await rows("?show=all&page=9223372036854775807") == 100)
        let text = try await fixture.answer("/collections/main/samples?show=all&page=2").text
        #expect(text.contains("?show=all\"") && text.contains("Page 2 of 2"))
        #expect(try await fixture.answer("/collections/main/samples").text.contains("Show 2,000 on each page"))
    }

    @Test func changesPageSinceOlderSnapshot() async throws {
        var fixture = PageFixture()
        fixture.records = ["kept": [:], "new": [:], "other": ["v": .string("after")]]
        fixture.older = [
            (1_600_000_000_000, ["kept": [:], "gone": [:], "other": ["v": .string("before"), "w": .bool(true)]])
        ]
        let text = try await fixture.answer("/collections/main/samples/changes?from=1600000000000").text
        for part in [
            "Updated: 1 record", "Created: 1 record", "Deleted: 1 record", "&quot;before&quot;", "&quot;after&quot;",
            "<dt>w</dt>", ">gone<",
        ] {
            #expect(text.contains(part), "\(part)")
        }
        #expect(!text.contains("kept"))
        #expect(try await fixture.answer("/collections/main/samples/changes?from=5").status == 404)
        #expect(try await PageFixture().answer("/collections/main/samples/changes").status == 404)
    }

    @Test func pageSizeIsBounded() async throws {
        func record(_ factor: Int) -> [String: JSONValue] {
            let members = (0..<2000).map { JSONValue.Member(key: "m\($0)", value: .count($0 * factor + 1)) }
            return [String(repeating: "k", count: 2_000_000): .object(members)]
        }
        var fixture = PageFixture()
        fixture.records = ["costly": record(2)]
        fixture.older = [(1_600_000_000_000, ["costly": record(1)])]
        let page = "/collections/main/samples/changes?from=1600000000000"
        let changes = try await fixture.answer(page).text
        #expect(changes.utf8.count < 3_000_000 && changes.contains("… and 999 more fields"))
        #expect(changes.hasSuffix("</html>\n"))
        let unwanted = await OriginPage().answer(
            path: "/collections/main/samples/changes", query: "",
            of: PageCatalog(collections: [try fixture.collection()]), now: PageFixture.now, isWanted: { false })
        #expect(unwanted.text.contains("1 more record is not shown."))
        fixture.records = ["large": ["a": .string(String(repeating: "&\u{1}", count: 1_000_000)), "b": .bool(true)]]
        let large = try await fixture.answer("/collections/main/samples/records/large").text
        #expect(large.utf8.count < 5_000_000 && large.contains("the rest is not shown.</p>"))
        #expect(large.hasSuffix("</html>\n") && large.contains("Read-only."))
    }

    @Test(arguments: [
        "/nothing", "/collections", "/collections/main", "/collections/main/", "/collections/main/other",
        "/collections/main/samples/records", "/collections/main/samples/records/none",
        "/collections/main/samples/records/one/other", "/collections/main/samples/records/one/attachment",
        "/collections/main/samples/records/one/download", "/collections/..%2F..%2Fetc/passwd", "/collections/main/%zz",
        "//", "", "/collections/main/samples/records/%2e%2e",
    ])
    func missingPagesAreNotFound(path: String) async throws {
        let answer = try await PageFixture().answer(path)
        #expect(answer.status == 404)
        #expect(answer[header: "Content-Security-Policy"]?.contains("default-src 'none'") == true)
    }

    @Test func pagePathsExcludeTheAPI() {
        for path in ["/", "/icon.svg", "/collections/main/markets"] { #expect(OriginPage.owns(path: path)) }
        for path in ["/v1/", "/v2/buckets/main/collections/x/changeset", "/__heartbeat__", "/attachments/main/x"] {
            #expect(!OriginPage.owns(path: path))
        }
    }

    private func named(_ name: String) -> PageFixture {
        var fixture = PageFixture()
        fixture.name = name
        return fixture
    }
}
