import RemoteSettingsHTTP
import RemoteSettingsModel

/// Progress of a refresh. Events come from any task; those of one collection come in order.
package enum RefreshEvent: Sendable {
    case planned([PlannedCollection])
    case began(CollectionID)
    /// The attachments to download, in files and bytes.
    case downloading(CollectionID, files: Int, bytes: UInt64)
    case received(CollectionID, bytes: Int)
    case downloaded(CollectionID)
    case packing(CollectionID)
    case finished(CollectionOutcome)
    case http(HTTPEvent)
}
