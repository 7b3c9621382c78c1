import RemoteSettingsModel
import SnapshotBundle
import Testing

@Suite struct ListedStateTests {
    /// The tool and the library ask here, so that neither takes what the other refuses.
    @Test func aStateIsListedByTimeHashAndCount() throws {
        let payload = try Fixture.records(3).snapshot().payload
        let listed = Catalogue.Entry(
            timestamp: payload.timestamp, payload: SHA256Digest(hashing: payload.bytes), records: 3)
        #expect(listed.lists(payload))
        var (later, more, other) = (listed, listed, listed)
        later.timestamp = payload.timestamp.advanced(by: .milliseconds(1))
        more.records = 4
        other.payload = SHA256Digest(hashing: Bytes())
        #expect(!later.lists(payload) && !more.lists(payload) && !other.lists(payload))
    }
}
