import RemoteSettingsModel

extension Catalogue {
    /// Whether the catalogue lists these signed bytes as the collection's state.
    package func lists(_ payload: Payload, of id: CollectionID) -> Bool { entries[id]?.lists(payload) ?? false }
}

extension Catalogue.Entry {
    /// Whether these signed bytes are the listed state. They are hashed only if the times and the counts are equal.
    package func lists(_ payload: Payload) -> Bool {
        timestamp == payload.timestamp && records == payload.records.count
            && self.payload == SHA256Digest(hashing: payload.bytes)
    }
}
