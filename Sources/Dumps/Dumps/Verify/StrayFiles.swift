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
            } else if try isFolder ? "\(path)/\(name)" != workPath : !isAllowedFile(name) {
                strays.append(isFolder ? "\(name)/" : name)
            }
        }
        return strays.sorted()
    }

    private func isAllowedFile(_ name: String) throws(BundleError) -> Bool {
        // Only a regular file is allowed, not a link, a pipe or a device.
        guard Self.isAllowed(name) else { return false }
        return try FileStore.size("\(path)/\(name)") != nil
    }

    /// Returns whether a dumps directory may contain a file with this name, in addition to its bundles.
    static func isAllowed(_ name: String) -> Bool {
        guard !name.utf8.contains(UInt8(ascii: "/")) else { return false }
        return ["dumps.yaml", "dumps.lock.json", ".gitattributes", ".gitignore"].contains(name)
            || ["README", "NOTICE", "LICENSE", "COPYING"].contains { name.hasPrefix($0) }
    }

    /// Returns the allowed files that are written by people or for git: all except bundles, `dumps.yaml` and the lock
    /// file. Does I/O.
    ///
    /// - Throws: `BundleError`, also if a file is too large.
    package func documents() throws(BundleError) -> [(name: String, content: Bytes)] {
        var documents: [(name: String, content: Bytes)] = []
        for name in try FileStore.list(path) ?? [] where !["dumps.yaml", "dumps.lock.json"].contains(name) {
            guard try isAllowedFile(name),
                let content = try FileStore.read("\(path)/\(name)", limit: Self.configurationBytes)
            else { continue }
            documents.append((name, content))
        }
        return documents
    }

    /// Writes a file from ``documents()`` of another directory, unless there is one with this name. Does I/O.
    package func add(document name: String, _ content: Bytes) throws(BundleError) {
        guard try FileStore.kind("\(path)/\(name)") == nil else { return }
        try FileStore.replace("\(path)/\(name)", below: path, with: content)
    }
}
