import RemoteSettingsHTTP
import RemoteSettingsModel

/// A clock that moves only when a test advances it or code sleeps by it.
final class SteppingClock: Sendable {
    private struct State {
        var now: Timestamp
        var slept: Duration = .zero
    }

    private let state: Mutex<State>

    init(start: Timestamp = Timestamp(milliseconds: 1_800_000_000_000)) {
        state = Mutex(State(now: start))
    }

    /// How long was slept in all.
    var slept: Duration { state.withLock { $0.slept } }

    func advance(by duration: Duration) {
        state.withLock { $0.now = $0.now.advanced(by: duration) }
    }

    /// The jitter is always zero.
    var environment: HTTPEnvironment {
        let start = state.withLock { $0.now }
        return HTTPEnvironment(
            now: { self.state.withLock { $0.now } },
            sleep: { duration in
                self.state.withLock {
                    $0.now = $0.now.advanced(by: duration)
                    $0.slept += duration
                }
            },
            random: { 0 },
            uptime: { self.state.withLock { $0.now.elapsed(since: start) } })
    }
}
