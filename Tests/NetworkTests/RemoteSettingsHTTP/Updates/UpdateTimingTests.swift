import RemoteSettingsModel
import Testing
@testable import RemoteSettingsHTTP

/// When connections and requests are made. The clock jumps to the next step that is due.
struct UpdateTimingTests {
    private static let app = UpdateTiming(jitter: .milliseconds(500), longestSilence: .seconds(3600))
    private static let start = 1_800_000_000_000

    private var timing = Self.app
    private var now = Duration.zero
    private var chance = 0.5
    /// How far the wall clock was changed.
    private var difference = Duration.zero
    /// The error with which connections fail, or `nil` to open them.
    private var refusal: UpdateEnd?
    /// The monitor's timestamp; `nil` if requests fail.
    private var monitor: Timestamp? = at(0)
    private var connected: [Duration] = []
    private var asked: [Duration] = []

    private static let down = UpdateEnd(.failed, "down")

    init() {
        timing.seen = Self.at(0)
        timing.wantsConnection = true
    }

    /// The server's timestamp `seconds` after the start.
    private static func at(_ seconds: Int) -> Timestamp { Timestamp(milliseconds: UInt64(start + seconds * 1000)) }

    private var moment: Moment { Moment(uptime: now, time: Self.at(0).advanced(by: now + difference), chance: chance) }

    private mutating func announce(_ timestamp: Timestamp?) { timing.recordAnnouncement(timestamp, at: moment) }

    private mutating func end(_ error: UpdateEnd = down) { timing.recordEnd(error, at: moment) }

    private mutating func receive(_ message: UpdateMessage) -> UpdateEnd? { timing.record(message, at: moment) }

    /// Advances the clock by `duration` and performs all steps that are due.
    private mutating func pass(_ duration: Duration) {
        let end = now + duration
        while let next = timing.next, next.due < end {
            now = max(now, next.due)
            switch next.step {
            case .connect:
                connected.append(now)
                timing.recordConnecting(at: now)
                if let refusal { self.end(refusal) } else { timing.recordOpened(at: moment) }
            case .close: self.end()
            case .ask:
                guard timing.nextRequest(at: moment) != nil else { continue }
                asked.append(now)
                timing.record(monitor.map { .seen($0) } ?? .failed, at: moment)
            }
        }
        now = end
    }

    /// Opens a connection and announces the server's current state.
    private mutating func open() {
        pass(.milliseconds(1))
        announce(monitor)
        #expect(timing.isOpen && asked.isEmpty)
    }

    private func gaps(_ times: [Duration]) -> [Duration] { zip(times, times.dropFirst()).map { $1 - $0 } }

    // MARK: Requests

    /// Bad announcements (false, early, duplicate, far in the future, a flood) do not delay the genuine one.
    @Test func announcementIsFetchedDespiteLies() {
        var test = Self()
        test.open()
        for number in 1...60 {
            let second = Int(test.now.components.seconds)
            let future = Timestamp(milliseconds: 9_000_000_000_000 + UInt64(number))
            let flood = (0..<1000).map { Timestamp(milliseconds: 8_000_000_000_000 + UInt64($0)) as Timestamp? }
            let lies: [[Timestamp?]] = [
                [Self.at(second)], [Self.at(second + 3)], [test.monitor, test.monitor], [future], flood, [nil],
            ]
            for lie in lies[number % 6] {
                test.chance = Double(number % 4) / 4
                test.announce(lie)
            }
            _ = test.receive(.heartbeat)
            test.pass(.milliseconds(number * 50))
            test.monitor = Self.at(Int(test.now.components.seconds))
            let began = test.now
            test.announce(test.monitor)
            test.pass(.seconds(2))
            #expect(test.asked.contains { $0 >= began && $0 - began <= .milliseconds(1500) }, "\(number)")
        }
        #expect(test.gaps(test.asked).allSatisfy { $0 >= .seconds(1) })
    }

    @Test mutating func earlyAnnouncementIsAskedUntilDataArrives() {
        open()
        announce(Self.at(1))
        pass(.seconds(5))
        monitor = Self.at(1)
        pass(.seconds(60))
        #expect(gaps(asked) == [1, 2, 4].map { .seconds($0) })
        // Once the data has arrived, it is not requested again.
        for old in [1, 0, -1] { announce(Self.at(old)) }
        pass(.seconds(60))
        #expect(asked.count == 4)
    }

    @Test mutating func falseAnnouncementCostsThirteenRequests() {
        open()
        announce(Timestamp(milliseconds: 9_000_000_000_000))
        for _ in 0..<240 {
            pass(.seconds(30))
            _ = receive(.heartbeat)
        }
        #expect(asked.count == 13, "\(asked)")
    }

    /// A request contains the timestamp announced last, for which no cache has an outdated response.
    @Test mutating func requestNamesLastAnnouncedTimestamp() {
        open()
        announce(Self.at(90_000))
        pass(.seconds(2))
        announce(Self.at(1))
        now += .seconds(1)
        let request = timing.nextRequest(at: moment)
        #expect(request?.announced == Self.at(1) && request?.newest == Self.at(90_000))
    }

    @Test mutating func futureMonitorHidesNoAnnouncement() {
        monitor = Self.at(72_000)
        open()
        announce(nil)
        pass(.seconds(2))
        for number in 1...5 {
            announce(Self.at(number))
            pass(.seconds(2))
        }
        #expect(asked.count >= 6)
        // A correct monitor timestamp ends the extra requests.
        monitor = Self.at(5)
        pass(.seconds(600))
        let count = asked.count
        announce(Self.at(5))
        pass(.seconds(60))
        #expect(asked.count == count)
    }

    @Test(arguments: [-90_000, 90_000]) func clockChangeHidesNoAnnouncement(_ seconds: Int) {
        var test = self
        test.open()
        test.difference = .seconds(seconds)
        for number in 1...5 {
            test.monitor = Self.at(number)
            test.announce(test.monitor)
            test.pass(.seconds(2))
        }
        #expect(test.asked.count == 5)
    }

    @Test mutating func failedRequestPausesGrow() {
        open()
        monitor = nil
        announce(Self.at(1))
        pass(.seconds(100))
        #expect(gaps(asked) == [1, 2, 4, 8, 16, 32].map { .seconds($0) })
        // A new announcement is requested within a second, despite earlier failures.
        announce(Self.at(2))
        pass(.seconds(1))
        #expect(asked.count == 8)
        pass(.seconds(60))
        // A network change causes a retry, but not every time.
        let count = asked.count
        for _ in 0..<59 {
            timing.retry(isOtherNetwork: true, at: now)
            pass(.seconds(1))
        }
        #expect(asked.count - count == 2)
        // A new connection causes a retry too.
        end()
        pass(.seconds(3))
        monitor = Self.at(120)
        let before = asked.count
        pass(.seconds(5))
        announce(monitor)
        pass(.seconds(1))
        #expect(timing.isOpen && asked.count == before + 1)
    }

    @Test mutating func updateTimingObeysRetryAfter() {
        open()
        announce(Self.at(1))
        pass(.milliseconds(250))
        now += .seconds(1)
        #expect(timing.nextRequest(at: moment) != nil)
        timing.record(.notBefore(seconds: 600), at: moment)
        end()
        timing.retry(isOtherNetwork: true, at: now)
        announce(Self.at(2))
        let (before, count) = (now, connected.count)
        pass(.seconds(600))
        #expect(asked.isEmpty && connected.count == count)
        monitor = Self.at(2)
        // The backoff also applies after a restart.
        #expect(timing.kept.isAsked && timing.kept.until - before == .seconds(630))
        var next = Self.app
        next.restore(timing.kept)
        #expect(next.kept.until == timing.kept.until)
        pass(.seconds(60))
        #expect(asked.count == 1 && connected.count == count + 1)
    }

    @Test mutating func serverWithoutGreetingIsAskedOnce() {
        pass(.seconds(3000))
        #expect(asked == [.seconds(2)])
    }

    /// In case an announcement was lost, a server without announcements is still polled.
    @Test func silentServerIsPolledRarely() {
        var test = Self()
        test.open()
        for _ in 0..<(24 * 120) {
            test.pass(.seconds(30))
            _ = test.receive(.heartbeat)
        }
        #expect((7...11).contains(test.asked.count), "\(test.asked)")
        #expect(test.connected.count == 1)
        test.timing.wantsConnection = false
        test.pass(.seconds(86_400))
        #expect(test.timing.next == nil)
    }

    // MARK: Connections

    @Test(arguments: [0.25, 0.5, 1]) func connectionPausesGrowWithJitter(_ chance: Double) {
        var test = Self()
        (test.chance, test.refusal) = (chance, Self.down)
        for failures in 0..<20 {
            guard let due = test.timing.connectionDue else { return #expect(Bool(false)) }
            test.now = due
            test.pass(.milliseconds(1))
            guard let next = test.timing.connectionDue else { return #expect(Bool(false)) }
            let full = min(5 * Double(1 << failures), 14_400)
            #expect(next - due == .seconds(full * (0.5 + chance)))
        }
    }

    @Test mutating func connectionOfOneMinuteResetsFailures() {
        refusal = Self.down
        pass(.seconds(100))
        refusal = nil
        pass(.seconds(200))
        #expect(timing.isOpen && timing.failures > 4)
        end()
        #expect(timing.failures == 1)
        pass(.seconds(5.1))
        #expect(timing.isOpen)
    }

    @Test(arguments: [(0, 1), (30, 30), (1_000_000_000, 300)])
    func reconnectionTimeIsTheFirstPause(_ seconds: Int, _ expected: Int) {
        var test = self
        test.open()
        _ = test.receive(.reconnectionTime(.seconds(seconds)))
        test.end()
        #expect(test.timing.connectionDue == test.now + .seconds(expected))
    }

    @Test mutating func pauseEventEndsConnection() {
        open()
        #expect(receive(.event(.pause(.retryAfter(seconds: 77))))?.kind == .notBefore(seconds: 77))
        #expect(receive(.event(.pause(.disabled)))?.kind == .unsupported)
        end(UpdateEnd(.unsupported, "off"))
        timing.retry(isOtherNetwork: true, at: now)
        #expect(timing.connectionDue == now + .seconds(14_400))
    }

    @Test mutating func networkChangeReconnectsWithLimit() {
        refusal = UpdateEnd(.unsupported, "404")
        for _ in 0..<600 {
            pass(.seconds(1))
            timing.retry(isOtherNetwork: false, at: now)
        }
        #expect(connected == [.zero])
        for _ in 0..<600 {
            timing.retry(isOtherNetwork: true, at: now)
            pass(.seconds(1))
        }
        #expect((19...21).contains(connected.count))
    }

    /// The device gets a network after a connection attempt has started and before it fails.
    @Test mutating func networkChangeWhileConnectingReconnects() {
        timing.recordConnecting(at: now)
        timing.retry(isOtherNetwork: true, at: now)
        now += .seconds(10)
        end()
        #expect(timing.connectionDue == .zero)
    }

    @Test mutating func reachableServerWakesChannelRarely() {
        refusal = Self.down
        timing.restore(.init(failures: 6))
        for _ in 0..<36_000 {
            timing.retry(isOtherNetwork: false, at: now)
            pass(.seconds(1))
        }
        #expect((4...12).contains(connected.count), "\(connected)")
    }

    @Test mutating func connectionWithoutHeartbeatIsReplaced() {
        open()
        pass(.seconds(20))
        _ = receive(.heartbeat)
        pass(.seconds(119))
        #expect(connected.count == 1 && timing.isOpen)
        pass(.milliseconds(6500))
        #expect(connected.count == 2 && timing.isOpen)
        // A heartbeat right after connecting does not imply regular heartbeats.
        _ = receive(.heartbeat)
        pass(.seconds(3590))
        #expect(connected.count == 2)
        pass(.seconds(20))
        #expect(connected.count == 3)
    }
}
