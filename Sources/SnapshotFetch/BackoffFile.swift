import FileStorage
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Keeps the holds that servers asked for (`Backoff`, `Retry-After`) from one run to the next, in a file.
package enum BackoffFile {
    /// What was kept. A file that cannot be read counts as none: the server will ask again.
    package static func read(_ path: String, limits: Limits) -> BackoffState {
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
    ///
    /// - Parameter isContended: whether other processes may write it at the same time.
    package static func write(
        _ state: BackoffState, to path: String, now: Timestamp, isContended: Bool = false
    ) throws(FileError) {
        let holds = state.holds(at: now)
        guard !holds.isEmpty else { return try FileStore.remove(path) }
        let members = holds.map { JSONValue.Member(key: $0.origin, value: .number(JSONNumber($0.until.milliseconds))) }
        let content = Bytes(JSONText.compact(.object(members)))
        try FileStore.replace(path, with: content, isContended: isContended)
    }
}
