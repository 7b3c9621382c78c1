import Dispatch
import RemoteSettingsModel

/// SIGTERM and SIGINT, for commands that end in their own time.
enum TerminationSignals {
    /// Yields once for each signal. From now on, to the end of the process, they do not end it.
    static func stream() -> AsyncStream<Void> {
        AsyncStream { continuation in
            for number in [SIGTERM, SIGINT] {
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                // The handler keeps its source.
                source.setEventHandler { withExtendedLifetime(source) { _ = continuation.yield() } }
                source.activate()
            }
        }
    }
}
