import Foundation
import RemoteSettingsModel
import SnapshotBundle
import Testing

@testable import Publish

/// Time zone conversions, checked against Foundation, which has a separate copy of the database.
struct TimeZoneTests {
    /// Zones whose rules have not changed for years, so different versions of the database agree.
    static let names = [
        "UTC", "Etc/GMT+3", "Europe/Berlin", "Europe/London", "Europe/Lisbon", "Europe/Dublin", "America/New_York",
        "America/Los_Angeles", "America/St_Johns", "America/Sao_Paulo", "America/Argentina/Buenos_Aires",
        "Australia/Sydney", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tokyo",
        "Pacific/Kiritimati", "Pacific/Apia", "Pacific/Chatham", "Africa/Nairobi", "America/Santiago",
    ]

    @Test(arguments: names) func timeZoneMomentsMatchFoundation(name: String) throws {
        let zone = try #require(try SystemTimeZone(named: name))
        let other = try #require(TimeZone(identifier: name))
        // About every 11.6 days, from 1971 to 2099.
        for moment in stride(from: Int64(31_536_000), to: 4_070_908_800, by: 39_999 * 25) {
            let date = Date(timeIntervalSince1970: Double(moment))
            let wall = moment + Int64(other.secondsFromGMT(for: date))
            // A local time that occurs twice has two moments, so this compares local times.
            let found = zone.moment(of: wall)
            let again = other.secondsFromGMT(for: Date(timeIntervalSince1970: Double(found)))
            #expect(found + Int64(again) == wall, "\(name) at \(moment)")
        }
    }

    /// The second before a change and the change itself.
    @Test func timeZoneChangesAreExact() throws {
        let berlin = try #require(try SystemTimeZone(named: "Europe/Berlin"))
        func wall(_ text: String) throws -> Int64 { Int64(try #require(Timestamp(rfc3339: text)).seconds) }
        for (text, offset): (String, Int64) in [
            ("2026-03-29T01:59:59Z", 3600), ("2026-03-29T03:00:00Z", 7200), ("2099-07-01T00:00:00Z", 7200),
            ("2026-10-25T01:59:59Z", 7200), ("2026-10-25T03:00:00Z", 3600),
            // This local time does not exist; clocks show 03:30 instead.
            ("2026-03-29T02:30:00Z", 3600),
        ] {
            #expect(try berlin.moment(of: wall(text)) == wall(text) - offset, "\(text)")
        }
    }

    /// A lookup does not change the time zone of the process.
    @Test func timeZoneLookupKeepsProcessZone() throws {
        // No other test uses this zone, so concurrent tests do not interfere.
        _ = try #require(try SystemTimeZone(named: "Antarctica/Troll")).moment(of: 0)
        #expect(ProcessInfo.processInfo.environment["TZ"]?.contains("Troll") != true)
    }

    @Test(arguments: [
        "", "..", "../zoneinfo/UTC", "/UTC", "Europe", "Europe/", "Europe//Berlin", "tzdata.zi", "Nowhere",
    ])
    func invalidTimeZoneNames(name: String) throws {
        #expect(try SystemTimeZone(named: name) == nil)
    }

    @Test func missingTimeZoneDataIsNamed() throws {
        let folder = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/zones")
        defer { try? FileStore.removeTree(folder) }
        #expect(try SystemTimeZone(named: "UTC", folder: folder) == nil)
        let error = #expect(throws: Failure.self) { try SystemTimeZone(named: "UTC", folder: folder + "/none") }
        #expect(error?.description.contains("install tzdata") == true)
    }
}
