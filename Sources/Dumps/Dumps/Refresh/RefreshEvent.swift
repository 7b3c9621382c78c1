import RemoteSettingsHTTP
import RemoteSettingsModel

/// Progress of a refresh. Events may be sent by any task; those of one collection are in order.
package enum RefreshEvent: Sendable {
    case planned([PlannedCollection])
    case began(CollectionID)
    /// The attachments to download, as a number of files and bytes.
    case downloading(CollectionID, files: Int, bytes: UInt64)
    /// A part of the attachments; negative if a download starts again.
    case received(CollectionID, bytes: Int)
    case downloaded(CollectionID)
    case packing(CollectionID)
    /// The new bundle is complete. It becomes current when the others are.
    case staged(CollectionID)
    case finished(CollectionOutcome)
    case http(HTTPEvent)
}
