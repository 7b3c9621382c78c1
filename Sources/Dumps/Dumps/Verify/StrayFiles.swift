import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// Returns the paths in the directory that are neither bundles in the lock file nor allowed files, relative to the
    /// directory and sorted.
    ///
    /// Allowed at the top level are `dumps.yaml`, `dumps.lock.json`, `.gitattributes`, `.gitignore`, files whose names
    /// begin with README, NOTICE, LICENSE or COPYING, and `.rsdump/`, the work directory of a refresh. A bucket's
    /// folder may contain only its bundles. Symbolic links are never allowed, regardless of their targets.
    ///
    /// - Throws: `BundleError`.
    package func strayFiles(limits: Limits = Limits()) throws -> [String] {
        let collections = try lockFile(limits: limits).collections.keys
        let bundles = Set(collections.map { LockFile.Bundle.path(of: $0) })
        let buckets = Set(collections.map(\.bucket))
        var strays: [String] = []
        for name in try FileStore.list(path) ?? [] {
            let isFolder = try FileStore.isDirectory("\(path)/\(name)")
            if isFolder, buckets.contains(name) {
                let contents = try FileStore.list("\(path)/\(name)") ?? []
                strays += contents.map { "\(name)/\($0)" }.filter { !bundles.contains($0) }
            } else if try isFolder ? "\(path)/\(name)" != workPath : !isAllowed(name) {
                strays.append(isFolder ? "\(name)/" : name)
            }
        }
        return strays.sorted()
    }

    private func isAllowed(_ name: String) throws(BundleError) -> Bool {
        // Only a regular file is allowed, not a link, a pipe or a device.
        guard try FileStore.size("\(path)/\(name)") != nil else { return false }
        return ["dumps.yaml", "dumps.lock.json", ".gitattributes", ".gitignore"].contains(name)
            || ["README", "NOTICE", "LICENSE", "COPYING"].contains { name.hasPrefix($0) }
    }
}
