import FileStorage
import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// Names collections in `dumps.yaml`, which is made where there is none. Does I/O.
    ///
    /// - Parameters:
    ///   - ids: those that are named already keep their settings.
    ///   - attachments: `all` or `none`, for the new ones; `nil` leaves it to the file's default.
    ///   - server: becomes the file's server; `nil` leaves it as it is.
    ///   - roots: are added to those that the file trusts.
    ///   - check: looks at the result before it is written, and may throw.
    /// - Returns: the collections that are new, and what the file says now.
    /// - Throws: ``ConfigurationError``, ``FileError``, or what `check` throws; then the file is as it was.
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

    /// Takes collections out of `dumps.yaml`, and unless they are kept, their bundles out of the lock and the directory. Does
    /// I/O.
    ///
    /// `dumps.yaml` is written last: where something fails before, the same call can be made again. The lock is written
    /// before the bundles go: one that it does not name does no harm, one that it names and that is missing would be a fault.
    ///
    /// - Throws: ``DumpsError/notNamed(_:_:)`` where one of them is not in it, or ``ConfigurationError``; then nothing was
    ///   removed. ``DumpsError/busy(_:)``, ``FileError``, or `BundleError` where the lock cannot be read.
    package func removeCollections(
        _ ids: [CollectionID], keepingBundles: Bool = false, limits: Limits = Limits()
    ) throws {
        guard let before = try configurationText() else { throw DumpsError.notNamed(ids, configurationPath) }
        var editor = try ConfigurationEditor(before, file: configurationPath)
        let missing = try ids.filter { try !editor.remove($0) }
        guard missing.isEmpty else { throw DumpsError.notNamed(missing, configurationPath) }
        guard let lock = try DirectoryLock(path) else { throw DumpsError.busy(path) }
        defer { withExtendedLifetime(lock) {} }
        if !keepingBundles { try removeBundles(ids, limits: limits) }
        try writeConfiguration(editor.text)
    }

    private func removeBundles(_ ids: [CollectionID], limits: Limits) throws {
        let before = try lockFile(limits: limits)
        var after = before
        for id in ids { after.collections[id] = nil }
        if after != before { try writeLock(after) }
        for id in ids {
            try FileStore.remove(bundlePath(id), below: path)
            // It must not come back when dumps.yaml no longer says that it is to go.
            let bucket = FileStore.parent(of: bundlePath(id))
            if try FileStore.isDirectory(bucket) { try FileStore.flush(directory: bucket) }
            try FileStore.removeIfEmpty(FileStore.parent(of: bundlePath(id)))
        }
    }
}
