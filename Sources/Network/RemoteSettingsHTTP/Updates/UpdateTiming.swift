import RemoteSettingsModel

/// Decides when to connect to an update channel, when to replace a silent connection, and when to ask the server for
/// its state.
///
/// Announcements are not trusted. Only a timestamp in the server's monitor, its list of collections, confirms one. Each
/// announcement therefore leads to a request, with at most one request a second.
///
/// It is a value. Each event is recorded with its moment, and ``next`` says what to do next. It does no I/O.
package struct UpdateTiming: Sendable {
    package struct Rules: Sendable {
        /// The longest delay before a request. A random part of it is used, so that clients do not all ask at the same
        /// moment.
        var jitter: Duration
        /// The longest time without a request. After it, the server is asked anyway, because an announcement may have
        /// been lost.
        ///
        /// A random part of up to half is subtracted.
        var checkTime: Duration
        /// The pauses after failed requests, and after answers that are older than the announcement.
        var requests: RetryPauses
        /// The pauses after connections that ended within a minute. The server's `retry:` replaces the first one.
        var connections: RetryPauses
        /// The longest silence of an open connection if its heartbeats are not known.
        var longestSilence: Duration

        /// The rules of an app.
        package static func app(jitter: Duration, longestSilence: Duration) -> Rules {
            Rules(
                jitter: jitter, checkTime: .seconds(4 * 3600),
                requests: RetryPauses(
                    first: max(jitter, .seconds(1)), longest: .seconds(3600), spread: 0.5...1.5),
                connections: RetryPauses(first: .seconds(5), longest: switchedOff, spread: 0.5...1.5),
                longestSilence: longestSilence)
        }

    }

    /// What the next start must know about failures.
    package struct Kept: Hashable, Sendable {
        /// The number of consecutive connections that failed or ended early.
        package var failures = 0
        /// The uptime before which no connection is made.
        package var until = Duration.zero
        /// Whether the server has asked for that pause.
        package var isAsked = false

        package init(failures: Int = 0, until: Duration = .zero, isAsked: Bool = false) {
            (self.failures, self.until, self.isAsked) = (failures, until, isAsked)
        }
    }

    /// A request that is due.
    package struct Request: Hashable, Sendable {
        /// The timestamp that was announced last; `nil` if it is not known whether there is something new.
        package var announced: Timestamp?
        /// The highest announced timestamp.
        package var newest: Timestamp?
        /// The collections that were announced as changed; `nil` if any may have changed.
        var collections: Set<CollectionID>?
        /// The monitor's timestamp in the last answer.
        var seen: Timestamp?
        /// The number of earlier requests for this that brought nothing new.
        package var attempts = 0
    }

    /// The result of a request.
    package enum Answer: Sendable {
        /// The server's monitor has this timestamp.
        case seen(Timestamp)
        /// The announcement concerns nothing that is wanted here, so the server was not asked.
        case irrelevant
        case failed
        /// The server asked for no requests for this many seconds.
        case notBefore(seconds: Int)
    }

    enum Step: Hashable, Sendable {
        case connect
        /// Close the connection, because nothing arrives or because it is not wanted.
        case close
        /// Make the request that ``nextRequest(at:)`` returns.
        case ask
    }

    /// A reason to try again before a pause has ended.
    package enum Reason: Sendable {
        /// The network has changed.
        case network
        /// The server has answered a request.
        case answer
    }

    private struct Connection {
        /// The uptime at which the connection was opened; `nil` while it is being made.
        var opened: Duration?
        /// The uptime at which something last arrived.
        var last = Duration.zero
        var heartbeat: Duration?
        /// Whether the server has not stated its state yet.
        var awaitsGreeting = true
        /// The uptime at which the server is asked even without an announcement.
        var check: Duration
        /// The uptime of a reason to connect again; `nil` for none.
        var reason: Duration?
    }

    /// The longest pause that a server can ask for.
    package static let longestAskedPause = Duration.seconds(86_400)
    /// The longest pause after a failure.
    package static let longestPause = switchedOff * 1.5
    /// How long a client stays away from a server that has switched its channel off.
    private static let switchedOff = Duration.seconds(14_400)
    private static let betweenRequests = Duration.seconds(1)
    /// The time after opening a connection by which a server must have stated its state. Otherwise it is asked.
    private static let greetingTime = Duration.seconds(2)
    /// The time after which a connection counts as a success.
    private static let successAfter = Duration.seconds(60)
    /// The shortest limit on silence: three heartbeats of 15 s.
    private static let shortestSilence = Duration.seconds(45)
    /// The limit on silence after a single heartbeat: three times the longest interval of known servers.
    private static let silenceAfterHeartbeat = Duration.seconds(900)
    /// The number of answers older than an announcement after which the announcement counts as false.
    private static let mostEarlyAnswers = 12
    /// The largest number of announced collections. A longer list means any collection.
    private static let mostCollections = 10_000
    private static let betweenReasons = RetryPauses(first: .seconds(30), longest: switchedOff, spread: 1...1)
    private static let reconnectionTimes = Duration.seconds(1)...Duration.seconds(300)

    private let rules: Rules
    var wantsConnection = false
    /// The monitor's timestamp in the last answer.
    var seen: Timestamp?
    /// The number of consecutive connections that failed or ended early.
    package private(set) var failures = 0
    private var connection: Connection?
    /// The uptime before which no connection is made, unless there is a reason to.
    private var earliest = Duration.zero
    /// The uptime before which the server accepts neither connections nor requests.
    private var asked = Duration.zero
    private var isUnsupported = false
    private var lastReason: Duration?
    private var reconnectionTime: Duration?
    /// The longest time between two heartbeats of this server; zero if it is not known.
    private var beat = Duration.zero

    private var pending: Request?
    private var asking: Request?
    /// The uptime at which `pending` becomes due.
    private var due = Duration.zero
    /// The uptime before which no request is made, because there has just been one.
    private var spaced = Duration.zero
    /// The uptime before which no request is made, because the last ones failed.
    private var paused = Duration.zero
    private var failedRequests = 0
    private var earlyAnswers = 0

    init(_ rules: Rules) { self.rules = rules }

    /// The next step and the uptime at which it is due; `nil` if nothing is due until something is recorded.
    var next: (step: Step, due: Duration)? {
        var steps: [(step: Step, due: Duration)] = []
        if connection != nil, !wantsConnection {
            steps.append((.close, .zero))
        } else if let connection, connection.opened != nil {
            steps.append((.close, connection.last + silence(of: connection)))
        } else if let connectionDue {
            steps.append((.connect, connectionDue))
        }
        let check = connection.flatMap { $0.opened == nil ? nil : $0.check }
        if asking == nil, let due = [pending == nil ? nil : due, check].compactMap(\.self).min() {
            steps.append((.ask, max(due, spaced, paused, asked)))
        }
        return steps.min { $0.due < $1.due }
    }

    /// Whether something is due sooner than in another state.
    func isDue(before other: UpdateTiming) -> Bool {
        guard let next else { return false }
        return other.next.map { next.due < $0.due } ?? true
    }

    /// The uptime at which the next connection is due; `nil` if there is a connection, or if none is wanted.
    var connectionDue: Duration? { wantsConnection && connection == nil ? max(earliest, asked) : nil }

    package var isOpen: Bool { connection?.opened != nil }

    // MARK: Failures that are kept

    package var kept: Kept {
        let isAsked = asked > (failures > 0 ? earliest : .zero)
        return Kept(failures: failures, until: isAsked ? asked : failures > 0 ? earliest : .zero, isAsked: isAsked)
    }

    package mutating func restore(_ kept: Kept) {
        failures = min(max(kept.failures, 0), 64)
        if kept.isAsked { asked = kept.until } else { earliest = kept.until }
    }

    // MARK: The connection

    mutating func recordConnecting() { connection = Connection(check: .zero) }

    package mutating func recordOpened(at moment: Moment) {
        guard connection != nil else { return }
        connection = Connection(opened: moment.uptime, last: moment.uptime, check: moment.uptime + Self.greetingTime)
        // A connection that failed without a network may succeed now.
        guard failedRequests > 0 else { return }
        (paused, due) = (.zero, min(due, moment.uptime + rules.jitter * moment.chance))
    }

    /// Records a message.
    ///
    /// - Returns: why the connection must end; `nil` if it continues.
    package mutating func record(_ message: UpdateMessage, at moment: Moment) -> UpdateSourceError? {
        guard let opened = connection?.opened else { return nil }
        connection?.last = moment.uptime
        recordLasting(at: moment.uptime)
        switch message {
        case .heartbeat:
            // Messages that arrive together say nothing about the interval between heartbeats, and neither does the
            // first message.
            let before = connection?.heartbeat
            guard moment.uptime - (before ?? opened) >= .seconds(1) else { break }
            if let before { beat = max(beat, moment.uptime - before) }
            connection?.heartbeat = moment.uptime
        case .reconnectionTime(let time):
            reconnectionTime = min(max(time, Self.reconnectionTimes.lowerBound), Self.reconnectionTimes.upperBound)
        case .event(.pause(.retryAfter(let seconds))):
            return UpdateSourceError(.notBefore(seconds: seconds), "the server asked for a pause of \(seconds) s")
        case .event(.pause(.disabled)):
            asked = max(asked, moment.uptime + Self.switchedOff)
            return UpdateSourceError(.unsupported, "the server has switched its update channel off")
        case .event(.update), .refused: break
        }
        return nil
    }

    /// Records that the connection has ended or could not be made.
    ///
    /// - Parameter error: the reason; `nil` if it was closed because it is not wanted.
    mutating func recordEnd(_ error: UpdateSourceError?, at moment: Moment) {
        let now = moment.uptime
        recordLasting(at: now)
        defer { connection = nil }
        guard let error, let connection else { return }
        // A server that was silent for longer than expected may have changed its interval.
        if connection.opened != nil, now - connection.last >= silence(of: connection) { beat = .zero }
        failures = min(failures + 1, 64)
        isUnsupported = error.kind == .unsupported
        var pauses = rules.connections
        pauses.first = reconnectionTime ?? pauses.first
        // A network may break several connections in a row before it works again.
        let number = connection.opened == nil ? failures : max(1, failures - 2)
        earliest = now + pauses.pause(after: isUnsupported ? .max : number, random: moment.chance)
        earliest = min(earliest, connection.reason ?? earliest)
        if case .notBefore(let seconds) = error.kind { recordAsked(seconds, at: moment) }
    }

    /// Records a reason for another attempt. A wait that the server asked for stays.
    package mutating func record(_ reason: Reason, at now: Duration) {
        // An app may ask its server all the time although the update channel never works.
        let pause = Self.betweenReasons.pause(after: reason == .network ? 1 : failures + 1, random: 1)
        let soonest = max(now, lastReason.map { $0 + pause } ?? now)
        if reason == .network, failedRequests > 0, soonest < paused {
            (paused, due, lastReason) = (soonest, soonest, soonest)
        }
        guard !isOpen, reason == .network || !isUnsupported else { return }
        if connection != nil {
            // The connection that is being made may fail because it was started too early.
            connection?.reason = soonest
            lastReason = soonest
        } else if soonest < earliest {
            (earliest, lastReason) = (soonest, soonest)
        }
    }

    private mutating func recordLasting(at now: Duration) {
        guard let opened = connection?.opened, now - opened >= Self.successAfter else { return }
        (failures, lastReason) = (0, nil)
    }

    private mutating func recordAsked(_ seconds: Int, at moment: Moment) {
        // The server may send the same number to all clients, but they must not all come back at the same moment.
        let most = Double(min(max(seconds, 1), 86_400))
        let pause = Duration.seconds(most + max(3, most / 10) * moment.chance)
        asked = max(asked, moment.uptime + min(pause, Self.longestAskedPause))
    }

    private func silence(of connection: Connection) -> Duration {
        let unknown = connection.heartbeat == nil ? rules.longestSilence : Self.silenceAfterHeartbeat
        return min(beat > .zero ? max(beat * 3, Self.shortestSilence) : unknown, rules.longestSilence)
    }

    // MARK: Requests

    /// Records the announcement of something newer.
    ///
    /// - Parameters:
    ///   - announced: the monitor's timestamp; `nil` if it is not known.
    ///   - collections: the collections that have changed; `nil` for any.
    ///   - isWanted: whether one of them is wanted here.
    ///   - isFromChannel: whether it came over the connection. The first event of a connection states the server's
    ///     state.
    package mutating func recordAnnouncement(
        _ announced: Timestamp?, collections: Set<CollectionID>? = nil, isWanted: Bool = true,
        isFromChannel: Bool = true, at moment: Moment
    ) {
        let isGreeting = isFromChannel && connection?.awaitsGreeting == true
        if isGreeting {
            connection?.awaitsGreeting = false
            postponeCheck(at: moment)
        }
        guard isWanted || isGreeting else { return }
        if let announced {
            guard !isHeld(announced, at: moment), announced != asking?.announced else { return }
            // The same announcement again is not news, but a server that has come back may have the data now.
            guard announced != pending?.announced || isGreeting else { return }
        }
        earlyAnswers = 0
        // The first event may be the last of several that were missed, but it names the collections of only one of
        // them.
        let news = Request(announced: announced, newest: announced, collections: isGreeting ? nil : collections)
        add(newer: news, at: moment.uptime + rules.jitter * moment.chance)
    }

    /// Begins a request that is due. ``record(_:at:)`` ends it.
    ///
    /// - Returns: `nil` if everything in it has been seen meanwhile.
    mutating func nextRequest(at moment: Moment) -> Request? {
        defer { pending = nil }
        var request = pending?.newest.map { isHeld($0, at: moment) } == true ? nil : pending
        if let check = connection?.check, isOpen, check <= moment.uptime {
            postponeCheck(at: moment)
            request = request ?? Request()
            request?.collections = nil
        }
        request?.seen = seen
        request?.attempts = failedRequests + earlyAnswers
        asking = request
        return request
    }

    /// Records that the request has ended.
    mutating func record(_ answer: Answer, at moment: Moment) {
        guard let request = asking else { return }
        asking = nil
        spaced = moment.uptime + Self.betweenRequests
        switch answer {
        case .irrelevant: break
        case .notBefore(let seconds):
            recordAsked(seconds, at: moment)
            add(older: request, at: asked)
        case .failed:
            failedRequests = min(failedRequests + 1, 64)
            paused = moment.uptime + rules.requests.pause(after: failedRequests, random: moment.chance)
            add(older: request, at: paused)
        case .seen(let timestamp):
            (failedRequests, seen) = (0, timestamp)
            postponeCheck(at: moment)
            guard let newest = request.newest, !isHeld(newest, at: moment), earlyAnswers < Self.mostEarlyAnswers else {
                return earlyAnswers = 0
            }
            earlyAnswers += 1
            add(older: request, at: moment.uptime + rules.requests.pause(after: earlyAnswers, random: moment.chance))
        }
    }

    /// Whether an announcement is already known. A seen timestamp in the future covers only the same timestamp.
    private func isHeld(_ announced: Timestamp, at moment: Moment) -> Bool {
        seen.map { announced == $0 || (announced < $0 && $0 <= moment.time) } ?? false
    }

    private mutating func postponeCheck(at moment: Moment) {
        connection?.check = moment.uptime + rules.checkTime * (1 - moment.chance / 2)
    }

    /// Adds an earlier or later announcement to the pending request.
    private mutating func add(older: Request? = nil, newer: Request? = nil, at time: Duration) {
        due = pending == nil ? time : min(due, time)
        guard let pending else { return self.pending = older ?? newer }
        let older = older ?? pending
        var merged = newer ?? pending
        merged.announced = merged.announced ?? older.announced
        merged.newest = [merged.newest, older.newest].compactMap(\.self).max()
        merged.collections = merged.collections.flatMap { some in older.collections.map { $0.union(some) } }
        if let count = merged.collections?.count, count > Self.mostCollections { merged.collections = nil }
        self.pending = merged
    }
}
