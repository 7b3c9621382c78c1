import RemoteSettingsModel

extension Catalogue {
    /// Whether the catalogue lists this signed payload as the collection's state.
    package func lists(_ payload: Payload, of id: CollectionID) -> Bool { entries[id]?.lists(payload) ?? false }
}

extension Catalogue.Entry {
    /// Whether this signed payload is the listed state. It is hashed only if the times and counts are equal.
    package func lists(_ payload: Payload) -> Bool {
        timestamp == payload.timestamp && records == payload.records.count
            && self.payload == SHA256Digest(hashing: payload.bytes)
    }
}
