import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

struct RequestScheduleTests {
    private var schedule = RequestSchedule(.app(longestDelay: .seconds(3)))
    private var now = Duration.zero
    private var time: Timestamp { Timestamp(milliseconds: 1_800_000_000_000).advanced(by: now) }

    /// A timestamp of the server, so many seconds after the beginning.
    private func at(_ seconds: Int) -> Timestamp { Timestamp(milliseconds: UInt64(1_800_000_000_000 + seconds * 1000)) }

    private func moment(_ chance: Double = 0.5) -> Moment { Moment(uptime: now, time: time, chance: chance) }

    private mutating func announce(_ timestamp: Timestamp?) {
        schedule.noteAnnounced(timestamp, at: moment())
    }

    /// Asks whenever that is due, for as long as it is said.
    ///
    /// - Parameter answer: the monitor's timestamp at a time; `nil` for no answer.
    /// - Returns: when it asked.
    @discardableResult
    private mutating func pass(_ seconds: Int, _ answer: (Duration) -> Timestamp?) -> [Duration] {
        var asked: [Duration] = []
        let end = now + .seconds(seconds)
        while true {
            switch schedule.step(at: now) {
            case .ask:
                guard schedule.take(at: moment()) != nil else { continue }
                asked.append(now)
                let found = answer(now).map { [seen = schedule.seen] in
                    RequestSchedule.Answer.seen($0, isChanged: $0 != seen)
                }
                _ = schedule.note(found ?? .failed, at: moment())
            case .wait(let pause):
                guard let pause, now + pause < end else {
                    now = end
                    return asked
                }
                now += pause
            }
        }
    }

    @Test mutating func anEventBeforeItsDataIsAskedForUntilTheDataIsThere() {
        schedule.seen = at(-10)
        announce(at(0))
        let asked = pass(60) { [early = at(-10), late = at(0)] now in now < .seconds(5) ? early : late }
        #expect(asked == [1.5, 2.5, 4.5, 8.5].map { .seconds($0) })
        // From then on it is held.
        announce(at(0))
        announce(at(-1))
        #expect(schedule.step(at: now) == .wait(nil))
    }

    @Test mutating func anEventFromTheFutureHidesNothing() {
        schedule.seen = at(0)
        announce(Timestamp(milliseconds: 9_000_000_000_000))
        var asked = pass(3600) { [seen = at(0)] _ in seen }
        #expect((8...13).contains(asked.count), "\(asked.count)")
        // The same lie again is no news.
        announce(Timestamp(milliseconds: 9_000_000_000_000))
        asked = pass(600) { [seen = at(0)] _ in seen }
        #expect(asked.count <= 1)
        announce(at(4000))
        let began = now
        asked = pass(60) { [seen = at(4000)] _ in seen }
        #expect(asked.first == began + .seconds(1.5))
    }

    @Test mutating func liesThatChangeCostOneRequestAMinute() {
        schedule.seen = at(0)
        var asked = 0
        for second in 0..<3600 {
            announce(Timestamp(milliseconds: 9_000_000_000_000 + UInt64(second)))
            asked += pass(1) { [seen = at(0)] _ in seen }.count
        }
        #expect((30...70).contains(asked), "\(asked)")
    }

    /// An answer with a timestamp from the future makes nothing look like old news.
    @Test mutating func aMonitorFromTheFutureHidesNothing() {
        schedule.seen = Timestamp(milliseconds: 1_800_000_000_000 + 20 * 3_600_000)
        announce(at(0))
        let asked = pass(10) { [seen = at(0)] _ in seen }
        #expect(asked == [.seconds(1.5)])
    }

    @Test mutating func whatFailedIsTriedAgainWithTheNextConnection() {
        schedule.seen = at(0)
        schedule.noteOpened(at: moment())
        announce(at(1))
        pass(6) { _ in nil }
        schedule.noteClosed()
        let early = pass(9) { _ in nil }
        #expect(early.isEmpty)
        schedule.noteOpened(at: moment(1))
        announce(at(1))
        let began = now
        let asked = pass(60) { [seen = at(1)] _ in seen }
        #expect(asked.count == 1 && asked[0] - began <= .seconds(2), "\(asked)")
    }

    /// A thousand clients could not fetch what was announced, and lose their connections with the server. It comes
    /// back.
    @Test func aThousandClientsThatReturnMakeNoStorm() {
        var random = UInt64(1)
        func chance() -> Double {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Double(random >> 11) / Double(1 << 53)
        }
        var seconds: [Int: Int] = [:]
        for _ in 0..<1000 {
            var connection = ConnectionSchedule(.app(longestSilence: .seconds(3600)))
            var requests = RequestSchedule(.app(longestDelay: .seconds(3)))
            func moment(_ uptime: Duration) -> Moment {
                Moment(uptime: uptime, time: at(0).advanced(by: uptime), chance: chance())
            }
            connection.noteConnecting()
            connection.noteOpened(at: .zero)
            requests.noteOpened(at: moment(.zero))
            requests.noteAnnounced(at(1), at: moment(.seconds(100)))
            guard requests.take(at: moment(.seconds(103))) != nil else { return #expect(Bool(false)) }
            _ = requests.note(.failed, at: moment(.seconds(103)))
            connection.noteEnd(.lost, at: moment(.seconds(103)))
            requests.noteClosed()
            guard case .wait(let pause?) = connection.step(at: .seconds(103)) else { return #expect(Bool(false)) }
            let opened = .seconds(103) + pause
            requests.noteOpened(at: moment(opened))
            guard case .wait(let wait?) = requests.step(at: opened) else { continue }
            #expect(wait <= .seconds(2))
            seconds[Int((opened + wait).components.seconds), default: 0] += 1
        }
        #expect(seconds.values.reduce(0, +) >= 990)
        #expect((seconds.values.max() ?? 0) <= 300, "\(seconds)")
    }

    @Test mutating func whatFailedIsTriedAgainInAnotherNetwork() {
        announce(at(1))
        pass(10) { _ in nil }
        schedule.noteNetwork(at: now)
        let atOnce = pass(1) { _ in nil }
        #expect(atOnce == [.seconds(10)])
        // Not all the time.
        var asked = 0
        for _ in 0..<300 {
            schedule.noteNetwork(at: now)
            asked += pass(1) { _ in nil }.count
        }
        #expect((9...11).contains(asked), "\(asked)")
    }

    @Test mutating func aServerThatAskedForAPauseGetsIt() {
        announce(at(1))
        now += .seconds(2)
        _ = schedule.take(at: moment())
        _ = schedule.note(.notBefore(seconds: 600), at: moment())
        schedule.noteNetwork(at: now)
        schedule.noteOpened(at: moment(0))
        announce(at(2))
        #expect(schedule.step(at: now) == .wait(.seconds(600)))
    }

    @Test mutating func aSilentConnectionIsAskedOnce() {
        schedule.seen = at(0)
        schedule.noteOpened(at: moment())
        let asked = pass(3600) { [seen = at(0)] _ in seen }
        #expect(asked == [.seconds(10)])
    }

    /// An announcement is lost, and nothing else is ever announced.
    @Test mutating func aServerThatAnnouncesNothingIsAskedNowAndThen() {
        var follower = RequestScheduleTests()
        follower.schedule = RequestSchedule(.follower)
        for (schedule, hours) in [(self, 24), (follower, 2)] {
            var test = schedule
            test.schedule.seen = at(0)
            test.schedule.noteOpened(at: test.moment())
            test.announce(at(0))
            let asked = test.pass(hours * 3600) { [seen = at(0)] _ in seen }
            #expect((7...11).contains(asked.count), "\(asked)")
            test.schedule.noteClosed()
            #expect(test.schedule.step(at: test.now) == .wait(nil))
        }
    }

    /// The list of collections agrees with the lie by one that is larger still.
    @Test mutating func aMonitorFromTheFutureConfirmsNothing() {
        announce(at(1))
        let asked = pass(30) { [lie = Timestamp(milliseconds: 9_000_000_000_000), truth = at(1)] now in
            now < .seconds(10) ? lie : truth
        }
        #expect(asked.count == 5, "\(asked)")
        #expect(schedule.step(at: now) == .wait(nil))
    }

    @Test mutating func whatWasSeenMeanwhileIsNotAskedFor() {
        announce(at(0))
        now += .seconds(2)
        schedule.seen = at(0)
        #expect(schedule.step(at: now) == .ask)
        let request = schedule.take(at: moment())
        #expect(request == nil)
        #expect(schedule.step(at: now) == .wait(nil))
    }
}
