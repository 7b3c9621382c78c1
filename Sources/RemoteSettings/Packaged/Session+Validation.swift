import RemoteSettingsModel
import SnapshotBundle

extension Session {
    /// Looks whether everything packaged can be served, as far as locks and the bundles' first bytes tell.
    func validatePackaged() throws(RemoteSettingsError) {
        _ = try server.get()
        let loader = loader
        var problems = loader.packaged.problems.map { "\($0.source): \($0.reason)" }
        for (id, entries) in loader.packaged.entries.sorted(by: { $0.key < $1.key }) {
            for entry in entries {
                do {
                    try loader.check(entry)
                    if case .signed(let signature) = entry.lock.trust, !roots.roots.contains(signature.root) {
                        throw SnapshotRefusal(
                            .notTrusted("its root \(signature.root) is not pinned (RemoteSettingsConfig.trustRoots)"))
                    }
                    _ = try entry.open(id, limits: limits)
                } catch {
                    problems.append("\(entry.source.name): \(id): \(SnapshotRefusal(error).reason)")
                }
            }
        }
        guard problems.isEmpty else {
            throw .Other(reason: "packaged snapshots cannot be used:\n" + problems.joined(separator: "\n"))
        }
    }
}
