import Dumps
import FileStorage
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotFetch

/// Keeps the holds that servers asked for (`Backoff`, `Retry-After`) from one run to the next.
public struct BackoffStore {
    private let directory: DumpsDirectory
    private var path: String { "\(directory.workPath)/backoff.json" }

    public init(_ directory: DumpsDirectory) {
        self.directory = directory
    }

    /// What was kept. A file that cannot be read counts as none: the server will ask again.
    public func read(limits: Limits) -> BackoffState { BackoffFile.read(path, limits: limits) }

    /// Writes the holds that still stand, or removes the file where there are none.
    func write(_ state: BackoffState, now: Timestamp) throws(FileError) {
        if !state.holds(at: now).isEmpty { try directory.prepareWork() }
        try BackoffFile.write(state, to: path, now: now)
    }
}
