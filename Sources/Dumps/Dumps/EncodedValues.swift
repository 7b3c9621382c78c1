import RemoteSettingsModel
import SnapshotBundle

// Formats of values in the JSON documents printed by commands.

extension CollectionID: Encodable {
    public func encode(to encoder: any Encoder) throws { try "\(self)".encode(to: encoder) }
}

extension LockFile.Collection: Encodable {
    package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}
