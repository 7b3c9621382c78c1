import Dumps
import Publish
@testable import TargetFilter
import RemoteSettingsModel
import Testing

/// Firebase Remote Config conditions, with expected results derived by hand from its documentation. See
/// commands/template-errors.txt for tests of refused conditions.
@Suite struct FirebaseConditionTests {
    private static let device = FilterContext.app(
        version: "1.2.10", locale: "de-AT", country: "US", appID: "1:123:ios:abc", os: "iOS",
        custom: [
            "id": "device-1", "build": "45", "plan": "gold", "level": 5, "build-train": "rc", "sdk": "2.1.0",
            "installationID": "cAAA", "firstOpen": 1_735_725_600_000, "now": 1_748_815_200_000,
        ])
    private static let unknown = FilterContext.app()

    @Test(arguments: [
        ("true", true, true), ("false", false, false), ("true && true", true, true), ("true && false", false, false),
        ("app.version.exactlyMatches(['1.2.10', '2.0'])", true, false),
        ("app.version.exactlyMatches(['1.2'])", false, false),
        ("app.version.contains(['2.1', 'x'])", true, false),
        ("app.version.contains(['3'])", false, false),
        ("app.version.notContains(['3', '4'])", true, false),
        ("app.version.notContains(['3', '1.2'])", false, false),
        (#"app.version.matches(['^1\.'])"#, true, false), (#"app.version.matches(['^2', '10$'])"#, true, false),
        (#"app.version.matches(['^0'])"#, false, false),
        // Versions are not compared as strings: 1.2.9 is less than 1.2.10.
        ("app.version.>(['1.2.9'])", true, false), ("app.version.<(['1.2.9'])", false, false),
        ("app.version.>=(['1.2.10.0'])", true, false), ("app.version.==(['1.2.10'])", true, false),
        ("app.version.!=(['1.2.10'])", false, false), ("app.version.!=(['1.3'])", true, false),
        ("app.version.<=(['1.2'])", false, false),
        ("app.build.>=(['45'])", true, false), ("app.build.exactlyMatches(['44'])", false, false),
        ("app.id == '1:123:ios:abc'", true, false), ("app.id == '1:123:android:abc'", false, false),
        ("device.os == 'ios'", true, false), ("device.os != 'android'", true, false),
        ("device.os == 'web'", false, false),
        ("device.country in ['US', 'CA']", true, false), ("device.country in ['us']", false, false),
        ("device.language in ['de', 'de-AT']", true, false), ("device.language in ['de']", false, false),
        ("app.customSignal['plan'].exactlyMatches(['gold'])", true, false),
        ("app.customSignal['plan'].contains(['ol'])", true, false),
        ("app.customSignal['plan'].notContains(['silver'])", true, false),
        ("app.customSignal['plan'].matches(['(?i)^GOLD$'])", true, false),
        ("app.customSignal['level'] >= 5", true, false), ("app.customSignal['level'] < 5", false, false),
        ("app.customSignal['level'] != 6", true, false), ("app.customSignal['level'] == 5", true, false),
        ("app.customSignal['build-train'].exactlyMatches(['rc'])", true, false),
        ("version(app.customSignal['sdk']) >= '2.0.10'", true, false),
        ("version(app.customSignal['sdk']) < '2.1'", false, false),
        ("app.firebaseInstallationId in ['cAAA', 'cBBB']", true, false),
        // 2025-01-01T10:00:00Z; Lisbon is on UTC in winter.
        ("app.firstOpenTimestamp > ('2025-01-01T09:00:00', 'Europe/Lisbon')", true, false),
        ("app.firstOpenTimestamp <= ('2025-01-01T09:00:00')", false, false),
        ("app.firstOpenTimestamp >= dateTime('2025-01-01T11:00:00', 'Europe/Oslo')", true, false),
        // 2025-06-01T22:00:00Z is midnight in Oslo in summer time.
        ("dateTime >= dateTime('2025-06-02T00:00:00', 'Europe/Oslo')", true, false),
        ("dateTime < dateTime('2025-06-02T00:00:00', 'Europe/Oslo')", false, false),
        ("device.dateTime >= dateTime('2025-06-01T22:00:01')", false, false),
        ("percent <= 100", true, true), ("percent > 100", false, false), ("percent <= 0", false, false),
        ("percent between 0 and 100", true, true), ("percent('seed') > 0", true, true),
        ("device.os == 'ios' && percent <= 100 && device.country in ['US']", true, false),
        ("device.os == 'ios' && app.version.notContains(['1.2'])", false, false),
    ])
    func firebaseConditionMatchesAsDocumented(_ expression: String, _ forDevice: Bool, _ forUnknown: Bool) throws {
        let filter = try FilterExpression(parsing: FirebaseCondition(parsing: expression).filter)
        #expect(filter.matches(Self.device) == forDevice, "\(filter.text)")
        #expect(filter.matches(Self.unknown) == forUnknown, "\(filter.text)")
    }

    @Test func firebasePercentConditionShares() throws {
        func share(_ expression: String) throws -> Int {
            let filter = try FilterExpression(parsing: FirebaseCondition(parsing: expression).filter)
            return (0..<4000).count { filter.matches(.app(custom: ["id": .string("device-\($0)")])) }
        }
        #expect((340...460).contains(try share("percent <= 10")))
        #expect((3540...3660).contains(try share("percent > 10")))
        #expect((720...880).contains(try share("percent('x') between 5 and 25")))
        #expect((15...65).contains(try share("percent <= 0.9999")))
        #expect(try share("percent <= 10") + share("percent > 10") == 4000)
    }
}
