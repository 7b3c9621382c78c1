import RemoteSettingsHTTP
import RemoteSettingsModel
import Locks
import UpdateEvents
import UpdateSchedule

/// Does what updates call for, such as a refresh and a command, one after the other, when its ``RequestSchedule`` says so.
///
/// Announcements that arrive meanwhile are merged. None of them is believed: handled is what was seen in the server's monitor.
package final class UpdateWork: Sendable {
    /// What became of a request for the server's state.
    package enum Answer: Sendable {
        /// The server's monitor has this timestamp.
        ///
        /// - Parameter isChanged: whether something was new; `nil` to say that by the timestamp.
        case seen(Timestamp, isChanged: Bool?)
        /// Nothing of what was announced is wanted here; the server was not asked.
        case irrelevant
        /// Some of it failed, or all.
        case failed(isChanged: Bool)
        /// The server asked for no requests for so many seconds.
        case notBefore(seconds: Int)
    }

    /// So many commands are begun at most: one a second.
    private static let pauseAfterAction = Duration.seconds(1)

    private let state = Mutex(RequestSchedule(.follower))
    private let alarm = Alarm()
    private let environment: HTTPEnvironment
    private let ask: @Sendable (RequestSchedule.Request) async -> Answer
    private let act: @Sendable (_ timestamp: Timestamp?, _ collections: Set<CollectionID>?) async -> Bool

    /// - Parameters:
    ///   - ask: brings the server's state here, or looks at it.
    ///   - act: called after each answer with something new: with the monitor's timestamp, as far as it is known, and with
    ///     the collections that were announced, where all of them are known. It says whether it did something.
    package init(
        environment: HTTPEnvironment = .system, ask: @escaping @Sendable (RequestSchedule.Request) async -> Answer,
        act: @escaping @Sendable (_ timestamp: Timestamp?, _ collections: Set<CollectionID>?) async -> Bool
    ) {
        self.environment = environment
        self.ask = ask
        self.act = act
    }

    package func note(_ notice: UpdateWatch.Notice) {
        let (now, time, random) = (environment.uptime(), environment.now(), environment.random())
        state.withLock { schedule in
            switch notice {
            case .connected: schedule.noteOpened(at: now, random: random)
            case .disconnected: schedule.noteClosed()
            case .event(.update(let timestamp, let collections)):
                schedule.noteAnnounced(
                    timestamp, collections: collections.map { Set($0) }, at: now, time: time, random: random)
            case .event(.pause), .refused: break
            }
        }
        alarm.ring()
    }

    /// Returns when the task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            switch state.withLock({ $0.step(at: environment.uptime()) }) {
            case .wait(let pause): await alarm.wait(pause, environment)
            case .ask:
                let request = state.withLock { $0.take(at: environment.uptime(), time: environment.now()) }
                guard let request else { continue }
                let answer = await ask(request)
                if Task.isCancelled { return }
                guard let timestamp = note(answer), await act(timestamp, request.collections) else { continue }
                try? await environment.sleep(Self.pauseAfterAction)
            }
        }
    }

    /// - Returns: the timestamp to act with, `.some(nil)` where it is not known; `nil` where nothing is new.
    private func note(_ answer: Answer) -> Timestamp?? {
        let (now, time, random) = (environment.uptime(), environment.now(), environment.random())
        return state.withLock { schedule in
            switch answer {
            case .seen(let seen, let isChanged):
                let isChanged = isChanged ?? (seen != schedule.seen)
                schedule.noteAnswer(seen: seen, isChanged: isChanged, at: now, time: time, random: random)
                return isChanged ? .some(seen) : nil
            case .irrelevant: schedule.noteIrrelevance()
            case .failed(let isChanged):
                schedule.noteFailure(at: now, random: random)
                return isChanged ? .some(nil) : nil
            case .notBefore(let seconds): schedule.notePause(seconds: seconds, at: now)
            }
            return nil
        }
    }
}

extension ServerClient {
    /// Looks at the server's monitor, and at nothing else. Uses the network.
    ///
    /// - Throws: `HTTPError`; `ChangesetError` for an answer that is no list of collections.
    package func monitorTimestamp(expected: Timestamp?) async throws -> Timestamp? {
        guard case .changes(let document, _) = try await startingRun().monitor(expected: expected) else { return nil }
        return try MonitorChangeset(parsing: document.body, limits: limits).timestamp
    }
}
