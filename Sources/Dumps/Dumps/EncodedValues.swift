import RemoteSettingsModel
import SnapshotBundle

// Formats of values in the JSON documents printed by commands.

extension CollectionID: Encodable {
    public func encode(to encoder: any Encoder) throws { try "\(self)".encode(to: encoder) }
}

extension LockFile.Collection: Encodable {
    package func encode(to encoder: any Encoder) throws { try json.encode(to: encoder) }
}

extension Encoder {
    /// Encodes the members that have a value.
    package func encode(members: KeyValuePairs<StaticString, (any Encodable)?>) throws {
        var container = container(keyedBy: MemberName.self)
        for (name, value) in members {
            if let value { try container.encode(value, forKey: MemberName(stringValue: "\(name)")) }
        }
    }
}

private struct MemberName: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(stringValue: String) { self.stringValue = stringValue }

    init?(intValue: Int) { nil }
}
