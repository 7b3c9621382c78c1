import RemoteSettingsModel

/// Asks for a server's state, one request after another, when a ``RequestSchedule`` says so.
package final class StateRequests: Sendable {
    private let schedule: Mutex<RequestSchedule>
    private let environment: HTTPEnvironment
    private let seen: (@Sendable () -> Timestamp?)?
    private let alarm = Alarm()

    /// - Parameter seen: the last monitor timestamp that was seen, if others ask for the monitor too.
    package init(
        _ rules: RequestSchedule.Rules, environment: HTTPEnvironment = .system,
        seen: (@Sendable () -> Timestamp?)? = nil
    ) {
        schedule = Mutex(RequestSchedule(rules))
        self.environment = environment
        self.seen = seen
    }

    /// Notes an event.
    @discardableResult
    package func note<Value: Sendable>(_ event: (inout RequestSchedule, Moment) -> Value) -> Value {
        let (seen, moment) = (seen?(), environment.moment)
        defer { alarm.ring() }
        return schedule.withLock { schedule in
            if let seen { schedule.seen = seen }
            return event(&schedule, moment)
        }
    }

    /// Makes the requests. Returns when the task is cancelled.
    ///
    /// - Parameters:
    ///   - ask: fetches the server's state.
    ///   - noted: called after each answer.
    package func run(
        ask: (RequestSchedule.Request) async -> RequestSchedule.Answer,
        noted: (_ isVain: Bool) async -> Void = { _ in }
    ) async {
        while !Task.isCancelled {
            switch schedule.withLock({ $0.step(at: environment.uptime()) }) {
            case .wait(let pause): await alarm.wait(pause, environment)
            case .ask:
                guard let request = note({ $0.take(at: $1) }) else { continue }
                let answer = await ask(request)
                if Task.isCancelled { return }
                await noted(note { $0.note(answer, at: $1) })
            }
        }
    }
}
