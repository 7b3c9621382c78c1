import FileStorage
import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// What lies in the directory and is neither a bundle of the lock nor one of the files that may lie there, sorted:
    /// paths relative to the directory.
    ///
    /// At the top these may: `dumps.yaml`, `dumps.lock.json`, `.gitattributes`, `.gitignore`, files whose names begin with
    /// README, NOTICE, LICENSE or COPYING, and `.rsdump/`, which is a refresh's own. Nothing else, and nothing in a
    /// bucket's folder but its bundles. Links are stray, whatever they point to.
    ///
    /// - Throws: ``FileError`` or `BundleError`.
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

    private func isAllowed(_ name: String) throws(FileError) -> Bool {
        // A regular file only: not a link, a pipe or a device.
        guard try FileStore.size("\(path)/\(name)") != nil else { return false }
        return ["dumps.yaml", "dumps.lock.json", ".gitattributes", ".gitignore"].contains(name)
            || ["README", "NOTICE", "LICENSE", "COPYING"].contains { name.hasPrefix($0) }
    }
}
