import RemoteSettingsModel
import Testing

@testable import RemoteSettingsHTTP

@Suite("Dates and ranges in headers") struct HTTPDateTests {
    static let now = Timestamp(milliseconds: 1_795_251_600_000)  // 2026-11-21

    /// The first three are RFC 9110's examples, which all mean the same time.
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"),
        ("Thu, 29 Feb 2024 23:59:59 GMT", "2024-02-29T23:59:59Z"),
        ("Sat Nov 21 09:00:00 2026", "2026-11-21T09:00:00Z"),
        ("Saturday, 21-Nov-26 09:00:00 GMT", "2026-11-21T09:00:00Z"),
        ("Friday, 01-Jan-76 00:00:00 GMT", "2076-01-01T00:00:00Z"),
        ("Saturday, 01-Jan-77 00:00:00 GMT", "1977-01-01T00:00:00Z"),
        ("Thu, 01 Jan 1970 00:00:00 GMT", "1970-01-01T00:00:00Z"),
        ("Sat, 31 Dec 2016 23:59:60 GMT", "2017-01-01T00:00:00Z"),
    ])
    func httpDateIsParsed(_ text: String, _ expected: String) {
        #expect(HTTPDate.parse(text, now: Self.now) == Timestamp(rfc3339: expected))
    }

    @Test(arguments: [
        "", "120", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun 06 Nov 1994 08:49:37 GMT",
        "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
        "Sun, 29 Feb 2023 08:49:37 GMT", "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, 06 Nov 1994 24:00:00 GMT",
        "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
        "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sunday, 06-Nov-1994 08:49:37 GMT",
        "Sun Nov 006 08:49:37 1994", "Sun, 06 Nov 01994 08:49:37 GMT", "Sun, -6 Nov 1994 08:49:37 GMT",
    ])
    func invalidHTTPDateIsRefused(_ text: String) {
        #expect(HTTPDate.parse(text, now: Self.now) == nil)
    }

    @Test func contentRanges() throws {
        #expect(ContentRange("bytes 5-9/10")?.range == 5...9)
        #expect(ContentRange("bytes 5-9/10")?.size == 10)
        #expect(ContentRange("bytes 0-0/*")?.range == 0...0)
        let unsatisfied = try #require(ContentRange("BYTES */10"))
        #expect(unsatisfied.range == nil && unsatisfied.size == 10)
        for text in [
            "", "bytes", "bytes 5-9", "bytes 5-9/9", "bytes 9-5/10", "bytes -5/10", "bytes 5-/10", "items 5-9/10",
            "bytes */*", "bytes 5-9/1/2", "bytes +5-9/10", "bytes 5-99999999999999999999/*",
        ] { #expect(ContentRange(text) == nil, "\(text)") }
    }
}
