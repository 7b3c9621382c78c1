import Dispatch
import RemoteSettingsModel

/// SIGTERM and SIGINT, for commands that finish something before they end.
enum TerminationSignals {
    /// Yields once for each signal. From now on, the signals themselves do not end the process.
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
