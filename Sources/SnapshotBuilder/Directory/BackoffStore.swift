import RemoteSettingsHTTP
import RemoteSettingsModel

/// Keeps the holds that servers asked for (`Backoff`, `Retry-After`) from one run to the next.
public struct BackoffStore {
    private let directory: DumpsDirectory
    private var path: String { "\(directory.workPath)/backoff.json" }

    public init(_ directory: DumpsDirectory) {
        self.directory = directory
    }

    /// What was kept. A file that cannot be read counts as none: the server will ask again.
    public func read(limits: Limits) -> BackoffState {
        guard let bytes = try? FileStore.read(path, limit: 1 << 20),
            let document = try? JSONValue(parsing: bytes, limits: limits), case .object(let members) = document
        else { return BackoffState() }
        return BackoffState(
            members.compactMap { member in
                member.value.number?.uint64.map {
                    BackoffState.Hold(origin: member.key, until: Timestamp(milliseconds: $0))
                }
            })
    }

    /// Writes the holds that still stand, or removes the file where there are none.
    func write(_ state: BackoffState, now: Timestamp) throws(FileError) {
        let holds = state.holds(at: now)
        guard !holds.isEmpty else { return try FileStore.remove(path) }
        try directory.prepareWork()
        let members = holds.map { JSONValue.Member(key: $0.origin, value: .number(JSONNumber($0.until.milliseconds))) }
        try FileStore.replace(path, with: Bytes(JSONText.compact(.object(members))))
    }
}
