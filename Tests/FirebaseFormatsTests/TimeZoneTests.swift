import FileStorage
import Foundation
import RemoteSettingsModel
import Testing

@testable import FirebaseFormats

/// Time zones, beside Foundation's, which has a copy of the database of its own.
struct TimeZoneTests {
    /// Zones whose rules have been the same for years, so that two versions of the database agree.
    static let names = [
        "UTC", "Etc/GMT+3", "Europe/Berlin", "Europe/London", "Europe/Lisbon", "Europe/Dublin", "America/New_York",
        "America/Los_Angeles", "America/St_Johns", "America/Sao_Paulo", "America/Argentina/Buenos_Aires",
        "Australia/Sydney", "Australia/Lord_Howe", "Asia/Kolkata", "Asia/Kathmandu", "Asia/Tokyo",
        "Pacific/Kiritimati", "Pacific/Apia", "Pacific/Chatham", "Africa/Nairobi", "America/Santiago",
    ]

    @Test(arguments: names) func offsetsAreThoseOfFoundation(name: String) throws {
        let zone = try TimeZoneFile(named: name)
        let other = try #require(TimeZone(identifier: name))
        // Every 11 hours and a bit, from 1971 to 2099.
        for moment in stride(from: Int64(31_536_000), to: 4_070_908_800, by: 39_999 * 7) {
            let expected = other.secondsFromGMT(for: Date(timeIntervalSince1970: Double(moment)))
            #expect(zone.offset(at: moment) == Int64(expected), "\(name) at \(moment)")
        }
    }

    /// The second before a change and the change itself, by the rule and by the list.
    @Test func changesAreAtTheirSecond() throws {
        let berlin = try TimeZoneFile(named: "Europe/Berlin")
        for (change, before, after): (Int64, Int64, Int64) in [
            (1_774_746_000, 3600, 7200), (1_792_890_000, 7200, 3600),  // 2026, by the list
            (4_078_429_200, 3600, 7200),  // 2099, by the rule
        ] {
            #expect(berlin.offset(at: change - 1) == before && berlin.offset(at: change) == after)
        }
        // 02:30 does not exist on 29 March 2026; clocks show 03:30 then.
        let skipped = Int64(try #require(Timestamp(rfc3339: "2026-03-29T02:30:00Z")).seconds)
        #expect(berlin.moment(of: skipped) == skipped - 3600)
    }

    @Test func rulesAreReadAndRefused() throws {
        let berlin = try #require(TimeZoneRule("CET-1CEST,M3.5.0,M10.5.0/3"))
        #expect(berlin.offset(at: 1_782_000_000) == 7200 && berlin.offset(at: 1_770_000_000) == 3600)
        let dublin = try #require(TimeZoneRule("IST-1GMT0,M10.5.0,M3.5.0/1"))
        #expect(dublin.offset(at: 1_782_000_000) == 3600 && dublin.offset(at: 1_770_000_000) == 0)
        #expect(try #require(TimeZoneRule("<+0330>-3:30")).offset(at: 0) == 12_600)
        // 60 is 1 March in each year for J, and 1 March only in a common year without it.
        let julian = try #require(TimeZoneRule("AAA0BBB,J60/0,J61/0"))
        let zeroBased = try #require(TimeZoneRule("AAA0BBB,59/0,60/0"))
        let (common, leap): (Int64, Int64) = (1_772_323_200, 1_835_481_600)  // 1 March 2026 and 2028
        #expect(julian.offset(at: common) == 3600 && julian.offset(at: leap) == 3600)
        #expect(zeroBased.offset(at: common) == 3600 && zeroBased.offset(at: leap) == 0)
        for wrong in [
            "", "A0", "CET", "CET-", "CET-1CEST", "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-200",
            "CET-1CEST,M3.5.0,M10.5.0/3,", "CET-1CEST,M3.6.0,M10.5.0", "CET-1CEST,J0,J1", "<+03", "CET-1CEST,366,1",
            "CET-99999999999999999999",
        ] {
            #expect(TimeZoneRule(wrong) == nil, "\(wrong)")
        }
        // A year that no calendar has is not asked for.
        #expect(berlin.offset(at: .max / 2) != 1 && berlin.offset(at: .min / 2) != 1)
    }

    @Test(arguments: [
        "", "..", "../zoneinfo/UTC", "/UTC", "Europe", "Europe/", "Europe//Berlin", "tzdata.zi", "Nowhere",
    ])
    func namesThatAreNone(name: String) {
        #expect(throws: TimeZoneFile.Problem.unknown) { try TimeZoneFile(named: name) }
    }

    @Test func noTimeZonesAreInstalled() throws {
        let folder = try FileStore.makeTemporaryDirectory("zones")
        defer { try? FileStore.removeTree(folder) }
        #expect(throws: TimeZoneFile.Problem.unknown) { try TimeZoneFile(named: "UTC", folder: folder) }
        #expect(throws: TimeZoneFile.Problem.noTimeZones) { try TimeZoneFile(named: "UTC", folder: folder + "/none") }
    }

    /// A file that is cut anywhere, or has another byte anywhere, is refused or read; nothing traps.
    @Test func damagedFiles() throws {
        let whole = try #require(try FileStore.read(TimeZoneFile.folder + "/America/New_York", limit: 1 << 20)).array
        for length in 0..<whole.count {
            #expect(throws: TimeZoneFile.Problem.damaged) { try TimeZoneFile(Bytes(Array(whole[0..<length]))) }
        }
        for place in whole.indices {
            for value: UInt8 in [0, 0x7F, 0x80, 0xFF, whole[place] ^ 1] {
                var bytes = whole
                bytes[place] = value
                guard let zone = try? TimeZoneFile(Bytes(bytes)) else { continue }
                for moment: Int64 in [-5_000_000_000, 0, 1_800_000_000, 9_000_000_000] { _ = zone.moment(of: moment) }
            }
        }
    }
}
