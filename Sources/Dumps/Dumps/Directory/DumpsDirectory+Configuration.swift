import RemoteSettingsModel
import SnapshotBundle

extension DumpsTransaction {
    /// Edits `dumps.yaml`, and commits it together with all other changes of the transaction. Does I/O.
    ///
    /// - Parameters:
    ///   - text: the initial text, for a new file; `nil` to edit the current content of the file.
    ///   - edit: a closure that changes the text, and may throw.
    /// - Returns: the result of `edit`, and the new configuration.
    /// - Throws: ``Failure`` or the errors of `edit`, in which case nothing has changed; otherwise the errors of
    ///   ``commit(_:text:)``.
    @discardableResult
    package func commit<Value>(
        creating text: String? = nil, editing edit: (inout ConfigurationEditor) throws -> Value
    ) throws -> (value: Value, configuration: DumpsConfiguration) {
        let before = try directory.configurationText()
        var editor = try ConfigurationEditor(text ?? before, file: directory.configurationPath)
        let value = try edit(&editor)
        let configuration = try ConfigurationReader.read(editor.text, file: directory.configurationPath)
        try commit(configuration, text: editor.text == before ? nil : editor.text)
        return (value, configuration)
    }
}

extension DumpsDirectory {
    /// Adds collections to `dumps.yaml`. Creates the file if there is none. Does I/O.
    ///
    /// - Parameters:
    ///   - ids: the collections. Those that are already listed keep their settings.
    ///   - attachments: `all` or `none`, for the new ones; `nil` to use the file's default.
    ///   - server: the new server; `nil` to keep the current one.
    ///   - roots: root certificates to add to the trusted ones.
    ///   - check: a closure that checks the configurations before and after the change, and may throw.
    /// - Returns: the new collections, and the new configuration.
    /// - Throws: ``Failure``, or the errors of `check`. In that case, nothing has changed.
    package func addCollections(
        _ ids: [CollectionID], attachments: String? = nil, server: String? = nil, roots: [SHA256Digest] = [],
        check: (_ before: DumpsConfiguration, _ after: DumpsConfiguration) throws -> Void = { _, _ in }
    ) async throws -> (new: Set<CollectionID>, configuration: DumpsConfiguration) {
        let transaction = try await DumpsTransaction.begin(in: self)
        defer { try? transaction.end() }
        let before = try configurationOrDefault()
        let (new, configuration) = try transaction.commit { editor in
            if let server { try editor.setServer(server) }
            for root in roots { try editor.addRoot(root) }
            let new = try editor.add(ids, attachments: attachments)
            try check(before, ConfigurationReader.read(editor.text, file: configurationPath))
            return new
        }
        return (new, configuration)
    }

    /// Removes collections from `dumps.yaml`, the lock file and the directory. Does I/O.
    ///
    /// - Throws: ``Failure``, also if the file does not list one of them; `Failure` if the lock file cannot be
    ///   read. In that case, nothing has changed.
    package func removeCollections(_ ids: [CollectionID]) async throws {
        guard try FileStore.exists(configurationPath) else { throw Failure.notNamed(ids, configurationPath, known: []) }
        let transaction = try await DumpsTransaction.begin(in: self)
        defer { try? transaction.end() }
        let configuration = try configuration()
        try transaction.remove(ids)
        try transaction.commit { editor in
            let missing = try ids.filter { id in
                // A collection in `recovered` may already be gone from the file, because `begin` has just finished a
                // killed removal.
                try !editor.remove(id) && !transaction.recovered.contains(id)
            }
            guard missing.isEmpty else {
                throw Failure.notNamed(missing, configurationPath, known: configuration.collections.map(\.id))
            }
        }
    }

    /// Returns the collections of the lock file that `dumps.yaml` does not list, sorted. Does I/O.
    ///
    /// No refresh would update them any more, so a refresh removes them. Without `dumps.yaml`, there are none. The file
    /// is read again here, because a configuration read before the directory was locked may be outdated.
    ///
    /// - Throws: ``Failure``.
    package func unlistedCollections(_ lock: LockFile) throws -> [CollectionID] {
        guard try FileStore.exists(configurationPath) else { return [] }
        return Set(lock.collections.keys).subtracting(try configuration().collections.map(\.id)).sorted()
    }

    /// Returns the collections in `dumps.yaml` that have never been fetched.
    package func neverFetched() throws -> [CollectionID] {
        let lock = try lockFile()
        return try configurationOrDefault().collections.map(\.id).filter { lock.collections[$0] == nil }
    }

    /// Returns whether the lock file is lost: there are bundles, but neither it nor the log of an interrupted change.
    package func hasLostLock() throws -> Bool {
        guard try !FileStore.exists(lockPath), try FileStore.kind(redoLogPath) == nil else { return false }
        return try neverFetched().contains { try FileStore.exists(bundlePath($0)) }
    }
}
