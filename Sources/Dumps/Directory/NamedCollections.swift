import Catalogue
import FileStorage
import RemoteSettingsModel
import SnapshotBundle

extension DumpsDirectory {
    /// Names collections in `dumps.yaml`, which is made where there is none. Does I/O.
    ///
    /// Of two processes that do so at once, one would undo what the other has done: call it within ``exclusively(_:)``, or hold
    /// the directory's lock.
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
        guard try configurationText() != nil else { throw DumpsError.notNamed(ids, configurationPath) }
        try exclusively {
            guard let before = try configurationText() else { throw DumpsError.notNamed(ids, configurationPath) }
            var editor = try ConfigurationEditor(before, file: configurationPath)
            // With `release:`, the catalogue is there without a name in the file.
            let isRelease = try ConfigurationReader.read(before, file: configurationPath).release != nil
            let missing = try ids.filter { id in
                try !editor.remove(id) && !(isRelease && id == Catalogue.collection)
            }
            guard missing.isEmpty else { throw DumpsError.notNamed(missing, configurationPath) }
            if !keepingBundles { try removeBundles(ids, limits: limits) }
            try writeConfiguration(editor.text)
        }
    }

    /// Does something with the directory, which is made where it is missing, while no other process works in it.
    ///
    /// Another one that holds the lock for a moment only, as it takes to edit `dumps.yaml`, is waited for.
    ///
    /// - Throws: ``DumpsError/busy(_:)`` where another process works in it for more than a second, ``FileError``, or what
    ///   `body` throws; a directory that was made for it is then removed again, if nothing is in it.
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

    private func removeBundles(_ ids: [CollectionID], limits: Limits) throws {
        let before = try lockFile(limits: limits)
        var after = before
        for id in ids { after.collections[id] = nil }
        if after.collections[Catalogue.collection] == nil { after.release = nil }
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
