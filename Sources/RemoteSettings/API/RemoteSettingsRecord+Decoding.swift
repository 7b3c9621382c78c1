import RemoteSettingsModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension RemoteSettingsRecord {
    /// The record as a type of the app's, decoded from the whole of its JSON: `id` and `last_modified` included.
    ///
    /// - Throws: `DecodingError`.
    public func decode<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoder.decode(type, from: json.data)
    }
}

extension RemoteSettingsClient {
    /// The records of ``getRecords()`` as a type of the app's; `nil` where nothing is held. Never uses the network.
    ///
    /// - Throws: `DecodingError` for the first record that is not of the type.
    public func records<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> [Value]? {
        try getRecords()?.map { try $0.decode(as: type, decoder: decoder) }
    }
}
