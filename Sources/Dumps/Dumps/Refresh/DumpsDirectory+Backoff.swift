import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    private var backoffPath: String { "\(workPath)/backoff.json" }

    /// The pauses that servers asked for (`Backoff`, `Retry-After`), as the last refresh stored them. An unreadable
    /// file counts as empty, because the server will ask again.
    package func backoff(limits: Limits) -> BackoffState { BackoffFile.read(backoffPath, limits: limits) }

    /// Writes the pauses that have not ended, or removes the file if there are none.
    func keepBackoff(_ state: BackoffState, now: Timestamp) throws(BundleError) {
        if !state.holds(at: now).isEmpty { try prepareWork() }
        try BackoffFile.write(state, to: backoffPath, now: now)
    }
}
