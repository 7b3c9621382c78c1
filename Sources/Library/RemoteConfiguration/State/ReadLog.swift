import RemoteSettingsModel

/// Tracks which values of one activated state have been read, so that observers are notified of each value only once.
final class ReadLog: Sendable {
    private let hub: ObserverHub
    private let known = Mutex<[ExactString: RemoteConfigValue]>([:])

    init(_ hub: ObserverHub) { self.hub = hub }

    /// Records that the app has read a value. This is very cheap if there are no observers of reads.
    func record(_ value: RemoteConfigValue, of key: String, in parameters: ParameterLayer?) {
        guard hub.wantsReads, value.source != .static,
            known.withLock({ $0.updateValue(value, forKey: key.exact) != value })
        else { return }
        let record = parameters?.winner(key)
        hub.send(
            RemoteConfigLookup(
                key: key, value: value, record: record, timestamp: record == nil ? nil : parameters?.timestamp))
    }
}
