import RemoteSettingsModel

/// Follows an update channel. It keeps one connection open, and makes requests for what the server announces.
///
/// An ``UpdateTiming`` decides when. The library supplies the connection and the requests.
package final class UpdateLoop: Sendable {
    private let timing: Mutex<UpdateTiming>
    private let environment: HTTPEnvironment
    private let seen: @Sendable () -> Timestamp?
    private let alarm = Alarm()
    /// Why the connection has ended, until that is recorded.
    private let ending = Mutex<UpdateSourceError?>(nil)

    /// Makes a loop.
    ///
    /// - Parameter seen: the last monitor timestamp that was seen, if other code asks for the monitor too.
    package init(
        _ rules: UpdateTiming.Rules, environment: HTTPEnvironment,
        seen: @escaping @Sendable () -> Timestamp? = { nil }
    ) {
        timing = Mutex(UpdateTiming(rules))
        self.environment = environment
        self.seen = seen
    }

    /// The current state.
    package var current: UpdateTiming { timing.withLock { $0 } }

    /// The time until the next connection; `nil` if there is a connection, or if none is wanted.
    package var untilConnection: Duration? { current.connectionDue.map { max($0 - environment.uptime(), .zero) } }

    /// Records an event.
    @discardableResult
    package func record<Value: Sendable>(_ event: (inout UpdateTiming, Moment) -> Value) -> Value {
        let (seen, moment) = (seen(), environment.moment)
        let (value, isNews) = timing.withLock { timing in
            let before = timing
            if let seen { timing.seen = seen }
            let value = event(&timing, moment)
            return (value, timing.isDue(before: before) || timing.kept != before.kept)
        }
        // A server may send any number of messages, and each call would use memory until the wait ends.
        if isNews { alarm.ring() }
        return value
    }

    /// Sets whether a connection is wanted.
    package func want(_ isWanted: Bool) {
        timing.withLock { $0.wantsConnection = isWanted }
        alarm.ring()
    }

    /// Runs until the task is cancelled.
    ///
    /// - Parameters:
    ///   - follow: opens a connection, and records that it is open and everything that arrives, until it ends.
    ///   - ask: fetches the server's state, or looks at it.
    ///   - keep: called before each wait with what the next start must know.
    ///   - ended: called after each connection that has ended or could not be made. Its result says whether to
    ///     continue.
    package func run(
        follow: @escaping @Sendable () async throws(UpdateSourceError) -> Void,
        ask: @escaping @Sendable (UpdateTiming.Request) async -> UpdateTiming.Answer,
        keep: (UpdateTiming.Kept) -> Void = { _ in }, ended: (UpdateSourceError) async -> Bool
    ) async {
        var (reader, asker): (Task<Void, Never>?, Task<Void, Never>?)
        while !Task.isCancelled {
            if let error = ending.withLock({ $0.take() }) {
                record { $0.recordEnd(error, at: $1) }
                guard await ended(error) else { break }
            }
            let current = current
            keep(current.kept)
            let left = current.next.map { $0.due - environment.uptime() }
            guard let step = current.next?.step, let left, left <= .zero else {
                await alarm.wait(left, environment)
                continue
            }
            switch step {
            case .connect:
                record { timing, _ in timing.recordConnecting() }
                reader = Task { await self.read(follow) }
            case .close:
                reader?.cancel()
                await reader?.value
                let silent = UpdateSourceError(.failed, "the connection went silent")
                ending.withLock { $0 = current.wantsConnection ? silent : nil }
                if !current.wantsConnection { record { $0.recordEnd(nil, at: $1) } }
            case .ask:
                guard let request = record({ $0.nextRequest(at: $1) }) else { continue }
                asker = Task {
                    let answer = await ask(request)
                    self.record { $0.record(answer, at: $1) }
                }
            }
        }
        for task in [reader, asker] {
            task?.cancel()
            await task?.value
        }
    }

    private func read(_ follow: () async throws(UpdateSourceError) -> Void) async {
        var end = UpdateSourceError(.failed, "the server ended the connection")
        do throws(UpdateSourceError) { try await follow() } catch { end = error }
        guard !Task.isCancelled else { return }
        ending.withLock { $0 = end }
        alarm.ring()
    }
}
