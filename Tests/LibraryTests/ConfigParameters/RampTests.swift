import ConfigParameters
import RemoteSettingsModel
import TargetFilter
import Testing

private func time(_ day: UInt64) -> Timestamp { Timestamp(milliseconds: day * 86_400_000) }

struct RampTests {
    private let ramp = Ramp(
        steps: [
            .init(from: time(1), share: 50_000), .init(from: time(3), share: 250_001),
            .init(from: time(7), share: Ramp.all),
        ])

    @Test func rampKeepsDevicesThatHaveIt() throws {
        let filter = try FilterExpression(parsing: #require(ramp).filter(seed: "'checkout'"))
        func matches(_ day: Double, _ id: String?) -> Bool {
            var env: FilterObject = ["now": .number(day * 86_400_000)]
            env["id"] = id.map(FilterValue.string) ?? .undefined
            return filter.matches(FilterContext(root: ["env": .object(env)]))
        }
        var shares: [Int] = []
        var having: Set<String> = []
        for day in [0.0, 0.99, 1, 2, 3, 6.99, 7, 100] {
            let devices = (0..<2000).map { "device-\($0)" }
            let now = Set(devices.filter { matches(day, $0) })
            #expect(having.isSubset(of: now))
            having = now
            shares.append(now.count)
        }
        #expect(shares[1] == 0 && shares[2] == shares[3] && shares[6] == 2000 && shares[7] == 2000)
        #expect((60...140).contains(shares[3]) && (430...570).contains(shares[4]))
        #expect(!matches(6, nil) || !matches(2, nil))
        #expect(matches(7, nil), "the final step includes devices without an ID")
    }

    @Test func rampRoundTripsThroughRecord() throws {
        let ramp = try #require(ramp)
        #expect(Ramp(ramp.member) == ramp)
        #expect(ramp.description == "5 % from 1970-01-02, 25.0001 % from 1970-01-04, all from 1970-01-08")
        #expect(ramp.share(at: time(0)) == 0 && ramp.share(at: time(5)) == 250_001)
        for text in ["[]", "[[1]]", "[[1,2,3]]", "[[1,0]]", "[[1,5],[1,6]]", "[[-1,5]]", "[[1,1000001]]", "{}", "1"] {
            #expect(Ramp(try JSONValue(parsing: Bytes(utf8: text))) == nil, "\(text)")
        }
        #expect(Ramp(nil) == nil)
    }
}
