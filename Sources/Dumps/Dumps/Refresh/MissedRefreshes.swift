import RemoteSettingsModel

/// The refreshes that missed a collection: commits in the git history of the dumps directory that changed other
/// collections, although the server already had a newer state of this one.
///
/// A refresh that changed nothing has no commit, so there may have been more.
package struct MissedRefreshes: Sendable {
    /// The times of the commits that changed the lock file, newest first.
    private let commits: [Timestamp]

    /// Reads the commits. Runs git. Without a repository, no missed refreshes are found.
    package init(_ directory: DumpsDirectory) async {
        let repository = try? await GitRepository(containing: directory.path)
        commits = ((try? await repository?.revisions(touching: "dumps.lock.json")) ?? []).map(\.time)
    }

    /// Returns the number of commits made after the server's state was published, and the time of the first; `nil` if
    /// there is none, or if the bundle is not older than that state.
    ///
    /// - Parameter current: the bundle's timestamp; `nil` if there is no bundle. Then `dumps.yaml` may have listed the
    ///   collection only since the last commit, so none of them need have had it.
    package func since(_ serverTimestamp: Timestamp?, bundle current: Timestamp?) -> (count: Int, first: Timestamp)? {
        guard let serverTimestamp, let current, serverTimestamp > current else { return nil }
        let missed = commits.prefix { $0 > serverTimestamp }
        return missed.last.map { (missed.count, $0) }
    }

    /// Returns the result of ``since(_:bundle:)`` as a sentence; `nil` if no refresh was missed.
    package func sentence(_ serverTimestamp: Timestamp?, bundle current: Timestamp?) -> String? {
        guard let serverTimestamp, let missed = since(serverTimestamp, bundle: current) else { return nil }
        return
            "the server has had this state since \(serverTimestamp.rfc3339), but "
            + "\(Counted.text(missed.count, "commit")) of the dumps since then \(missed.count == 1 ? "does" : "do") not "
            + "have it, so refreshes may have failed"
    }
}
