import RemoteSettingsModel
import UpdateEvents

/// Decides when a connection to an update channel is made, how long it may be silent, and when it is given up.
///
/// It is a value: events go in, with the moment of each, and ``step(at:)`` says what comes next. It does no I/O.
package struct ConnectionSchedule: Sendable {
    /// What one kind of client does.
    package struct Rules: Sendable {
        /// The pauses after connections that were open and ended; the server's `retry:` takes the place of the first
        /// one.
        var lost: RetryPauses
        /// The pauses after failures. A server's longer `retry:` takes the place of the first one.
        var failed: RetryPauses
        /// So many connections in a row may end within a minute before the next such one counts as a failure. With
        /// `nil` the end of any connection counts as one.
        var shortOnes: Int?
        /// With more failures in a row there is no further try before there is a reason for it; `nil` for no such end.
        var mostFailures: Int?
        /// Whether a server without a channel is left alone for the longest pause.
        var restsWithoutChannel: Bool
        /// The part of a `Retry-After` that chance adds to it.
        var lateness: Double
        /// The longest silence of an open connection whose heartbeats are not known.
        var longestSilence: Duration

        /// Those of an app: the rules of Firebase's clients for failures, with at most seven tries after 2 minutes and
        /// more, and of browsers for lost connections.
        package static func app(longestSilence: Duration) -> Rules {
            Rules(
                lost: RetryPauses(first: .seconds(5), longest: .seconds(300), spread: 0.5...1.5),
                failed: RetryPauses(first: .seconds(120), longest: longestPause, spread: 0.5...1), shortOnes: 3,
                mostFailures: 7, restsWithoutChannel: true, lateness: 0.1, longestSilence: longestSilence)
        }

        /// Those of a server that follows another one: from 1 s to 5 minutes, for ever.
        package static let follower: Rules = {
            let pauses = RetryPauses(first: .seconds(1), longest: .seconds(300))
            return Rules(
                lost: pauses, failed: pauses, shortOnes: nil, mostFailures: nil, restsWithoutChannel: false,
                lateness: 0, longestSilence: .seconds(45))
        }()
    }

    /// What outlives the process: what the next start has to know of failures.
    package struct Kept: Hashable, Sendable {
        /// Failures since the last success.
        package var failures = 0
        /// The uptime before which there is no connection.
        package var until = Duration.zero
        /// Whether the server asked for that.
        package var isAsked = false

        package init(failures: Int = 0, until: Duration = .zero, isAsked: Bool = false) {
            (self.failures, self.until, self.isAsked) = (failures, until, isAsked)
        }
    }

    /// Why a connection ended, or did not come about.
    package enum End: Hashable, Sendable {
        /// The other side or the network ended it, or it did not come about.
        case lost
        /// The server has no update channel.
        case unsupported
        /// The server asked for no requests for so many seconds.
        case notBefore(seconds: Int)
        case paused(UpdatePause)
        /// Nothing arrived for longer than ``step(at:)`` said.
        case silent
        /// More messages arrived than anybody can act on.
        case flood
    }

    package enum Step: Hashable, Sendable {
        case connect
        /// For so long nothing is to be done; `nil` for until the next event.
        case wait(Duration?)
        /// Too much has failed: nothing is to be done until there is a reason to try again.
        case giveUp
        /// The open connection is of no more use.
        case close(End)
    }

    /// A reason to try again before the time has come.
    package enum Reason: Sendable {
        /// The network is another one.
        case network
        /// The server has answered another request.
        case answer
    }

    /// A server that sends more than this within a minute has failed: somebody would have to act on all of them, or to
    /// write them down. Usual is a heartbeat in 15 s, and an update each time that something is published.
    package static let mostMessagesPerMinute = 600
    /// A connection that lasted so long was a success.
    package static let successAfter = Duration.seconds(60)
    package static let longestPause = Duration.seconds(14_400)
    /// The longest pause that a server can ask for.
    package static let longestAskedPause = Duration.seconds(86_400)
    /// Three heartbeats of 15 s; no silence of a server that sends heartbeats is shorter.
    private static let shortestSilence = Duration.seconds(45)
    /// The longest silence after a single heartbeat, if the time between two is not known yet: three times the longest
    /// time that servers are known to leave, which is that of Mozilla's push service.
    private static let silenceAfterHeartbeat = Duration.seconds(900)
    /// Reasons lead to no more than one try in this time.
    private static let betweenReasons = RetryPauses(first: .seconds(30), longest: longestPause, spread: 1...1)
    private static let reconnectionTimes = Duration.seconds(1)...Duration.seconds(300)

    /// What is known of the connection that is being made or open.
    private struct Connection {
        /// `nil` while it is being made.
        var opened: Duration?
        /// When something arrived last.
        var last = Duration.zero
        var heartbeat: Duration?
        /// Whether the time between two heartbeats is of this connection, and not of one before.
        var hasMeasured = false
        /// When the minute began in which messages are being counted.
        var minute = Duration.zero
        var messages = 0
        var verdict: End?
    }

    private let rules: Rules
    private var connection: Connection?
    private var failures: Int
    /// Connections in a row that ended within a minute.
    private var shortOnes = 0
    /// The uptime before which there is no connection, unless there is a reason.
    private var earliest: Duration
    /// The uptime before which the server wants none, and no reason matters.
    private var asked: Duration
    /// The uptime until which the server has switched its channel off. The next start forgets it.
    private var disabled = Duration.zero
    /// Whether one more try is due although too much has failed.
    private var mayTry = true
    private var lastReason: Duration?
    /// Something that happened while a connection was being made.
    private var lateReason: Reason?
    private var reconnectionTime: Duration?
    /// The longest time between two heartbeats of this server; zero if it is not known.
    private var beat = Duration.zero
    private var restsWithoutChannel = false

    package init(_ rules: Rules, kept: Kept = Kept()) {
        self.rules = rules
        failures = kept.failures
        earliest = kept.isAsked ? .zero : kept.until
        asked = kept.isAsked ? kept.until : .zero
    }

    /// What the next start has to know.
    package var kept: Kept {
        let isAsked = asked > earliest || (failures == 0 && asked > .zero)
        return Kept(failures: failures, until: isAsked ? asked : failures > 0 ? earliest : .zero, isAsked: isAsked)
    }

    package var isOpen: Bool { connection?.opened != nil }

    package var hasGivenUp: Bool { rules.mostFailures.map { failures > $0 } ?? false }

    package func step(at now: Duration) -> Step {
        if let connection {
            if let verdict = connection.verdict { return .close(verdict) }
            guard connection.opened != nil else { return .wait(nil) }
            let left = connection.last + silence(connection) - now
            return left > .zero ? .wait(left) : .close(.silent)
        }
        guard mayTry || !hasGivenUp else { return .giveUp }
        let left = max(earliest, asked, disabled) - now
        return left > .zero ? .wait(left) : .connect
    }

    private func silence(_ connection: Connection) -> Duration {
        let unknown = connection.heartbeat == nil ? rules.longestSilence : Self.silenceAfterHeartbeat
        return min(beat > .zero ? max(beat * 3, Self.shortestSilence) : unknown, rules.longestSilence)
    }

    /// A start, or somebody who wants a connection anew, is worth one more try.
    package mutating func noteStart() { (mayTry, connection) = (true, nil) }

    package mutating func noteConnecting() { (mayTry, connection) = (false, Connection()) }

    package mutating func noteOpened(at now: Duration) {
        if connection != nil { connection = Connection(opened: now, last: now, minute: now) }
    }

    /// Whether the open connection is a success by now.
    package func hasLasted(at now: Duration) -> Bool {
        connection?.opened.map { now - $0 >= Self.successAfter } ?? false
    }

    /// Something arrived. Nobody is to act on what is followed by ``Step/close(_:)`` for a flood.
    package mutating func noteMessage(_ message: UpdateMessage, at now: Duration) {
        guard var connection, let opened = connection.opened else { return }
        defer { self.connection = connection }
        connection.last = now
        if now - connection.minute >= .seconds(60) { (connection.minute, connection.messages) = (now, 0) }
        connection.messages = min(connection.messages, Self.mostMessagesPerMinute) + 1
        guard connection.messages <= Self.mostMessagesPerMinute else { return connection.verdict = .flood }
        if hasLasted(at: now) { noteSuccess() }
        switch message {
        case .heartbeat:
            // Several at once tell nothing about the time between them, nor does a greeting about a heartbeat.
            guard now - (connection.heartbeat ?? opened) >= .seconds(1) else { break }
            if let before = connection.heartbeat {
                beat = max(beat, now - before)
                connection.hasMeasured = true
            }
            connection.heartbeat = now
        case .reconnectionTime(let time):
            reconnectionTime = min(max(time, Self.reconnectionTimes.lowerBound), Self.reconnectionTimes.upperBound)
        case .event(.pause(let pause)): connection.verdict = .paused(pause)
        case .event(.update), .refused: break
        }
    }

    /// The connection ended, or did not come about.
    package mutating func noteEnd(_ end: End, at moment: Moment) {
        let (now, chance) = (moment.uptime, moment.chance)
        if hasLasted(at: now) { noteSuccess() } else { shortOnes = min(shortOnes + 1, 64) }
        let last = connection
        connection = nil
        // A server that was silent for longer than expected has changed its ways.
        if end == .silent, last?.hasMeasured == false { beat = .zero }
        let isFailure =
            switch end {
            case .unsupported, .flood: true
            case .lost, .silent: last?.opened == nil || rules.shortOnes.map { shortOnes > $0 } ?? true
            case .paused: rules.shortOnes.map { shortOnes > $0 } ?? true
            case .notBefore: rules.shortOnes == nil
            }
        var pauses = isFailure ? rules.failed : rules.lost
        if isFailure { failures = min(failures + 1, (rules.mostFailures ?? 63) + 1) }
        if let reconnectionTime {
            pauses.first = isFailure ? max(pauses.first, reconnectionTime) : reconnectionTime
        }
        restsWithoutChannel = end == .unsupported && rules.restsWithoutChannel
        if restsWithoutChannel { pauses.first = pauses.longest }
        earliest = now + pauses.pause(after: isFailure ? failures : max(1, shortOnes), random: chance)
        switch end {
        case .notBefore(let seconds):
            // The server says the same to all, who are not to come back at one moment.
            let most = min(max(seconds, 1), 86_400)
            let late = rules.lateness > 0 ? max(3, Double(most) * rules.lateness) * chance : 0
            asked = now + min(.seconds(most) + .seconds(late), Self.longestAskedPause)
        case .paused(.retryAfter(let seconds)):
            asked = now + min(.seconds(max(1, seconds)), Self.longestAskedPause)
        case .paused(.disabled): disabled = now + Self.longestPause
        case .lost, .unsupported, .silent, .flood: break
        }
        if let reason = lateReason {
            lateReason = nil
            note(reason, at: now)
        }
    }

    /// Something other than time allows another try. What the server asked for stays.
    package mutating func note(_ reason: Reason, at now: Duration) {
        if let connection {
            // What is open goes on. What is being made may fail because it began too early.
            if connection.opened == nil { lateReason = reason }
            return
        }
        if case .answer = reason, restsWithoutChannel { return }
        // An app may ask its server all the time, though its channel never works.
        let pause = Self.betweenReasons.pause(after: reason == .answer ? failures + 1 : 1, random: 1)
        let soonest = max(now, lastReason.map { $0 + pause } ?? now)
        let isSooner = soonest < earliest || (hasGivenUp && !mayTry)
        guard isSooner else { return }
        mayTry = true
        (earliest, lastReason) = (hasGivenUp ? soonest : min(earliest, soonest), soonest)
    }

    private mutating func noteSuccess() {
        (failures, shortOnes, lastReason) = (0, 0, nil)
    }
}

extension ConnectionSchedule.End: CustomStringConvertible {
    package var description: String {
        switch self {
        case .lost: "the server ended the connection"
        case .unsupported: "the server has no update channel"
        case .notBefore(let seconds): "the server asked for no requests for \(seconds) s"
        case .paused(.disabled): "the server has switched its update channel off"
        case .paused(.retryAfter): "the server asked for a pause"
        case .silent: "nothing arrived any more"
        case .flood: "more than \(ConnectionSchedule.mostMessagesPerMinute) messages within a minute"
        }
    }
}
