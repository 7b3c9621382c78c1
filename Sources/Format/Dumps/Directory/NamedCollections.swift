import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

extension DumpsDirectory {
    /// Locks the directory for this process, until the returned lock is released.
    ///
    /// - Parameter duration: how long to wait for another process, in real time.
    /// - Throws: ``DumpsError/busy(_:)`` if another process still holds the lock; ``FileError``, or
    ///   `CancellationError`.
    package func lock(waiting duration: Duration) async throws -> DirectoryLock {
        let end = ContinuousClock.now + duration
        while true {
            if let lock = try DirectoryLock(path) { return lock }
            guard ContinuousClock.now < end else { throw DumpsError.busy(path) }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Adds collections to `dumps.yaml`. Creates the file if there is none. Does I/O.
    ///
    /// If two processes did this at once, one would undo the other's work. Call it within ``exclusively(_:)``, or hold
    /// the directory's lock.
    ///
    /// - Parameters:
    ///   - ids: the collections. Those that are already named keep their settings.
    ///   - attachments: `all` or `none`, for the new ones; `nil` to use the file's default.
    ///   - server: the file's new server; `nil` to leave it as it is.
    ///   - roots: root certificates to add to those that the file trusts.
    ///   - check: checks the result before it is written, and may throw.
    /// - Returns: the new collections, and the resulting configuration.
    /// - Throws: ``ConfigurationError``, ``FileError``, or what `check` throws. The file is then unchanged.
    package func addCollections(
        _ ids: [CollectionID], attachments: String? = nil, server: String? = nil, roots: [SHA256Digest] = [],
        check: (DumpsConfiguration) throws -> Void = { _ in }
    ) throws -> (new: Set<CollectionID>, configuration: DumpsConfiguration) {
        let before = try configurationText()
        var editor = try ConfigurationEditor(before, file: configurationPath)
        if let server { try editor.setServer(server) }
        for root in roots { try editor.addRoot(root) }
        let new = try editor.add(ids, attachments: attachments)
        let configuration = try ConfigurationReader.read(editor.text, file: configurationPath)
        try check(configuration)
        if editor.text != before { try writeConfiguration(editor.text) }
        return (new, configuration)
    }

    /// Removes collections from `dumps.yaml`, the lock file and the directory. Does I/O.
    ///
    /// `dumps.yaml` is written last, so that the same call can be repeated if an earlier step fails. The lock is
    /// written before the bundles are removed: a bundle that the lock does not name is harmless, but a missing one that
    /// it names is a fault.
    ///
    /// - Throws: ``DumpsError/notNamed(_:_:)`` if the file does not name one of them, or ``ConfigurationError``;
    ///   nothing is removed in these cases. Also ``DumpsError/busy(_:)``, ``FileError``, or `BundleError` if the lock
    ///   cannot be read.
    package func removeCollections(
        _ ids: [CollectionID], limits: Limits = Limits()
    ) throws {
        guard try configurationText() != nil else { throw DumpsError.notNamed(ids, configurationPath) }
        try exclusively {
            guard let before = try configurationText() else { throw DumpsError.notNamed(ids, configurationPath) }
            var editor = try ConfigurationEditor(before, file: configurationPath)
            // With `catalogue:`, the catalogue belongs to the directory even if the file does not name it.
            let isCatalogue = try ConfigurationReader.read(before, file: configurationPath).catalogue != nil
            let missing = try ids.filter { id in
                try !editor.remove(id) && !(isCatalogue && id == Catalogue.collection)
            }
            guard missing.isEmpty else { throw DumpsError.notNamed(missing, configurationPath) }
            var lock = try lockFile(limits: limits)
            try removeBundles(ids, from: &lock)
            try writeConfiguration(editor.text)
        }
    }

    /// Runs `body` while no other process works in the directory. Creates the directory if it is missing.
    ///
    /// It waits only for a moment, which is enough for a process that edits `dumps.yaml`.
    ///
    /// - Throws: ``DumpsError/busy(_:)`` if another process holds the lock for more than a second; ``FileError``, or
    ///   what `body` throws. If `body` throws and the directory was created for this call and is empty, it is removed
    ///   again.
    package func exclusively<Value>(_ body: () throws -> Value) throws -> Value {
        let isNew = try !FileStore.exists(path)
        try FileStore.makeDirectories(path)
        for _ in 0..<500 {
            guard let lock = try DirectoryLock(path) else {
                FileStore.pause(microseconds: 2000)
                continue
            }
            defer { withExtendedLifetime(lock) {} }
            do {
                return try body()
            } catch {
                if isNew { try? FileStore.removeIfEmpty(path) }
                throw error
            }
        }
        throw DumpsError.busy(path)
    }

    /// Removes collections from the lock file, and then their bundles. The caller holds the directory lock. Does I/O.
    ///
    /// - Parameter lock: the current lock file, which is written if it changes.
    package func removeBundles(_ ids: [CollectionID], from lock: inout LockFile) throws(FileError) {
        let before = lock
        for id in ids { lock.collections[id] = nil }
        if lock.collections[Catalogue.collection] == nil { lock.catalogue = nil }
        if lock != before { try writeLock(lock) }
        for id in ids {
            try FileStore.remove(bundlePath(id), below: path)
            // The bundle must not come back after `dumps.yaml` has stopped naming it.
            let bucket = FileStore.parent(of: bundlePath(id))
            if try FileStore.isDirectory(bucket) { try FileStore.flush(directory: bucket) }
            try FileStore.removeIfEmpty(FileStore.parent(of: bundlePath(id)))
        }
    }

    /// The collections of the lock file that `dumps.yaml` does not list, sorted. Does I/O.
    ///
    /// No refresh would ever look at them again, so a refresh removes them. A directory without `dumps.yaml` has none.
    /// The file is read here and now: what was read before the directory was locked may be outdated.
    ///
    /// - Throws: ``FileError`` or ``ConfigurationError``.
    package func unlistedCollections(_ lock: LockFile) throws -> [CollectionID] {
        guard try FileStore.exists(configurationPath) else { return [] }
        return Set(lock.collections.keys).subtracting(try configuration().allCollections.map(\.id)).sorted()
    }
}
