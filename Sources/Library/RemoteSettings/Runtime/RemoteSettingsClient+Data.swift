import RemoteSettingsHTTP
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Attachments are read from the storage directory, a packaged bundle, or the network, in this order. In all cases,
/// their size and SHA-256 are checked against the record. Concurrent calls for the same attachment share one download.
extension RemoteSettingsClient {
    /// An attachment as a file, verified against the size and SHA-256 in its record.
    public struct AttachmentFile: Sendable {
        /// The URL of a file in the storage directory. Do not write to it.
        ///
        /// Do not keep the URL for long: once no record refers to the file, a sync may remove it.
        public let url: URL
        /// The place that the bytes came from.
        public let source: AttachmentSource
        /// The earlier version of the record that the file belongs to; `nil` if it belongs to the requested record.
        public var earlierRecord: RemoteSettingsRecord?

        init(path: String, source: AttachmentSource, earlierRecord: RemoteSettingsRecord? = nil) {
            url = URL(filePath: path, directoryHint: .notDirectory)
            self.source = source
            self.earlierRecord = earlierRecord
        }
    }

    /// Returns a record's attachment. Downloads and stores it if it is neither stored nor packaged.
    ///
    /// - Throws: ``RemoteSettingsError``, also if the record has no attachment.
    package func getAttachment(record: RemoteSettingsRecord) async throws(RemoteSettingsError) -> Data {
        try await attachment(for: record).data
    }

    /// Returns the attachment of the record that states this location for it. See `getAttachment(record:)`.
    ///
    /// - Throws: ``RemoteSettingsError``, also if no record has an attachment at this location.
    package func getAttachment(location: String) async throws(RemoteSettingsError) -> Data {
        let collection = try collection()
        return try await collection.content(try collection.wanted(location: location), staleFallback: false).data
    }

    /// Returns a record's attachment, with the place that it came from. See `getAttachment(record:)`.
    ///
    /// - Parameters:
    ///   - record: a record of the collection.
    ///   - staleFallback: whether to return the attachment of an earlier version of the record if the current one
    ///     cannot be fetched.
    /// - Throws: ``RemoteSettingsError``, also if the record has no attachment.
    public func attachment(
        for record: RemoteSettingsRecord, staleFallback: Bool = false
    ) async throws(RemoteSettingsError) -> AttachmentContent {
        let collection = try collection()
        return try await collection.content(try collection.wanted(record), staleFallback: staleFallback)
    }

    /// Returns a record's attachment if it is stored or packaged; otherwise `nil`.
    ///
    /// Never uses the network; does I/O. An attachment that is uncompressed in an embedded bundle is not copied.
    public func localAttachment(for record: RemoteSettingsRecord) -> AttachmentContent? {
        guard let collection = try? collection(), let wanted = try? collection.wanted(record) else { return nil }
        return collection.localAttachment(wanted)
    }

    /// Returns a record's attachment as a file. A large attachment is streamed to disk, so it is never in memory as a
    /// whole.
    ///
    /// Uses the network if the attachment is neither stored nor packaged.
    ///
    /// - Parameters:
    ///   - record: a record of the collection.
    ///   - staleFallback: see ``attachment(for:staleFallback:)``.
    ///   - isolation: the caller's isolation, in which `progress` is called.
    ///   - progress: a closure that is called as bytes arrive.
    /// - Throws: ``RemoteSettingsError``, also if the record has no attachment.
    public func attachmentFile(
        for record: RemoteSettingsRecord, staleFallback: Bool = false,
        isolation: isolated (any Actor)? = #isolation, progress: ((AttachmentProgress) -> Void)? = nil
    ) async throws(RemoteSettingsError) -> AttachmentFile {
        let collection = try collection()
        let wanted = try collection.wanted(record)
        return try await reporting(to: progress) { progress async throws(RemoteSettingsError) in
            try await collection.file(wanted, staleFallback: staleFallback, progress: progress)
        }
    }

    /// Returns whether a record's complete attachment is in the storage directory.
    ///
    /// A packaged attachment does not count; ``localAttachment(for:)`` finds that too. Never uses the network. Does
    /// I/O: it checks the file's SHA-256.
    public func isAttachmentStored(for record: RemoteSettingsRecord) -> Bool {
        guard let collection = try? collection(), let wanted = try? collection.wanted(record) else { return false }
        return collection.isCached(wanted)
    }

    /// Removes a record's attachment from the storage directory, even if it was kept with ``keepAttachment(for:)``.
    /// Does I/O.
    ///
    /// Other records with the same file lose it too. It is downloaded again when it is next requested.
    ///
    /// - Throws: ``RemoteSettingsError`` if the record has no attachment, or if its file cannot be removed.
    public func removeAttachment(for record: RemoteSettingsRecord) throws(RemoteSettingsError) {
        let collection = try collection()
        let wanted = try collection.wanted(record)
        try storing { try collection.remove(wanted.digest) }
    }

    /// Keeps a record's attachment in the storage directory until ``removeAttachment(for:)`` or ``resetStorage()``.
    ///
    /// The file is kept even if a sync deletes the record or changes its attachment, for all processes and after a
    /// restart. This call does not download the attachment.
    ///
    /// - Throws: ``RemoteSettingsError`` if the record has no attachment, or if the storage directory cannot be written
    ///   to.
    public func keepAttachment(for record: RemoteSettingsRecord) throws(RemoteSettingsError) {
        let collection = try collection()
        let wanted = try collection.wanted(record)
        try storing { try collection.keep(wanted.digest, true) }
    }

    /// Removes the attachments in the storage directory that no record refers to any more. Does I/O.
    ///
    /// This includes the earlier versions that syncs keep for `staleFallback`, but not attachments that were kept with
    /// ``keepAttachment(for:)``. Each sync that stores a newer state removes unused attachments too.
    ///
    /// - Returns: the number of removed files.
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

    /// Downloads every attachment of this app's records that is neither stored nor packaged. Uses the network.
    ///
    /// If more than 16 are missing and the server offers a ZIP file of all attachments, that file is tried first.
    ///
    /// An attachment that the server has lost does not stop the others: ``AttachmentDownloads/failed`` lists it. Each
    /// call tries the missing ones again.
    ///
    /// - Parameters:
    ///   - isolation: the caller's isolation, in which `progress` is called.
    ///   - progress: a closure that is called after each file with the numbers so far.
    /// - Throws: ``RemoteSettingsError`` for what stops all downloads, for example if the device is offline or the disk
    ///   is full. Attachments already stored are kept.
    public func downloadAttachments(
        isolation: isolated (any Actor)? = #isolation, progress: ((AttachmentDownloads) -> Void)? = nil
    ) async throws(RemoteSettingsError) -> AttachmentDownloads {
        let collection = try collection()
        return try await reporting(to: progress) { progress async throws(RemoteSettingsError) in
            try await WorkThreads.run { () async throws(RemoteSettingsError) in
                try await collection.downloadAttachments(of: collection.records() ?? [], progress: progress)
            }
        }
    }

    /// Runs work that reports its progress on any thread, and calls `progress` in the caller's isolation. If that is
    /// slower than the work, it receives only the latest value.
    private func reporting<Progress: Sendable, Value: Sendable>(
        to progress: ((Progress) -> Void)?, isolation: isolated (any Actor)? = #isolation,
        _ work: @escaping @Sendable ((@Sendable (Progress) -> Void)?) async throws(RemoteSettingsError) -> Value
    ) async throws(RemoteSettingsError) -> Value {
        guard let progress else { return try await work(nil) }
        let (values, continuation) = AsyncStream<Progress>.makeStream(bufferingPolicy: .bufferingNewest(1))
        async let result = { () async -> Result<Value, RemoteSettingsError> in
            defer { continuation.finish() }
            do throws(RemoteSettingsError) {
                return .success(try await work { continuation.yield($0) })
            } catch {
                return .failure(error)
            }
        }()
        for await value in values { progress(value) }
        return try await result.get()
    }
}
