import RemoteSettingsModel
import SnapshotBundle

extension Session {
    /// Looks whether everything packaged can be served, as far as locks and the bundles' first bytes tell.
    func validatePackaged() throws(RemoteSettingsError) {
        _ = try server.get()
        let loader = loader
        var unreadable = loader.packaged.problems
        let all = loader.packaged.all(problems: &unreadable)
        var problems = unreadable.map { "\($0.source): \($0.reason)" }
        for (id, entry) in all {
            do {
                try loader.check(entry)
                if let verdict = entry.lock.trust.verdict, !policy.roots.roots.contains(verdict.root) {
                    throw SnapshotRefusal(
                        .notTrusted("its root \(verdict.root) is not pinned (RemoteSettingsConfig.trustRoots)"))
                }
                _ = try entry.open(id, limits: limits)
            } catch {
                problems.append("\(entry.source.name): \(id): \(SnapshotRefusal(error).reason)")
            }
        }
        guard problems.isEmpty else {
            throw .Other(reason: "packaged snapshots cannot be used:\n" + problems.joined(separator: "\n"))
        }
    }
}
