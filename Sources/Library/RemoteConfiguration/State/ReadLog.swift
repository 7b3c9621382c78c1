import RemoteSettingsModel

/// The values that were read of one activated state. It is there so that observers hear of each once.
final class ReadLog: Sendable {
    private let hub: ObserverHub
    private let known = Mutex<[String: RemoteConfigValue]>([:])

    init(_ hub: ObserverHub) { self.hub = hub }

    /// Notes that the app has read a value. It costs next to nothing if nobody observes reads.
    func record(_ value: RemoteConfigValue, of key: String, in parameters: ParameterLayer?) {
        guard hub.wantsReads, value.source != .static,
            known.withLock({ $0.updateValue(value, forKey: key) != value })
        else { return }
        let record = parameters?.winner(key)
        hub.send(
            RemoteConfigLookup(
                key: key, value: value, record: record, timestamp: record == nil ? nil : parameters?.timestamp))
    }
}
