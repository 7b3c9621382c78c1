import RemoteSettingsModel
import SnapshotBundle

/// Stores the backoff periods that servers requested (`Backoff`, `Retry-After`) in a file, for the next run.
package enum BackoffFile {
    private static let mostBytes = 1 << 20

    /// Reads the stored backoff periods. An unreadable file is treated as empty, because a server will request a
    /// backoff again.
    package static func read(_ path: String) -> BackoffState {
        guard let bytes = try? FileStore.read(path, limit: Self.mostBytes),
            let document = try? JSONValue(parsing: bytes), case .object(let members) = document
        else { return BackoffState() }
        return BackoffState(
            members.compactMap { member in
                member.value.number?.uint64.map {
                    BackoffState.Hold(origin: member.key, until: Timestamp(milliseconds: $0))
                }
            })
    }

    /// Writes the backoff periods that have not expired. If there are none, it removes the file.
    package static func write(_ state: BackoffState, to path: String, now: Timestamp) throws(Failure) {
        let holds = state.holds(at: now)
        guard !holds.isEmpty else { return try FileStore.remove(path) }
        let members = holds.map { JSONValue.Member(key: $0.origin, value: .number(JSONNumber($0.until.milliseconds))) }
        let content = Bytes(JSONText.compact(.object(members)))
        try FileStore.replace(path, with: content, limit: Self.mostBytes)
    }
}
