import RemoteSettingsTesting
import TestedApp
import XCTest

/// `RemoteSettingsTesting` with XCTest and in Swift 5 mode.
final class MarketListXCTests: XCTestCase {
    func testTheList() async throws {
        let test = try TestService()
        try test.collection("markets").load(json: #"[{"id":"de","name":"Germany"},{"id":"fr","name":"France"}]"#)
        let app = MarketList(service: test.service, config: TestRemoteConfig(["title": "Where to?"]))
        let problem = await app.refresh()
        XCTAssertNil(problem)
        XCTAssertEqual(app.lines, ["France", "Germany"])
        XCTAssertEqual(app.title, "Where to?")
    }

    func testAnExpectationSaysWhatWasFound() async throws {
        let test = try TestService()
        let client = test.service.makeClient(collectionName: "markets")
        try test.collection("markets").put("de")
        XCTAssertThrowsError(try client.expectRecords(["de"])) {
            XCTAssertTrue("\($0)".contains("expected the records de, but the collection has no state"), "\($0)")
        }
        try await client.sync()
        try client.expectRecords(["de"])
        XCTAssertThrowsError(try client.expectRecords(["fr"])) {
            XCTAssertTrue("\($0)".hasSuffix("found de; missing: fr; unexpected: de"), "\($0)")
        }
    }
}
