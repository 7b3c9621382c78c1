import RemoteSettingsModel

extension Catalogue {
    /// Returns whether the catalogue lists this signed payload as the collection's state.
    package func lists(_ payload: Payload, of id: CollectionID) -> Bool { entries[id]?.lists(payload) ?? false }
}

extension Catalogue.Entry {
    /// Returns whether this signed payload is the listed state. It is hashed only if the timestamps and the numbers of
    /// records are equal.
    package func lists(_ payload: Payload) -> Bool {
        timestamp == payload.timestamp && records == payload.records.count
            && self.payload == SHA256Digest(hashing: payload.bytes)
    }
}
