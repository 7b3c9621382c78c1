import RemoteSettingsModel

/// A state machine that decides when to connect to an update channel, when to replace a silent connection, and when to
/// ask the server for its state.
///
/// Announcements are not trusted. Only the timestamp in the server's monitor (its list of collections) confirms one. So
/// each announcement leads to a request to the monitor, at most once a second.
///
/// It is a pure value without I/O. The caller records each event with its moment, and ``next`` returns the next step.
package struct UpdateTiming: Sendable {
    /// The information about failures that is stored for the next start of the process.
    package struct Kept: Hashable, Sendable {
        /// The number of consecutive connections that failed or closed early.
        package var failures = 0
        /// The uptime before which the client does not connect.
        package var until = Duration.zero
        /// Whether the server has asked clients to wait until then.
        package var isAsked = false

        package init(failures: Int = 0, until: Duration = .zero, isAsked: Bool = false) {
            (self.failures, self.until, self.isAsked) = (failures, until, isAsked)
        }
    }

    /// A request that is due.
    package struct Request: Hashable, Sendable {
        /// The timestamp of the last announcement; `nil` if it is unknown whether anything has changed.
        package var announced: Timestamp?
        /// The highest announced timestamp.
        package var newest: Timestamp?
        /// The number of earlier requests for this announcement that failed or found nothing new.
        package var attempts = 0
    }

    /// The result of a request.
    package enum Answer: Sendable {
        /// The server's monitor has this timestamp.
        case seen(Timestamp)
        /// No collection needs updates any more, so the server was not asked.
        case irrelevant
        case failed
        /// The server asked clients to send no requests for this many seconds.
        case notBefore(seconds: Int)
    }

    package enum Step: Hashable, Sendable {
        case connect
        /// Close the connection, because it is silent or no longer needed.
        case close
        /// Make the request that ``nextRequest(at:)`` returns.
        case ask
    }

    private struct Connection {
        /// The uptime at which the connection was opened; `nil` while the client is connecting.
        var opened: Duration?
        /// The uptime at which the last bytes arrived.
        var last = Duration.zero
        var hasHeartbeat = false
        /// Whether the server has not yet sent its current state.
        var awaitsGreeting = true
        /// The uptime of the next request without an announcement. It is needed because announcements may be lost.
        var check = Duration.zero
    }

    /// The longest pause that a server can request.
    package static let longestAskedPause = Duration.seconds(86_400)
    /// The longest pause after a failure.
    package static let longestPause = switchedOff * 1.5
    /// The pause after a server has switched its update channel off.
    private static let switchedOff = Duration.seconds(14_400)
    private static let betweenRequests = Duration.seconds(1)
    /// The longest time without a request. A random part of up to half of it is subtracted.
    private static let checkTime = Duration.seconds(14_400)
    /// The time within which a server must send its current state on a new connection. Otherwise the client requests
    /// it.
    private static let greetingTime = Duration.seconds(2)
    /// The duration after which a connection is considered successful.
    private static let successAfter = Duration.seconds(60)
    /// The longest silence of a connection that has heartbeats: three times the longest interval of known servers.
    private static let silenceAfterHeartbeat = Duration.seconds(120)
    /// The number of repeated requests after which an unconfirmed announcement is ignored as false.
    private static let mostAttempts = 12
    /// The pauses between two early attempts, which do not wait until ``earliest``.
    private static let betweenRetries = RetryPauses(first: .seconds(30), longest: switchedOff, spread: 1...1)
    private static let reconnectionTimes = Duration.seconds(1)...Duration.seconds(300)

    /// The longest delay before a request. A random part of it is used, so that not all clients send requests at the
    /// same time.
    private let jitter: Duration
    /// The longest silence of a connection without heartbeats.
    private let longestSilence: Duration
    /// The pauses after requests that failed, or whose response is older than the announcement.
    private let requestPauses: RetryPauses
    /// The pauses after connections that failed or closed early. The server's `retry:` field replaces the first one.
    private var connectionPauses = RetryPauses(first: .seconds(5), longest: switchedOff, spread: 0.5...1.5)

    package var wantsConnection = false
    /// The monitor's timestamp in the last response.
    package var seen: Timestamp?
    /// The number of consecutive connections that failed or closed early.
    package private(set) var failures = 0
    private var connection: Connection?
    /// The uptime before which the client does not connect, unless `retryDue` allows an earlier attempt.
    private var earliest = Duration.zero
    /// The uptime of an earlier attempt to connect, for example after a network change; `nil` for none.
    private var retryDue: Duration?
    private var lastRetry: Duration?
    /// The uptime before which the client neither connects nor sends requests, because the server asked it to wait.
    private var asked = Duration.zero
    private var isUnsupported = false

    private var pending: Request?
    private var asking: Request?
    /// The uptime at which `pending` becomes due.
    private var due = Duration.zero
    /// The uptime before which no request is sent, because the last one was sent recently.
    private var spaced = Duration.zero

    package init(jitter: Duration, longestSilence: Duration) {
        (self.jitter, self.longestSilence) = (jitter, longestSilence)
        requestPauses = RetryPauses(first: max(jitter, .seconds(1)), longest: .seconds(3600), spread: 0.5...1.5)
    }

    /// The next step and the uptime at which it is due; `nil` if nothing is due until the next event is recorded.
    package var next: (step: Step, due: Duration)? {
        var steps: [(step: Step, due: Duration)] = []
        if let connection {
            if !wantsConnection {
                steps.append((.close, .zero))
            } else if isOpen {
                let silence = connection.hasHeartbeat ? Self.silenceAfterHeartbeat : longestSilence
                steps.append((.close, connection.last + min(silence, longestSilence)))
            }
        }
        if let connectionDue { steps.append((.connect, connectionDue)) }
        let check = isOpen ? connection?.check : nil
        if asking == nil, let due = [pending == nil ? nil : due, check].compactMap(\.self).min() {
            steps.append((.ask, max(due, spaced, asked)))
        }
        return steps.min { $0.due < $1.due }
    }

    /// Returns whether this state's next step is due before that of another state.
    package func isDue(before other: UpdateTiming) -> Bool {
        guard let next else { return false }
        return other.next.map { next.due < $0.due } ?? true
    }

    /// The uptime at which the next connection is due; `nil` if there is a connection, or if none is needed.
    package var connectionDue: Duration? {
        wantsConnection && connection == nil ? max(min(earliest, retryDue ?? earliest), asked) : nil
    }

    package var isOpen: Bool { connection?.opened != nil }

    // MARK: Failures across restarts

    package var kept: Kept {
        let isAsked = asked > (failures > 0 ? earliest : .zero)
        return Kept(failures: failures, until: isAsked ? asked : failures > 0 ? earliest : .zero, isAsked: isAsked)
    }

    package mutating func restore(_ kept: Kept) {
        failures = min(max(kept.failures, 0), 64)
        if kept.isAsked { asked = kept.until } else { earliest = kept.until }
    }

    // MARK: The connection

    package mutating func recordConnecting(at now: Duration) {
        if let retryDue, retryDue < earliest { lastRetry = now }
        (connection, retryDue) = (Connection(), nil)
    }

    package mutating func recordOpened(at moment: Moment) {
        guard connection != nil else { return }
        let now = moment.uptime
        (connection, retryDue) = (Connection(opened: now, last: now, check: now + Self.greetingTime), nil)
    }

    /// Records a message.
    ///
    /// - Returns: the reason to close the connection; `nil` if it continues.
    package mutating func record(_ message: UpdateMessage, at moment: Moment) -> UpdateEnd? {
        guard let opened = connection?.opened else { return nil }
        connection?.last = moment.uptime
        recordLasting(at: moment.uptime)
        switch message {
        case .heartbeat:
            // A comment at the beginning is a greeting and not a heartbeat.
            if moment.uptime - opened >= .seconds(1) { connection?.hasHeartbeat = true }
        case .reconnectionTime(let time):
            let range = Self.reconnectionTimes
            connectionPauses.first = min(max(time, range.lowerBound), range.upperBound)
        case .event(.pause(.retryAfter(let seconds))):
            return UpdateEnd(.notBefore(seconds: seconds), "the server asked clients to wait \(seconds) s")
        case .event(.pause(.disabled)):
            asked = max(asked, moment.uptime + Self.switchedOff)
            return UpdateEnd(.unsupported, "the server turned off its update channel")
        case .event(.update), .refused: break
        }
        return nil
    }

    /// Records that the connection was closed or could not be made.
    ///
    /// - Parameter error: the reason; `nil` if the client closed it because it is no longer needed.
    package mutating func recordEnd(_ error: UpdateEnd?, at moment: Moment) {
        recordLasting(at: moment.uptime)
        let isKnown = connection == nil
        connection = nil
        guard let error, !isKnown else { return }
        failures = min(failures + 1, 64)
        isUnsupported = error.kind == .unsupported
        earliest =
            moment.uptime + connectionPauses.pause(after: isUnsupported ? .max : failures, random: moment.chance)
        if case .notBefore(let seconds) = error.kind { recordAsked(seconds, at: moment) }
    }

    /// Records that a failed connection may work now. A pause that the server requested remains in effect.
    ///
    /// - Parameter isOtherNetwork: whether the network has changed. Otherwise, a request to the server has succeeded.
    ///   An app may send such requests all the time although the update channel never works, so they allow fewer
    ///   attempts.
    package mutating func retry(isOtherNetwork: Bool, at now: Duration) {
        let pause = Self.betweenRetries.pause(after: isOtherNetwork ? 1 : failures + 1, random: 1)
        let soonest = max(now, lastRetry.map { $0 + pause } ?? now)
        if isOtherNetwork, let pending, pending.attempts > 0, soonest < due { (due, lastRetry) = (soonest, soonest) }
        guard !isOpen, isOtherNetwork || !isUnsupported else { return }
        // Set this even while connecting: that attempt may fail because it began before the network was ready.
        retryDue = soonest
    }

    private mutating func recordLasting(at now: Duration) {
        guard let opened = connection?.opened, now - opened >= Self.successAfter else { return }
        (failures, lastRetry) = (0, nil)
    }

    private mutating func recordAsked(_ seconds: Int, at moment: Moment) {
        // The server may send the same number to all clients, but they must not all reconnect at the same moment.
        let most = Double(min(max(seconds, 1), 86_400))
        let pause = Duration.seconds(most + max(3, most / 10) * moment.chance)
        asked = max(asked, moment.uptime + min(pause, Self.longestAskedPause))
    }

    // MARK: Requests

    /// Records the announcement of a newer state.
    ///
    /// - Parameters:
    ///   - announced: the monitor's timestamp; `nil` if it is unknown.
    ///   - isWanted: whether a collection that the client uses has changed.
    ///   - isFromChannel: whether the announcement came over the connection. The first event of a connection describes
    ///     the server's current state, and makes up for all announcements that were missed.
    package mutating func recordAnnouncement(
        _ announced: Timestamp?, isWanted: Bool = true, isFromChannel: Bool = true, at moment: Moment
    ) {
        let isGreeting = isFromChannel && connection?.awaitsGreeting == true
        if isGreeting {
            connection?.awaitsGreeting = false
            postponeCheck(at: moment)
        }
        guard isWanted || isGreeting else { return }
        if let announced {
            guard !isHeld(announced, at: moment), announced != asking?.announced else { return }
            // Ignore a repeated announcement, except after a reconnection, when the server may have the data that it
            // lacked before.
            guard announced != pending?.announced || isGreeting else { return }
        }
        let older = pending
        let soon = moment.uptime + jitter * moment.chance
        due = pending == nil ? soon : min(due, soon)
        pending = Request(
            announced: announced ?? older?.announced, newest: [announced, older?.newest].compactMap(\.self).max())
    }

    /// Begins a request that is due. Call ``record(_:at:)`` with its result.
    ///
    /// - Returns: the request; `nil` if a newer state has been fetched in the meantime.
    package mutating func nextRequest(at moment: Moment) -> Request? {
        let isSeen = pending?.newest.map { isHeld($0, at: moment) } ?? false
        (asking, pending) = (isSeen ? nil : pending, nil)
        if let check = connection?.check, isOpen, check <= moment.uptime {
            postponeCheck(at: moment)
            asking = asking ?? Request()
        }
        return asking
    }

    /// Records the result of the current request.
    package mutating func record(_ answer: Answer, at moment: Moment) {
        guard let request = asking else { return }
        asking = nil
        spaced = moment.uptime + Self.betweenRequests
        switch answer {
        case .irrelevant: break
        case .notBefore(let seconds):
            recordAsked(seconds, at: moment)
            repeatRequest(request, at: asked)
        case .failed: repeatRequest(request, at: moment)
        case .seen(let timestamp):
            seen = timestamp
            postponeCheck(at: moment)
            guard let newest = request.newest, !isHeld(newest, at: moment), request.attempts < Self.mostAttempts
            else { return }
            repeatRequest(request, at: moment)
        }
    }

    private mutating func repeatRequest(_ request: Request, at moment: Moment) {
        var again = request
        again.attempts = request.attempts.saturatingAdding(1)
        repeatRequest(again, at: moment.uptime + requestPauses.pause(after: again.attempts, random: moment.chance))
    }

    /// Schedules the request again. If newer announcements have arrived in the meantime, they are merged with it, and
    /// the request is due at the earlier of the two times.
    private mutating func repeatRequest(_ request: Request, at time: Duration) {
        guard let newer = pending else { return (pending, due) = (request, time) }
        pending?.announced = newer.announced ?? request.announced
        pending?.newest = [newer.newest, request.newest].compactMap(\.self).max()
        due = min(due, time)
    }

    /// Returns whether the state in an announcement was already fetched. If the timestamp in ``seen`` is in the future,
    /// only an equal timestamp is considered fetched.
    private func isHeld(_ announced: Timestamp, at moment: Moment) -> Bool {
        seen.map { announced == $0 || (announced < $0 && $0 <= moment.time) } ?? false
    }

    private mutating func postponeCheck(at moment: Moment) {
        connection?.check = moment.uptime + Self.checkTime * (1 - moment.chance / 2)
    }
}
