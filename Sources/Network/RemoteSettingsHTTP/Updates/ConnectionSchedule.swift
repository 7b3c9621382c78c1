import RemoteSettingsModel

/// Decides when to connect to an update channel, how long the connection may be silent, and when to give up.
///
/// It is a value: events go in, each with its moment, and ``step(at:)`` says what comes next. It does no I/O.
package struct ConnectionSchedule: Sendable {
    /// The rules of one kind of client.
    package struct Rules: Sendable {
        /// The pauses after connections that were open and ended. The server's `retry:` replaces the first one.
        var lost: RetryPauses
        /// The pauses after failures. If the server's `retry:` is longer, it replaces the first one.
        var failed: RetryPauses
        /// The number of connections in a row that may end within a minute. The next such one counts as a failure.
        ///
        /// If it is `nil`, the end of any connection counts as a failure.
        var shortOnes: Int?
        /// After more failures in a row than this, only a reason leads to a further try; `nil` for no limit.
        var mostFailures: Int?
        /// Whether a server without a channel is left alone for the longest pause.
        var restsWithoutChannel: Bool
        /// The part of a `Retry-After` that is added at random, at most.
        var lateness: Double
        /// The longest silence of an open connection whose heartbeats are not known.
        var longestSilence: Duration

        /// The rules of an app. For failures they are those of Firebase's clients, with at most seven tries, after 2
        /// minutes and more. For lost connections they are those of browsers.
        package static func app(longestSilence: Duration) -> Rules {
            Rules(
                lost: RetryPauses(first: .seconds(5), longest: .seconds(300), spread: 0.5...1.5),
                failed: RetryPauses(first: .seconds(120), longest: longestPause, spread: 0.5...1), shortOnes: 3,
                mostFailures: 7, restsWithoutChannel: true, lateness: 0.1, longestSilence: longestSilence)
        }

        /// The rules of a server that follows another one: pauses from 1 s to 5 minutes, without an end.
        package static let follower: Rules = {
            let pauses = RetryPauses(first: .seconds(1), longest: .seconds(300))
            return Rules(
                lost: pauses, failed: pauses, shortOnes: nil, mostFailures: nil, restsWithoutChannel: false,
                lateness: 0, longestSilence: .seconds(45))
        }()
    }

    /// What the next start must know about failures.
    package struct Kept: Hashable, Sendable {
        /// Failures since the last success.
        package var failures = 0
        /// The uptime before which there is no connection.
        package var until = Duration.zero
        /// Whether the server has asked for that.
        package var isAsked = false

        package init(failures: Int = 0, until: Duration = .zero, isAsked: Bool = false) {
            (self.failures, self.until, self.isAsked) = (failures, until, isAsked)
        }
    }

    /// Why a connection ended, or could not be made.
    package enum End: Hashable, Sendable {
        /// The other side or the network ended it, or it could not be made.
        case lost
        /// The server has no update channel.
        case unsupported
        /// The server asked for no requests for this many seconds.
        case notBefore(seconds: Int)
        case paused(UpdatePause)
        /// Nothing arrived for longer than ``step(at:)`` said.
        case silent
        /// More messages arrived than a client can act on.
        case flood
    }

    package enum Step: Hashable, Sendable {
        case connect
        /// Do nothing for this long; `nil` for until the next event.
        case wait(Duration?)
        /// Too much has failed. Do nothing until there is a reason to try again.
        case giveUp
        /// Close the open connection, because it is of no more use.
        case close(End)
    }

    /// A reason to try again before the pause has ended.
    package enum Reason: Sendable {
        /// The network has changed.
        case network
        /// The server has answered another request.
        case answer
    }

    /// The most messages that a server may send within a minute. More is a failure, because each has to be acted on or
    /// logged.
    ///
    /// Usual is a heartbeat every 15 s, and an update for each publication.
    package static let mostMessagesPerMinute = 600
    /// A connection that has lasted this long is a success.
    package static let successAfter = Duration.seconds(60)
    package static let longestPause = Duration.seconds(14_400)
    /// The longest pause that a server can ask for.
    package static let longestAskedPause = Duration.seconds(86_400)
    /// Three heartbeats of 15 s. The limit on silence is never shorter.
    private static let shortestSilence = Duration.seconds(45)
    /// The longest silence after a single heartbeat, while the time between two is not known.
    ///
    /// It is three times the longest interval of known servers, which is that of Mozilla's push service.
    private static let silenceAfterHeartbeat = Duration.seconds(900)
    /// Reasons lead to at most one try in this time.
    private static let betweenReasons = RetryPauses(first: .seconds(30), longest: longestPause, spread: 1...1)
    private static let reconnectionTimes = Duration.seconds(1)...Duration.seconds(300)

    /// What is known about the connection that is open or being made.
    private struct Connection {
        /// `nil` while it is being made.
        var opened: Duration?
        /// When something last arrived.
        var last = Duration.zero
        var heartbeat: Duration?
        /// Whether the time between two heartbeats was measured on this connection, and not on an earlier one.
        var hasMeasured = false
        /// The start of the minute in which messages are counted.
        var minute = Duration.zero
        var messages = 0
        var verdict: End?
    }

    private let rules: Rules
    private var connection: Connection?
    private var failures: Int
    /// Connections in a row that ended within a minute.
    private var shortOnes = 0
    /// The uptime before which no connection is made unless there is a reason.
    private var earliest: Duration
    /// The uptime before which the server wants no connection, whatever the reason.
    private var asked: Duration
    /// The uptime until which the server has switched its channel off. The next start forgets it.
    private var disabled = Duration.zero
    /// Whether one more try is due although too much has failed.
    private var mayTry = true
    private var lastReason: Duration?
    /// A reason that arrived while a connection was being made.
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

    /// What the next start must know.
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

    /// Allows one more try, because the app has started or somebody newly wants a connection.
    package mutating func noteStart() { (mayTry, connection) = (true, nil) }

    package mutating func noteConnecting() { (mayTry, connection) = (false, Connection()) }

    package mutating func noteOpened(at now: Duration) {
        if connection != nil { connection = Connection(opened: now, last: now, minute: now) }
    }

    /// Whether the open connection counts as a success now.
    package func hasLasted(at now: Duration) -> Bool {
        connection?.opened.map { now - $0 >= Self.successAfter } ?? false
    }

    /// Notes that a message arrived. It must not be acted on if ``Step/close(_:)`` for a flood follows.
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
            // Messages that arrive together say nothing about the time between them. A greeting says nothing about a
            // heartbeat.
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

    /// Notes that the connection has ended or could not be made.
    package mutating func noteEnd(_ end: End, at moment: Moment) {
        let (now, chance) = (moment.uptime, moment.chance)
        if hasLasted(at: now) { noteSuccess() } else { shortOnes = min(shortOnes + 1, 64) }
        let last = connection
        connection = nil
        // A server that was silent for longer than expected may have changed its interval.
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
            // The server sends all clients the same number, but they must not come back at one moment.
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

    /// Notes a reason for another try. A wait that the server asked for stays.
    package mutating func note(_ reason: Reason, at now: Duration) {
        if let connection {
            // An open connection stays. One that is being made may fail because it began too early.
            if connection.opened == nil { lateReason = reason }
            return
        }
        if case .answer = reason, restsWithoutChannel { return }
        // An app may ask its server all the time although its channel never works.
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
