import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

/// The rules of an app; those of a follower are tried in `UpdateWatchTests`, and both with all that is around them.
struct ConnectionScheduleTests {
    private var schedule = ConnectionSchedule(.app(longestSilence: .seconds(3600)))
    private var now = Duration.zero

    private func moment(_ uptime: Duration? = nil) -> Moment {
        Moment(uptime: uptime ?? now, time: Timestamp(milliseconds: 0), chance: 0.5)
    }

    private mutating func connect(_ end: ConnectionSchedule.End? = nil, after open: Duration? = nil) {
        #expect(schedule.step(at: now) == .connect)
        schedule.noteConnecting()
        if let open {
            schedule.noteOpened(at: now)
            now += open
        }
        if let end { schedule.noteEnd(end, at: moment()) }
    }

    @Test mutating func aLostConnectionComesBackInSeconds() {
        connect(.lost, after: .seconds(100))
        #expect(schedule.step(at: now) == .wait(.seconds(5)))
        now += .seconds(5)
        connect(.lost)
        #expect(schedule.step(at: now) == .wait(.seconds(90)))
        #expect(schedule.kept == .init(failures: 1, until: now + .seconds(90)))
    }

    @Test mutating func anotherNetworkIsTriedAtOnceThoughNotAllTheTime() {
        connect(.lost)
        now += .seconds(3)
        schedule.note(.network, at: now)
        connect(.lost)
        schedule.note(.network, at: now)
        #expect(schedule.step(at: now) == .wait(.seconds(30)))
        now += .seconds(10)
        schedule.note(.network, at: now)
        #expect(schedule.step(at: now) == .wait(.seconds(20)))
    }

    /// The device had no network yet when the connection was begun, and has one when it fails.
    @Test mutating func whatChangesWhileAConnectionIsMadeCounts() {
        connect()
        schedule.note(.network, at: now)
        schedule.noteEnd(.lost, at: moment(now + .seconds(10)))
        #expect(schedule.step(at: now + .seconds(10)) == .connect)
    }

    @Test mutating func anAnswerWakesAWaitingChannelEverLessOften() {
        var tries: [Duration] = []
        for second in 0..<7200 {
            now = .seconds(second)
            schedule.note(.answer, at: now)
            guard schedule.step(at: now) == .connect else { continue }
            tries.append(now)
            connect(.lost)
        }
        #expect(Array(tries.prefix(3)) == [.zero, .seconds(1), .seconds(121)])
        #expect(tries.count <= 9, "\(tries)")
    }

    @Test mutating func noReasonPassesAPauseThatTheServerAskedFor() {
        connect(.notBefore(seconds: 600))
        for reason in [ConnectionSchedule.Reason.network, .answer] { schedule.note(reason, at: now) }
        guard case .wait(let pause?) = schedule.step(at: now) else { return #expect(Bool(false)) }
        #expect(pause >= .seconds(600) && pause <= .seconds(660))
        #expect(schedule.kept.isAsked && schedule.kept.until == now + pause)
        var next = ConnectionSchedule(.app(longestSilence: .seconds(3600)), kept: schedule.kept)
        next.note(.network, at: now)
        #expect(next.step(at: now) == .wait(pause))
        #expect(next.kept == schedule.kept)
    }

    @Test mutating func aPauseOfNoTimeIsSomeSeconds() {
        connect(.paused(.retryAfter(seconds: 0)), after: .seconds(1))
        #expect(schedule.step(at: now) == .wait(.seconds(5)))
    }

    @Test mutating func aServerWithoutAChannelIsNotWokenByItsAnswers() {
        connect(.unsupported)
        let pause = schedule.step(at: now)
        #expect(pause == .wait(.seconds(10_800)))
        schedule.note(.answer, at: now)
        #expect(schedule.step(at: now) == pause)
    }

    @Test mutating func sevenTriesAndAReason() {
        for _ in 0..<8 {
            connect(.lost)
            guard case .wait(let pause?) = schedule.step(at: now) else { break }
            now += pause
        }
        #expect(schedule.step(at: now + .seconds(864_000)) == .giveUp)
        schedule.note(.answer, at: now)
        #expect(schedule.step(at: now) == .connect)
    }

    @Test mutating func aConnectionEndsForWhatArrivesOrDoesNot() {
        connect(after: .zero)
        #expect(schedule.step(at: now) == .wait(.seconds(3600)))
        for _ in 0..<3 {
            now += .seconds(20)
            schedule.noteMessage(.heartbeat, at: now)
        }
        #expect(schedule.step(at: now) == .wait(.seconds(60)))
        #expect(schedule.step(at: now + .seconds(60)) == .close(.silent))
        for _ in 0..<600 { schedule.noteMessage(.heartbeat, at: now) }
        schedule.noteMessage(.heartbeat, at: now)
        #expect(schedule.step(at: now) == .close(.flood))
    }
}
