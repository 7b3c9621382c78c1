import Catalogue
import RemoteSettingsModel

extension Catalogue {
    /// Whether the catalogue lists these signed bytes as the collection's state.
    package func lists(_ payload: Payload, of id: CollectionID) -> Bool { entries[id]?.lists(payload) ?? false }
}

extension Catalogue.Entry {
    /// Whether these signed bytes are the listed state. It hashes them if the times agree.
    package func lists(_ payload: Payload) -> Bool {
        timestamp == payload.timestamp && self.payload == SHA256Digest(hashing: payload.bytes)
    }
}
