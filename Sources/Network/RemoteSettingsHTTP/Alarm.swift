import RemoteSettingsModel

/// Waits that can be ended early because something new has happened. There is one waiter at a time.
package final class Alarm: Sendable {
    private struct State {
        var isRung = false
        var sleeper: Task<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Ends the wait that is under way, or the next one.
    package func ring() {
        let sleeper = state.withLock { state in
            state.isRung = true
            return state.sleeper
        }
        sleeper?.cancel()
    }

    /// Waits until the time has passed, the alarm is rung or the task is cancelled.
    ///
    /// - Parameter duration: `nil` for a wait without an end in time.
    package func wait(_ duration: Duration?, _ environment: HTTPEnvironment) async {
        let sleeper = Task {
            if let duration { return (try? await environment.sleep(duration)) ?? () }
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
        }
        let isRung = state.withLock { state in
            state.sleeper = sleeper
            return state.isRung
        }
        if isRung { sleeper.cancel() }
        await withTaskCancellationHandler {
            await sleeper.value
        } onCancel: {
            sleeper.cancel()
        }
        // Whoever rings has already changed the state that the waiter reads after this.
        state.withLock { ($0.isRung, $0.sleeper) = (false, nil) }
    }
}
