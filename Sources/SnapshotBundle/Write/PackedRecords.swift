import RemoteSettingsModel

/// A payload as the bundle will hold it, made ready while the snapshot's attachments are still on their way: of all that a
/// bundle is packed of, it takes longest.
public struct PackedRecords: Sendable {
    let content: PackedContent
    let bytes: Bytes

    /// - Returns: `nil` where the payload is so large that the bundle's writer streams it.
    /// - Throws: ``BundleError`` where there is too little memory.
    package init?(_ payload: Payload, with deflaters: DeflaterPool) throws(BundleError) {
        guard payload.bytes.count <= EntryWriter.wholeTrial else { return nil }
        (content, bytes) = try deflaters.pack(payload.bytes, for: BundleFormat.records)
    }
}
