import RemoteSettingsHTTP
import RemoteSettingsModel

/// Follows a server's update channel for as long as its task runs, over one connection after another.
///
/// A ``ConnectionSchedule`` with the rules of a follower decides when the next connection is made. It follows a random
/// wait of at most 1 s, or the wait that the server asked for with `retry:`. The wait doubles with each failure, up to
/// 5 minutes. A connection that lasted a minute counts as a success. The server's `Retry-After` and its `pause` are
/// obeyed. A server that sends more than 600 messages within a minute has failed, because each has to be acted on or
/// logged. The connection then ends, and the next one waits.
package struct UpdateWatch: Sendable {
    /// Something to report.
    package enum Notice: Hashable, Sendable {
        /// The stream is open. Its first event states the server's present state.
        case connected(HTTPURL)
        case event(UpdateEvent)
        /// An event that cannot be read.
        case refused(UpdateEventError)
        /// There is no connection until `wait` has passed. If there is no error, the server has ended the stream.
        case disconnected(HTTPError?, wait: Duration)
    }

    /// Three heartbeats of 15 s.
    package static let idleSeconds = 45

    private let client: ServerClient
    private let environment: HTTPEnvironment

    /// - Parameter client: its `Limits.updateIdleSeconds` should be ``idleSeconds``.
    package init(client: ServerClient, environment: HTTPEnvironment = .system) {
        self.client = client
        self.environment = environment
    }

    /// Follows the channel. Returns when the task is cancelled.
    ///
    /// - Parameter report: called in order. The next event is read when it returns.
    /// - Throws: `HTTPError` if the server's first answer shows that it has no update channel, or that it cannot be
    ///   used as configured. After the first connection, every failure is retried.
    package func run(_ report: (Notice) async -> Void) async throws(HTTPError) {
        var schedule = ConnectionSchedule(.follower)
        var hasConnected = false
        while !Task.isCancelled {
            schedule.noteConnecting()
            let (end, failure) = await follow(&schedule, report)
            if Task.isCancelled { return }
            hasConnected = hasConnected || schedule.isOpen
            if let failure, !hasConnected, !failure.mayPass { throw failure }
            let moment = environment.moment
            schedule.noteEnd(end, at: moment)
            let wait = if case .wait(let wait?) = schedule.step(at: moment.uptime) { wait } else { Duration.zero }
            await report(.disconnected(failure, wait: wait))
            guard (try? await environment.sleep(wait)) != nil else { return }
        }
    }

    /// Opens a connection, and reports what arrives until it ends.
    private func follow(
        _ schedule: inout ConnectionSchedule, _ report: (Notice) async -> Void
    ) async -> (ConnectionSchedule.End, HTTPError?) {
        do throws(HTTPError) {
            var stream = try await client.startingRun().updates()
            schedule.noteOpened(at: environment.uptime())
            await report(.connected(stream.url))
            while let message = try await stream.next() {
                schedule.noteMessage(message, at: environment.uptime())
                let step = schedule.step(at: environment.uptime())
                if step == .close(.flood) {
                    return (.flood, HTTPError(stream.url, .notAnEventStream("\(ConnectionSchedule.End.flood)")))
                }
                switch message {
                case .event(let event): await report(.event(event))
                case .refused(let error): await report(.refused(error))
                case .heartbeat, .reconnectionTime: break
                }
                if case .close(let end) = step { return (end, nil) }
            }
            return (.lost, nil)
        } catch {
            if case .backoff(_, let seconds) = error.reason { return (.notBefore(seconds: seconds), error) }
            return (.lost, error)
        }
    }
}

extension HTTPError {
    /// Whether the same request may succeed later without anyone changing anything.
    fileprivate var mayPass: Bool { isRetryable || isNetworkFailure || category == .backoff }
}

extension RequestSchedule {
    /// Notes what ``UpdateWatch`` has reported.
    package mutating func note(_ notice: UpdateWatch.Notice, at moment: Moment) {
        switch notice {
        case .connected: noteOpened(at: moment)
        case .disconnected: noteClosed()
        case .event(.update(let timestamp, let collections)):
            noteAnnounced(timestamp, collections: collections.map { Set($0) }, at: moment)
        case .event(.pause), .refused: break
        }
    }
}
