import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// Whether a directory holds one release, as its configuration asks.
package struct ReleaseVerification: Sendable {
    /// The packaged catalogue; `nil` if there is none that a trusted root vouches for.
    package let release: VerifiedCatalogue?
    /// The pinned collections whose state is not that of the release.
    package let left: [CollectionID]
    /// The faults, one sentence each.
    package let problems: [String]

    /// Compares the lock with the packaged catalogue. Does I/O; uses no network.
    ///
    /// It uses the manifests of the bundles, and inflates only the catalogue. ``Verification`` checks that the bundles
    /// hold what their manifests say.
    ///
    /// - Returns: `nil` if the configuration asks for no release.
    /// - Throws: `BundleError` or `FileError` if the lock cannot be read.
    package init?(
        _ directory: DumpsDirectory, _ configuration: DumpsConfiguration, policy: TrustPolicy, limits: Limits
    ) throws {
        guard let wanted = configuration.release else { return nil }
        let lock = try directory.lockFile(limits: limits)
        let release: VerifiedCatalogue?
        do {
            release = try directory.packagedCatalogue(
                lock, by: BundleVerifier(policy, limits: limits), limits: limits)
        } catch {
            (self.release, left, problems) = (nil, [], ["the packaged catalogue cannot be used: \(error)"])
            return
        }
        guard let release else {
            let problem =
                "expected the catalogue of \(wanted.origin), because \(directory.configurationPath) asks for its "
                + "release, found none; run rsdump refresh, or rsdump publish on the machine that publishes"
            (self.release, left, problems) = (nil, [], [problem])
            return
        }
        let held = release.catalogue
        var (problems, left): ([String], [CollectionID]) = ([], [])
        if held.origin != wanted.origin {
            problems.append(
                "expected a release of \(wanted.origin), as \(directory.configurationPath) says, found one "
                    + "of \(held.origin)")
        }
        let claimed = LockFile.Release(origin: held.origin, number: held.number)
        if lock.release != claimed {
            let found = lock.release.map { "release \($0.number) of \($0.origin)" } ?? "none"
            problems.append(
                "\(directory.lockPath): expected release \(held.number) of \(held.origin), as the packaged catalogue "
                    + "says, "
                    + "found \(found); take the file back with git, or run rsdump refresh")
        }
        for (id, entry) in lock.collections.sorted(by: { $0.key < $1.key }) where id != Catalogue.collection {
            do throws(BundleError) {
                let state = try directory.listedState(of: id, entry, limits: limits)
                if held.entries[id] == state { continue }
            } catch {
                problems.append("\(id): \(error)")
                continue
            }
            if configuration.settings(of: id).pin != nil {
                left.append(id)
            } else if let listed = held.entries[id] {
                problems.append(
                    "\(id): expected the state that release \(held.number) lists, \(listed.timestamp) "
                        + "(\(listed.timestamp.rfc3339)), found \(entry.timestamp) (\(entry.timestamp.rfc3339)), or "
                        + "other "
                        + "records; run rsdump refresh, or rsdump publish on the machine that publishes")
            } else if let since = held.removed[id] {
                problems.append(
                    "\(id): removed from the release since number \(since); remove it with: rsdump remove \(id)")
            } else {
                problems.append("\(id): release \(held.number) does not list it; remove it with: rsdump remove \(id)")
            }
        }
        (self.release, self.left, self.problems) = (release, left, problems)
    }
}
