import RemoteSettingsModel

/// A wait that can be ended early because something has happened. There is one waiter at a time.
package final class Alarm: Sendable {
    private struct State {
        var isRung = false
        var sleeper: Task<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Ends the current wait, or the next one if nobody waits.
    package func ring() {
        let sleeper = state.withLock { state in
            state.isRung = true
            return state.sleeper
        }
        sleeper?.cancel()
    }

    /// Waits until the time has passed, the alarm is rung or the task is cancelled.
    ///
    /// - Parameter duration: how long to wait; `nil` to wait until the alarm rings.
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
        // The caller of `ring()` has already changed the state that the waiter reads after this.
        state.withLock { ($0.isRung, $0.sleeper) = (false, nil) }
    }
}
