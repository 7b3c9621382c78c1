import ConfigParameters
import RemoteSettingsModel
import TargetFilter
import Testing

private func time(_ day: UInt64) -> Timestamp { Timestamp(milliseconds: day * 86_400_000) }

struct RampTests {
    private let ramp = Ramp(
        seed: "'checkout'",
        steps: [
            .init(from: time(1), share: 50_000), .init(from: time(3), share: 250_001),
            .init(from: time(7), share: Ramp.all),
        ])

    @Test func aDeviceThatHasItKeepsIt() throws {
        let filter = try FilterExpression(parsing: #require(ramp).filter)
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
        #expect(matches(7, nil), "all are all, with an id or without")
    }

    @Test func isFoundInAFilter() throws {
        let ramp = try #require(ramp)
        #expect(Ramp(in: ramp.filter) == ramp)
        #expect(Ramp(in: "(env.channel == 'beta') && (\(ramp.filter))") == ramp)
        #expect(Ramp(in: ramp.filter.replacing("250001", with: "40000")) == nil, "it does not grow")
        #expect(Ramp(in: ramp.filter.replacing("1000000", with: "0")) == nil)
        #expect(Ramp(in: ramp.filter.replacing(" && ", with: " || ")) == nil)
        #expect(Ramp(in: "env.now >= ('2026-01-01'|date)") == nil)
        #expect(Ramp(in: "(env.now >= ('2026-01-01T00:00:00.000Z'|date))")?.description == "all from 2026-01-01")
        #expect(ramp.description == "5 % from 1970-01-02, 25.0001 % from 1970-01-04, all from 1970-01-08")
        #expect(ramp.share(at: time(0)) == 0 && ramp.share(at: time(5)) == 250_001)
    }

    @Test func hasToGrow() {
        #expect(Ramp(seed: "'s'", steps: []) == nil)
        #expect(Ramp(seed: "'s'", steps: [.init(from: time(1), share: 0)]) == nil)
        #expect(Ramp(seed: "'s'", steps: [.init(from: time(1), share: Ramp.all + 1)]) == nil)
        #expect(Ramp(seed: "'s'", steps: [.init(from: time(1), share: 5), .init(from: time(1), share: 6)]) == nil)
        #expect(Ramp(seed: "'s'", steps: [.init(from: time(1), share: 5), .init(from: time(2), share: 5)]) == nil)
    }
}

struct KeyMentionsTests {
    @Test func findsKeysOutsideOfComments() {
        var mentions = KeyMentions()
        mentions.add(
            #"""
            let a = config["one"]; /* config["two"] */ let b = settings["three"]
            // config["four"]
            let c = remoteConfig
                .configValue(forKey: "five"), d = "\(a)six", e = """
                seven
                """, f = "es\"caped"
            @RemoteConfigProperty(key: "eight", fallback: 1) var g
            let h = defaults.string(forKey: "nine"), url = "http://x", i = appConfig.bool(forKey: "ten")
            """#, file: "a.swift")
        #expect(mentions.reads.map(\.key) == ["one", "five", "eight", "ten"])
        #expect(mentions.reads.map(\.line) == [1, 4, 7, 8])
        let found = ["one", "two", "three", "four", "five", "six", "es\"caped", "nine", "http:"].filter {
            mentions.mentions($0)
        }
        #expect(found == ["one", "three", "five", "es\"caped", "nine"])
    }

    @Test func unfinishedCodeEnds() {
        for text in ["\"", "/*", "\"\"\"", "'\\", "`", "\"\\", "//", "\"a\nb\""] {
            var mentions = KeyMentions()
            mentions.add(text, file: "a.c")
            #expect(!mentions.mentions("nothing"))
        }
    }
}
