import RemoteSettingsModel

/// A payload as the bundle will hold it, made ready while the snapshot's attachments are still on their way: of all that a
/// bundle is packed of, it takes longest.
public struct PackedRecords: Sendable {
    let payload: Bytes
    let content: PackedContent
    let bytes: Bytes

    /// - Returns: `nil` where the payload is so large that the bundle's writer streams it.
    /// - Throws: ``BundleError`` where there is too little memory.
    package init?(_ payload: Bytes, with deflaters: DeflaterPool) throws(BundleError) {
        guard payload.count <= EntryWriter.wholeTrial else { return nil }
        self.payload = payload
        (content, bytes) = try deflaters.pack(payload, for: BundleFormat.records)
    }
}
