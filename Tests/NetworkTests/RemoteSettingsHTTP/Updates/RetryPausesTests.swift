import RemoteSettingsHTTP
import Testing

struct RetryPausesTests {
    @Test func retryPausesGrowAndAreBounded() {
        let pauses = RetryPauses(first: .milliseconds(100), longest: .seconds(1))
        let longest = (1...7).map { pauses.pause(after: $0, random: 1) }
        #expect(longest == [100, 200, 400, 800, 1000, 1000, 1000].map { .milliseconds($0) })
        #expect(pauses.pause(after: 3, random: 0.25) == .milliseconds(100))
        #expect(pauses.pause(after: .max, random: 0) == .zero)
        #expect(pauses.pause(after: .min, random: 7) == .milliseconds(100))
    }

    @Test func retryPauseSpread() {
        let pauses = RetryPauses(first: .seconds(120), longest: .seconds(14_400), spread: 0.5...1.5)
        #expect([0, 0.5, 1].map { pauses.pause(after: 1, random: $0) } == [60, 120, 180].map { .seconds($0) })
        #expect(pauses.pause(after: 40, random: 1) == .seconds(21_600))
    }
}
