import RemoteSettingsModel
import SnapshotBundle

/// A check that a directory's bundles have the states of one catalogue, if its configuration requires a catalogue.
package struct CatalogueVerification: Sendable {
    /// The packaged catalogue; `nil` if there is none, or if it cannot be verified. ``problems`` states why.
    package let catalogue: VerifiedCatalogue?
    /// The pinned collections whose states differ from those in the catalogue.
    package let left: [CollectionID]
    /// The problems, one sentence each.
    package let problems: [String]

    /// Compares the lock file with the packaged catalogue. Does I/O; uses no network.
    ///
    /// It reads the manifests of the bundles, and inflates only the catalogue. ``Verification`` checks that the bundles
    /// match their manifests.
    ///
    /// - Returns: `nil` if the configuration does not require a catalogue.
    /// - Throws: `BundleError` if the lock file cannot be read.
    package init?(
        _ directory: DumpsDirectory, _ configuration: DumpsConfiguration, policy: TrustPolicy, limits: Limits
    ) throws {
        guard let wanted = configuration.catalogue else { return nil }
        let lock = try directory.lockFile(limits: limits)
        let catalogue: VerifiedCatalogue?
        do {
            catalogue = try directory.packagedCatalogue(
                lock, by: BundleVerifier(policy, limits: limits), limits: limits)
        } catch {
            (self.catalogue, left, problems) = (nil, [], ["the packaged catalogue cannot be used: \(error)"])
            return
        }
        guard let catalogue else {
            let problem =
                "there is no catalogue of \(wanted.publisher), which \(directory.configurationPath) requires; run "
                + "rsdump refresh, or "
                + "rsdump publish on the machine that publishes"
            (self.catalogue, left, problems) = (nil, [], [problem])
            return
        }
        let held = catalogue.catalogue
        var (problems, left): ([String], [CollectionID]) = ([], [])
        if held.publisher != wanted.publisher {
            problems.append(
                "expected a catalogue of \(wanted.publisher), as in \(directory.configurationPath), found "
                    + "\(held.publisher)"
            )
        }
        let claimed = LockFile.CatalogueReference(publisher: held.publisher, number: held.number)
        if lock.catalogue != claimed {
            let found = lock.catalogue.map { "catalogue \($0.number) of \($0.publisher)" } ?? "none"
            problems.append(
                "\(directory.lockPath): expected catalogue \(held.number) of \(held.publisher), the packaged one, "
                    + "found \(found); restore the file with git, or run rsdump refresh")
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
                    "\(id): expected the state that catalogue \(held.number) lists, \(listed.timestamp) "
                        + "(\(listed.timestamp.rfc3339)), found \(entry.timestamp) (\(entry.timestamp.rfc3339)), or "
                        + "other records; run rsdump refresh, or rsdump publish on the machine that publishes")
            } else if let since = held.removed[id] {
                problems.append(
                    "\(id): the publisher removed it in catalogue \(since); remove it with: rsdump remove \(id)")
            } else {
                problems.append("\(id): catalogue \(held.number) does not list it; remove it with: rsdump remove \(id)")
            }
        }
        (self.catalogue, self.left, self.problems) = (catalogue, left, problems)
    }
}
