import RemoteSettingsModel
import SnapshotTrust
import Testing

/// What was kept together with its chain: a bundle or a cache file.
struct KeptSnapshotVerifierTests {
    private let made: TestChain
    private let collection: CollectionID
    private let verifier: KeptSnapshotVerifier

    init() throws {
        made = try TestPKI().issue()
        collection = try CollectionID("main/regions")
        verifier = KeptSnapshotVerifier(TrustPolicy(roots: try made.anchors), limits: Limits())
    }

    private func snapshot(of timestamp: Timestamp) throws -> UnverifiedSnapshot {
        let payload = Bytes(utf8: #"{"data":[{"id":"a"}],"last_modified":"\#(timestamp)"}"#)
        let signature = try made.signature(over: payload)
        let metadata = #"{"signature":{"signature":"\#(signature)","mode":"p384ecdsa","x5u":"u"}}"#
        return UnverifiedSnapshot(
            collection: collection, payload: try Payload(parsing: payload, limits: Limits()),
            metadata: try CollectionMetadata(parsing: Bytes(utf8: metadata), limits: Limits()))
    }

    private func verify(_ timestamp: Timestamp, at time: Timestamp) throws -> Snapshot {
        try verifier.verified(try snapshot(of: timestamp), chain: try made.pem, at: time)
    }

    /// Who writes a cache file chooses the time: an expired key must not sign newer data than its certificate's end.
    @Test func dataThatIsNewerThanItsVerificationIsRefused() throws {
        let day = Timestamp(milliseconds: TestPKI.now.milliseconds + 86_400_000)
        #expect(try verify(TestPKI.now, at: TestPKI.now).timestamp == TestPKI.now)
        #expect(try verify(day, at: TestPKI.now).timestamp == day)
        for timestamp in [
            day.advanced(by: .milliseconds(1)), TestPKI.time("2026-06-01"), Timestamp(milliseconds: .max),
        ] {
            #expect(
                throws: ContentSignatureError.newerThanVerification(collection, timestamp: timestamp, time: TestPKI.now)
            ) {
                try verify(timestamp, at: TestPKI.now)
            }
        }
    }

    /// What was verified ahead counts for this signature, key and payload only.
    @Test func aSignatureThatWasVerifiedAhead() throws {
        let (good, other) = (
            try snapshot(of: TestPKI.now), try snapshot(of: TestPKI.now.advanced(by: .milliseconds(1)))
        )
        func ahead(_ payload: Bytes, _ signed: UnverifiedSnapshot) throws -> SignedMessage {
            var message = SignedMessage(payload)
            verifier.verifyAhead(chain: try made.pem, of: collection, at: TestPKI.now)
            #expect(verifier.hasVerified(chain: try made.pem, of: collection, at: TestPKI.now))
            verifier.verifyAhead(&message, signed.signatures, chain: try made.pem, of: collection, at: TestPKI.now)
            return message
        }
        func verify(_ snapshot: UnverifiedSnapshot, _ message: SignedMessage) throws {
            _ = try verifier.verified(snapshot, chain: try made.pem, at: TestPKI.now, message: message)
        }
        try verify(good, try ahead(good.payload.bytes, good))
        // The other one's signature does not fit, and the one that fits is verified later.
        try verify(good, try ahead(good.payload.bytes, other))
        try verify(good, try ahead(other.payload.bytes, other))
        let forged = UnverifiedSnapshot(
            collection: collection, payload: good.payload, metadata: other.metadata)
        for message in [
            try ahead(good.payload.bytes, good), try ahead(good.payload.bytes, other),
            try ahead(other.payload.bytes, other),
        ] {
            #expect(throws: ContentSignatureError.self) { try verify(forged, message) }
        }
    }
}
