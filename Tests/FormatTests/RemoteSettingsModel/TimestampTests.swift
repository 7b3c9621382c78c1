import RemoteSettingsModel
import Testing

struct TimestampTests {
    @Test(
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_795_250_893_123, "2026-11-21T08:48:13.123Z"), (4_102_444_799_999, "2099-12-31T23:59:59.999Z"),
        ] as [(UInt64, String)])
    func timestampAsRFC3339(milliseconds: UInt64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text) == Timestamp(milliseconds: milliseconds))
    }

    @Test(arguments: [
        "2026-02-29", "2026-13-01", "2026-1-01", "x", "", "2026-11-21T08:48:13", "2026-11-21T25:00:00Z",
        "2026-11-21 08:48:13Z",
    ])
    func invalidDateIsRefused(_ text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test func dateWithoutTimeOrFraction() {
        #expect(Timestamp(rfc3339: "2026-11-21")?.rfc3339 == "2026-11-21T00:00:00.000Z")
        #expect(Timestamp(rfc3339: "2026-11-21T08:48:13Z")?.rfc3339 == "2026-11-21T08:48:13.000Z")
        #expect(Timestamp("12x") == nil)
        #expect(Timestamp("\"12\"") == nil)
        #expect(Timestamp("18446744073709551616") == nil)
    }

    /// The next command must be able to read a lock file with such a timestamp.
    @Test(
        arguments: [
            253_402_300_800_000, 1 << 53, 999_999_999_999_999_999, .max - 1, .max,
        ] as [UInt64])
    func yearBeyond9999IsReadAsWritten(milliseconds: UInt64) {
        let time = Timestamp(milliseconds: milliseconds)
        #expect(Timestamp(rfc3339: time.rfc3339) == time)
    }

    @Test(arguments: ["010000-01-01", "999999999-01-01", "1000000000-01-01", "-10000-01-01", "+10000-01-01"])
    func yearInAnotherFormIsRefused(_ text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test func advancedTimestampSaturates() {
        let last = Timestamp(milliseconds: .max)
        #expect(last.advanced(by: .seconds(1)) == last)
        #expect(last.advanced(by: .seconds(-1)) == Timestamp(milliseconds: .max - 1000))
        #expect(Timestamp(milliseconds: 5).advanced(by: .seconds(Int64.max)) == last)
        #expect(Timestamp(milliseconds: 5).advanced(by: .seconds(-1)) == Timestamp(milliseconds: 0))
        #expect(Timestamp(milliseconds: 1 << 63).advanced(by: .seconds(1)) == Timestamp(milliseconds: 1 << 63 + 1000))
    }
}
