import RemoteSettingsModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Attachments come from the nearest place: the storage directory, a packaged bundle, the network. Wherever they come
/// from, size and SHA-256 are checked against the record. Calls at the same time for one attachment share one download.
extension RemoteSettingsClient {
    /// A record's attachment. Uses the network where it is neither cached nor packaged; what is downloaded is kept.
    ///
    /// - Throws: ``RemoteSettingsError``, also where the record has no attachment.
    public func getAttachment(record: RemoteSettingsRecord) async throws(RemoteSettingsError) -> Data {
        try await attachment(for: record).data
    }

    /// The attachment at a location that a record of the collection names.
    public func getAttachment(location: String) async throws(RemoteSettingsError) -> Data {
        try await loader { loader throws(RemoteSettingsError) in
            try await loader.content(try loader.wanted(location: location), staleFallback: false)
        }.data
    }

    /// A record's attachment, with where it came from.
    ///
    /// - Parameter staleFallback: whether the attachment of an earlier version of the record will do where the right one
    ///   cannot be had.
    public func attachment(
        for record: RemoteSettingsRecord, staleFallback: Bool = false
    ) async throws(RemoteSettingsError) -> AttachmentContent {
        try await loader { loader throws(RemoteSettingsError) in
            try await loader.content(try loader.wanted(record), staleFallback: staleFallback)
        }
    }

    /// A record's attachment where it is cached or packaged, else `nil`. Never uses the network. In a bundle that is part
    /// of the program, what is stored there uncompressed is given in place.
    public func localAttachment(for record: RemoteSettingsRecord) -> AttachmentContent? {
        let session = session
        guard let state = try? state(session) else { return nil }
        let loader = AttachmentLoader(session, state)
        return (try? loader.wanted(record)).flatMap { loader.local($0) }
    }

    /// A record's attachment as a file, for large ones: they are streamed to the disk, in little memory.
    ///
    /// - Parameter progress: called from any task, as bytes arrive.
    public func attachmentURL(
        for record: RemoteSettingsRecord, staleFallback: Bool = false,
        progress: (@Sendable (AttachmentProgress) -> Void)? = nil
    ) async throws(RemoteSettingsError) -> AttachmentFile {
        try await loader { loader throws(RemoteSettingsError) in
            try await loader.file(try loader.wanted(record), staleFallback: staleFallback, progress: progress)
        }
    }

    /// Downloads every attachment of the records that are for this app and that is neither cached nor packaged. Where
    /// more than 16 are wanted and the server offers them in one zip, that is asked for first.
    ///
    /// - Throws: ``RemoteSettingsError`` for the first that cannot be had; the others are kept.
    @discardableResult
    public func cacheAttachments() async throws(RemoteSettingsError) -> CachedAttachmentsSummary {
        let records = getRecords() ?? []
        return try await loader { loader throws(RemoteSettingsError) in try await loader.cacheAll(records) }
    }

    private func loader<Value>(
        _ body: (AttachmentLoader) async throws(RemoteSettingsError) -> Value
    ) async throws(RemoteSettingsError) -> Value {
        let session = session
        return try await body(AttachmentLoader(session, try state(session)))
    }
}
