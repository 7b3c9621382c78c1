import RemoteSettingsModel
import RemoteSettingsHTTP

/// Follows a server's update channel for as long as its task runs, over one connection after another.
package struct UpdateWatch: Sendable {
    /// Something that `watch` reports.
    package enum Notice: Hashable, Sendable {
        /// The stream is open.
        case connected(HTTPURL)
        case event(UpdateEvent)
        /// An event cannot be read.
        case refused(UpdateEventError)
        /// The connection is lost. The next one is made after `wait`.
        case disconnected(UpdateSourceError, wait: Duration)
    }

    /// Three times the server's 15 s between heartbeats.
    package static let idleSeconds = 45
    /// The most events that are reported within a second. Each is a line in a log, and a server may send any number of
    /// them.
    private static let mostPerSecond = 10

    private let client: ServerClient
    private let environment: HTTPEnvironment

    /// - Parameter client: its `Limits.updateIdleSeconds` should be ``idleSeconds``.
    package init(client: ServerClient, environment: HTTPEnvironment = .system) {
        self.client = client
        self.environment = environment
    }

    /// Follows the channel. Returns when the task is cancelled.
    ///
    /// - Parameters:
    ///   - ask: called after an announcement, one call at a time. It fetches the server's state, or only looks at it.
    ///   - report: called in order. The next event is read when it returns.
    /// - Throws: `HTTPError` if the server's first answer shows that it has no update channel, or that it cannot be
    ///   used as configured. After the first connection, every failure is retried.
    package func run(
        ask: @escaping @Sendable (UpdateTiming.Request) async -> UpdateTiming.Answer,
        report: @escaping @Sendable (Notice) async -> Void
    ) async throws(HTTPError) {
        let loop = UpdateLoop(.follower, environment: environment)
        let state = Mutex((hasConnected: false, fatal: nil as HTTPError?))
        loop.want(true)
        await loop.run { () async throws(UpdateSourceError) in
            let stream: UpdateStream
            do throws(HTTPError) {
                stream = try await client.startingRun().updates()
            } catch {
                let problem = UpdateSourceError(error)
                guard problem.kind == .unsupported else { throw problem }
                state.withLock { if !$0.hasConnected { $0.fatal = error } }
                throw UpdateSourceError(.failed, problem.description)
            }
            state.withLock { $0.hasConnected = true }
            loop.record { $0.recordOpened(at: $1) }
            await report(.connected(stream.url))
            try await read(stream, loop, report)
        } ask: { request in
            await ask(request)
        } ended: { error in
            if state.withLock({ $0.fatal != nil }) { return false }
            await report(.disconnected(error, wait: loop.untilConnection ?? .zero))
            return true
        }
        if let fatal = state.withLock({ $0.fatal }) { throw fatal }
    }

    private func read(
        _ stream: UpdateStream, _ loop: UpdateLoop, _ report: (Notice) async -> Void
    ) async throws(UpdateSourceError) {
        var (stream, second, reported) = (stream, environment.uptime(), 0)
        while let message = try await stream.nextMessage() {
            let now = environment.uptime()
            if now - second >= .seconds(1) { (second, reported) = (now, 0) }
            if message != .heartbeat { reported += 1 }
            let isReported = reported <= Self.mostPerSecond
            switch message {
            case .event(let event) where isReported: await report(.event(event))
            case .refused(let error) where isReported: await report(.refused(error))
            default: break
            }
            if let end = loop.record({ $0.record(message, at: $1) }) { throw end }
            if case .event(.update(let timestamp, let collections)) = message {
                loop.record { $0.recordAnnouncement(timestamp, collections: collections.map { Set($0) }, at: $1) }
            }
        }
    }
}
