import RemoteSettingsHTTP
import RemoteSettingsModel
import UpdateEvents
import UpdateSchedule

/// Follows a server's update channel for as long as its task runs, over one connection after another.
///
/// Where a connection cannot be made or ends, the next one comes after a random wait of at most 1 s (or what the server asked
/// for by `retry:`), doubling with each failure up to 5 minutes; a connection that lasted a minute counts as a success. The
/// server's `Retry-After` and its `pause` are obeyed. A server that sends more than 600 messages within a minute, which somebody
/// would have to write down or act on, has failed: the connection ends, and the next one waits.
package struct UpdateWatch: Sendable {
    /// Something to report.
    package enum Notice: Hashable, Sendable {
        /// The stream is open. Its first event tells the server's present state.
        case connected(HTTPURL)
        case event(UpdateEvent)
        /// An event that cannot be read.
        case refused(UpdateEventError)
        /// There is no connection until `wait` has passed. Without an error the server has ended the stream.
        case disconnected(HTTPError?, wait: Duration)
    }

    /// Three heartbeats of 15 s.
    package static let idleSeconds = 45
    private static let disabledWait = Duration.seconds(4 * 3600)
    private static let longestWait = Duration.seconds(300)
    private static let stable = Duration.seconds(60)

    private let client: ServerClient
    private let environment: HTTPEnvironment

    /// - Parameter client: should have ``idleSeconds`` as its `Limits.updateIdleSeconds`.
    package init(client: ServerClient, environment: HTTPEnvironment = .system) {
        self.client = client
        self.environment = environment
    }

    /// Returns when the task is cancelled.
    ///
    /// - Parameter report: called in order; the next event is read when it returns.
    /// - Throws: `HTTPError` if the first answer of the server shows that it has no update channel, or that it cannot be used
    ///   as configured. From the first connection on, everything is tried again.
    package func run(_ report: (Notice) async -> Void) async throws(HTTPError) {
        var failures = 0
        var hasConnected = false
        var base = Duration.seconds(1)
        while !Task.isCancelled {
            let start = environment.uptime()
            var asked = Duration.zero
            var failure: HTTPError?
            do throws(HTTPError) {
                var stream = try await client.startingRun().updates()
                hasConnected = true
                await report(.connected(stream.url))
                var rate = MessageRate(at: environment.uptime())
                reading: while let message = try await stream.next() {
                    guard rate.note(at: environment.uptime()) else {
                        throw HTTPError(
                            stream.url,
                            .notAnEventStream("more than \(MessageRate.mostPerMinute) messages within a minute"))
                    }
                    switch message {
                    case .event(let event):
                        await report(.event(event))
                        guard case .pause(let pause) = event else { continue }
                        asked = wait(for: pause)
                        break reading
                    case .refused(let error): await report(.refused(error))
                    case .reconnectionTime(let time): base = min(max(time, .seconds(1)), Self.longestWait)
                    case .heartbeat: break
                    }
                }
            } catch {
                failure = error
            }
            if Task.isCancelled { return }
            if let failure {
                guard hasConnected || failure.mayPass else { throw failure }
                if case .backoff(_, let seconds) = failure.reason { asked = .seconds(seconds) }
            }
            failures = environment.uptime() - start >= Self.stable ? 1 : failures + 1
            // A server that asks for no wait at all, again and again, is waited for nevertheless.
            let wait = max(
                asked,
                RetryPauses(first: base, longest: Self.longestWait)
                    .pause(after: failures, random: environment.random()))
            await report(.disconnected(failure, wait: wait))
            guard (try? await environment.sleep(wait)) != nil else { return }
        }
    }

    private func wait(for pause: UpdatePause) -> Duration {
        switch pause {
        case .retryAfter(let seconds): .seconds(min(max(0, seconds), client.limits.backoffSeconds))
        case .disabled: Self.disabledWait
        }
    }
}

extension HTTPError {
    /// Whether the same request may succeed later without anybody changing anything.
    fileprivate var mayPass: Bool { isRetryable || isNetworkFailure || category == .backoff }
}
