import RemoteSettingsHTTP
import RemoteSettingsModel

/// What happens during a refresh, for people to see. Given from any task, in the order of each collection's own events.
public enum RefreshEvent: Sendable {
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
