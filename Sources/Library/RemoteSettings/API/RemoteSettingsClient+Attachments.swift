import RemoteSettingsHTTP
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Attachments come from the nearest place: the storage directory, a packaged bundle, the network. Wherever they come
/// from, size and SHA-256 are checked against the record. Calls at the same time for one attachment share one download.
extension RemoteSettingsClient {
    /// A record's attachment. Uses the network if it is neither stored nor packaged; what is downloaded is stored.
    ///
    /// - Throws: ``RemoteSettingsError``, also if the record has no attachment.
    public func getAttachment(record: RemoteSettingsRecord) async throws(RemoteSettingsError) -> Data {
        try await attachment(for: record).data
    }

    /// Like `getAttachment(record:)`, for the location that a record of the collection states.
    ///
    /// - Throws: ``RemoteSettingsError``, also if no record has an attachment there.
    public func getAttachment(location: String) async throws(RemoteSettingsError) -> Data {
        let collection = try collection()
        return try await collection.content(try collection.wanted(location: location), staleFallback: false).data
    }

    /// Like `getAttachment(record:)`, and says where the attachment came from.
    ///
    /// - Parameters:
    ///   - record: a record of the collection.
    ///   - staleFallback: whether the attachment of an earlier version of the record will do if the right one cannot be
    ///     fetched.
    /// - Throws: ``RemoteSettingsError``, also if the record has no attachment.
    public func attachment(
        for record: RemoteSettingsRecord, staleFallback: Bool = false
    ) async throws(RemoteSettingsError) -> AttachmentContent {
        let collection = try collection()
        return try await collection.content(try collection.wanted(record), staleFallback: staleFallback)
    }

    /// A record's attachment if it is stored or packaged, else `nil`.
    ///
    /// Never uses the network; does I/O. An attachment that is uncompressed in a bundle embedded in the program is not
    /// copied.
    public func localAttachment(for record: RemoteSettingsRecord) -> AttachmentContent? {
        guard let collection = try? collection(), let wanted = try? collection.wanted(record) else { return nil }
        return collection.localAttachment(wanted)
    }

    /// A record's attachment as a file. Large ones are streamed to the disk in little memory.
    ///
    /// Uses the network if the attachment is neither stored nor packaged.
    ///
    /// - Parameters:
    ///   - record: a record of the collection.
    ///   - staleFallback: as for ``attachment(for:staleFallback:)``.
    ///   - progress: called as bytes arrive, from the task that awaits this call.
    /// - Throws: ``RemoteSettingsError``, also if the record has no attachment.
    public func attachmentFile(
        for record: RemoteSettingsRecord, staleFallback: Bool = false,
        progress: (@Sendable (AttachmentProgress) -> Void)? = nil
    ) async throws(RemoteSettingsError) -> AttachmentFile {
        let collection = try collection()
        return try await collection.file(
            try collection.wanted(record), staleFallback: staleFallback, progress: progress)
    }

    /// Whether a record's attachment is whole in the storage directory.
    ///
    /// A packaged one does not count; ``localAttachment(for:)`` finds that too. Never uses the network. Does I/O: it
    /// checks the file's SHA-256.
    public func isAttachmentStored(for record: RemoteSettingsRecord) -> Bool {
        guard let collection = try? collection(), let wanted = try? collection.wanted(record) else { return false }
        return collection.isCached(wanted)
    }

    /// Removes a record's attachment from the storage directory, even if ``keepAttachment(for:)`` keeps it. Does I/O.
    ///
    /// Other records that have the same file lose it too. It is downloaded again when it is next asked for.
    ///
    /// - Throws: ``RemoteSettingsError`` if the record has no attachment, or if its file cannot be
    ///   removed.
    public func removeAttachment(for record: RemoteSettingsRecord) throws(RemoteSettingsError) {
        let collection = try collection()
        let wanted = try collection.wanted(record)
        try storing { try collection.remove(wanted.digest) }
    }

    /// Keeps a record's attachment in the storage directory until ``removeAttachment(for:)`` or ``resetStorage()``.
    ///
    /// It stays when a sync deletes the record or gives it another attachment, in every process and after a restart.
    /// The call does not download it.
    ///
    /// - Throws: ``RemoteSettingsError`` if the record has no attachment, or if the storage directory
    ///   cannot be written to.
    public func keepAttachment(for record: RemoteSettingsRecord) throws(RemoteSettingsError) {
        let collection = try collection()
        let wanted = try collection.wanted(record)
        try storing { try collection.keep(wanted.digest, true) }
    }

    /// Removes the attachments in the storage directory that no record has any more. Does I/O.
    ///
    /// It also removes the earlier versions that syncs leave for `staleFallback`. Attachments of
    /// ``keepAttachment(for:)`` stay. Each sync that stores a newer state removes unused attachments too.
    ///
    /// - Returns: how many files were removed.
    /// - Throws: ``RemoteSettingsError`` if a file cannot be removed, or if another process is writing.
    @discardableResult
    public func pruneAttachments() throws(RemoteSettingsError) -> Int {
        let collection = try collection()
        return try storing { try collection.pruneAttachments() }
    }

    private func storing<Value>(_ body: () throws -> Value) throws(RemoteSettingsError) -> Value {
        do {
            return try body()
        } catch {
            throw RemoteSettingsError(error)
        }
    }

    /// Downloads every attachment of the app's records that is neither stored nor packaged. Uses the network.
    ///
    /// If more than 16 are missing and the server offers them in one zip, the zip is asked for first.
    ///
    /// - Throws: ``RemoteSettingsError`` for the first attachment that could not be fetched. The others are stored.
    @discardableResult
    public func downloadAttachments() async throws(RemoteSettingsError) -> AttachmentDownloads {
        let collection = try collection()
        return try await WorkThreads.run { () async throws(RemoteSettingsError) in
            try await collection.downloadAttachments(of: collection.records() ?? [])
        }
    }
}
