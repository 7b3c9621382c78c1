import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    private var backoffPath: String { "\(workPath)/backoff.json" }

    /// Returns the backoffs requested by servers (`Backoff`, `Retry-After`), as stored by the last refresh. An
    /// unreadable file is treated as empty, because the server will request the backoff again.
    package func backoff() -> BackoffState { BackoffFile.read(backoffPath) }

    /// Writes the backoffs that have not expired, or removes the file if there are none.
    func keepBackoff(_ state: BackoffState, now: Timestamp) throws(BundleError) {
        if !state.holds(at: now).isEmpty { try prepareWork() }
        try BackoffFile.write(state, to: backoffPath, now: now)
    }
}
