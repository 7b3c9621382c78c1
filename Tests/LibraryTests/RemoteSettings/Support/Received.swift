import RemoteSettings
import RemoteSettingsModel

/// Collects the events sent to an app's telemetry.
final class Received: RemoteSettingsTelemetry {
    private let events = Mutex<[UptakeEvent]>([])

    func reportUptake(_ event: UptakeEvent) { events.withLock { $0.append(event) } }

    /// `source status trigger` of each event since the last call.
    func lines() -> [String] { take().map { "\($0.source) \($0.status.rawValue) \($0.trigger.rawValue)" } }

    func take() -> [UptakeEvent] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }
}
