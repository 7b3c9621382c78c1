import RemoteSettingsModel

/// Decides when a server is asked for its state, from its announcements and from what was seen.
///
/// Announcements are not believed. Only a timestamp in the server's list of collections, its monitor, settles one.
/// While that is older than the announcement, the server is asked again after a pause that doubles. So an announcement
/// that arrives before its data costs a few requests. A false one costs few more and hides nothing.
///
/// It is a value: events go in, each with its moment, and ``step(at:)`` says what comes next. It does no I/O.
package struct RequestSchedule: Sendable {
    package struct Rules: Sendable {
        /// A request begins after a random part of this time, so that not all clients ask at one moment.
        var longestDelay: Duration
        /// The same delay after a reconnection, whose own pause was already random.
        var delayAfterReturn: Duration { min(longestDelay, .milliseconds(1500)) }
        /// If a server has not stated its state this long after the connection was opened, it is asked.
        var greetingTime: Duration
        /// After this long without a request the server is asked anyway, because an announcement may have been lost.
        ///
        /// A random part of up to half is subtracted.
        var checkTime: Duration
        /// The pauses after requests that failed.
        var failed: RetryPauses
        /// The pauses after answers that are older than the announcement.
        var early: RetryPauses

        /// The rules of an app, for which each request costs something.
        package static func app(longestDelay: Duration) -> Rules {
            Rules(
                longestDelay: longestDelay, greetingTime: .seconds(10), checkTime: .seconds(4 * 3600),
                failed: RetryPauses(first: .seconds(60), longest: .seconds(3600), spread: 0.5...1),
                early: RetryPauses(first: .seconds(1), longest: .seconds(3600), spread: 0.5...1.5))
        }

        /// The rules of a server that follows another one.
        package static let follower = Rules(
            longestDelay: .zero, greetingTime: .seconds(1), checkTime: .seconds(900),
            failed: RetryPauses(first: .seconds(5), longest: .seconds(300)),
            early: RetryPauses(first: .seconds(1), longest: .seconds(300), spread: 0.5...1.5))
    }

    /// What to ask for.
    package struct Request: Hashable, Sendable {
        /// The highest announced timestamp; `nil` if it is not known whether there is something new.
        package var announced: Timestamp?
        /// The collections that were announced as changed; `nil` for any.
        package var collections: Set<CollectionID>?
        /// Whether it is for the present state at the beginning of a connection. An answer without news is no false
        /// announcement then.
        var isGreeting: Bool
    }

    package enum Step: Hashable, Sendable {
        /// Make a request. ``take(at:)`` says what for.
        case ask
        /// Do nothing for this long; `nil` for until the next event.
        case wait(Duration?)
    }

    /// What became of a request.
    package enum Answer: Sendable {
        /// The server's monitor has this timestamp.
        ///
        /// - Parameter isChanged: whether something was new.
        case seen(Timestamp, isChanged: Bool)
        /// The announcement concerns nothing that is wanted here. The server was not asked.
        case irrelevant
        /// Some or all of it failed.
        case failed
        /// The server asked for no requests for this many seconds.
        case notBefore(seconds: Int)
    }

    /// More collections than any server has. A longer list means any collection.
    private static let mostCollections = 10_000
    /// The shortest time between requests that show nothing new.
    private static let pauseAfterNothing = Duration.seconds(60)
    /// A monitor that is further ahead of the clock does not settle an announcement.
    private static let clockTolerance = Duration.seconds(86_400)
    private static let betweenReasons = Duration.seconds(30)

    private let rules: Rules
    /// The monitor's timestamp in the last answer.
    package var seen: Timestamp?
    private var pending: Request?
    /// What is being asked for, and what had been seen when that began.
    private var asking: (request: Request, seen: Timestamp?)?
    /// The uptime at which `pending` becomes due.
    private var due = Duration.zero
    /// The uptime before which no announcement leads to a request.
    private var soonest = Duration.zero
    /// The uptime before which the server wants no request.
    private var asked = Duration.zero
    /// The uptime at which the server is asked without an announcement; `nil` without a connection.
    private var checkDue: Duration?
    private var awaitsGreeting = false
    private var hasConnected = false
    private var isReturn = false
    private var failures = 0
    /// Answers in a row that were older than the announcement.
    private var earlyOnes = 0
    /// Answers in a row that showed nothing new.
    private var fruitless = 0
    private var lastReason: Duration?

    package init(_ rules: Rules) { self.rules = rules }

    package func step(at now: Duration) -> Step {
        guard asking == nil else { return .wait(nil) }
        let check = checkDue.map { max($0, soonest) }
        guard let next = [pending == nil ? nil : due, check].compactMap(\.self).min() else { return .wait(nil) }
        let left = max(next, asked) - now
        return left > .zero ? .wait(left) : .ask
    }

    /// Begins a request that ``step(at:)`` asked for. ``note(_:at:)`` ends it.
    ///
    /// - Returns: `nil` if everything in it has been seen meanwhile.
    package mutating func take(at moment: Moment) -> Request? {
        if let checkDue, max(checkDue, soonest) <= moment.uptime {
            merge(Request(announced: nil, collections: nil, isGreeting: true))
            self.checkDue = moment.uptime + rules.checkTime
        }
        defer { pending = nil }
        guard let pending, !(pending.announced.map { isHeld($0, at: moment) } ?? false) else { return nil }
        asking = (pending, seen)
        return pending
    }

    /// Whether an announcement is no news. A seen timestamp in the future only settles that same timestamp.
    private func isHeld(_ announced: Timestamp, at moment: Moment) -> Bool {
        seen.map { announced == $0 || (announced < $0 && $0 <= moment.time) } ?? false
    }

    /// Notes that a connection to the update channel is open.
    package mutating func noteOpened(at moment: Moment) {
        isReturn = hasConnected
        (hasConnected, awaitsGreeting, checkDue) = (true, true, moment.uptime + rules.greetingTime)
        // What failed without a network may work now.
        guard failures > 0, pending != nil else { return }
        (soonest, due) = (moment.uptime, min(due, moment.uptime + rules.delayAfterReturn * moment.chance))
    }

    /// Notes that the connection is no longer open.
    package mutating func noteClosed() { (awaitsGreeting, checkDue) = (false, nil) }

    /// Notes that something newer was announced.
    ///
    /// - Parameters:
    ///   - announced: the monitor's timestamp; `nil` if it is not known.
    ///   - collections: the collections that have changed; `nil` for any.
    ///   - isWanted: whether one of them matters here.
    ///   - isFromChannel: whether it came over the connection, whose first event states the present state.
    package mutating func noteAnnounced(
        _ announced: Timestamp?, collections: Set<CollectionID>? = nil, isWanted: Bool = true,
        isFromChannel: Bool = true, at moment: Moment
    ) {
        let isGreeting = awaitsGreeting && isFromChannel
        if isGreeting {
            awaitsGreeting = false
            postponeCheck(at: moment)
        }
        guard isWanted || isGreeting else { return }
        if let announced {
            guard !isHeld(announced, at: moment), announced != asking?.request.announced else { return }
            // The same announcement again is no news, but a server that has returned may have the data now.
            guard announced != pending?.announced || isGreeting else { return }
        }
        // The first event may be the last of several that were missed, but it names the collections of only one.
        let request = Request(
            announced: announced, collections: isGreeting ? nil : collections, isGreeting: isGreeting)
        let longest = isGreeting && isReturn ? rules.delayAfterReturn : rules.longestDelay
        add(request, at: max(moment.uptime + longest * moment.chance, soonest))
    }

    /// Notes that the request has ended. Without a request, nothing happens.
    ///
    /// - Returns: whether so many tries were in vain that somebody may want to hear of it. The tries go on.
    package mutating func note(_ answer: Answer, at moment: Moment) -> Bool {
        guard let (request, before) = asking else { return false }
        asking = nil
        switch answer {
        case .irrelevant: return false
        case .notBefore(let seconds):
            asked = moment.uptime + .seconds(min(max(seconds, 1), 86_400))
            add(request, at: asked)
            return false
        case .failed:
            failures += 1
            soonest = moment.uptime + rules.failed.pause(after: failures, random: moment.chance)
            add(request, at: soonest)
            due = soonest
            return failures == 3 || earlyOnes == 6
        case .seen(let seen, let isChanged):
            note(seen, isNewer: before.map { $0 < seen } ?? true, isChanged: isChanged, by: request, at: moment)
            return earlyOnes == 6
        }
    }

    private mutating func note(
        _ seen: Timestamp, isNewer: Bool, isChanged: Bool, by request: Request, at moment: Moment
    ) {
        (failures, self.seen) = (0, seen)
        postponeCheck(at: moment)
        let isBelieved = seen <= moment.time.advanced(by: Self.clockTolerance)
        if let announced = request.announced, seen != announced, seen < announced || !isBelieved {
            earlyOnes += 1
            let pause = rules.early.pause(after: earlyOnes, random: moment.chance)
            if !isNewer { soonest = moment.uptime + min(pause, Self.pauseAfterNothing) }
            add(request, at: moment.uptime + pause)
        } else {
            earlyOnes = 0
            fruitless = isChanged || request.isGreeting ? 0 : fruitless + 1
            if fruitless > 1 { soonest = moment.uptime + Self.pauseAfterNothing }
        }
        due = max(due, soonest)
    }

    /// Notes that the network has changed. What failed may work now.
    package mutating func noteNetwork(at now: Duration) {
        guard failures > 0, pending != nil else { return }
        let next = max(now, lastReason.map { $0 + Self.betweenReasons } ?? now)
        guard next < due else { return }
        (due, soonest, lastReason) = (next, min(soonest, next), next)
    }

    private mutating func postponeCheck(at moment: Moment) {
        if checkDue != nil { checkDue = moment.uptime + rules.checkTime * (1 - moment.chance / 2) }
    }

    private mutating func add(_ request: Request, at time: Duration) {
        due = pending == nil ? time : min(due, time)
        merge(request)
    }

    private mutating func merge(_ request: Request) {
        guard var merged = pending else {
            pending = request
            return
        }
        merged.announced = [merged.announced, request.announced].compactMap(\.self).max()
        merged.collections = merged.collections.flatMap { present in request.collections.map { $0.union(present) } }
        if let count = merged.collections?.count, count > Self.mostCollections { merged.collections = nil }
        merged.isGreeting = merged.isGreeting || request.isGreeting
        pending = merged
    }
}
