import RemoteSettingsModel
@testable import SnapshotBundle
import Testing

/// Verification of data stored together with its chain: a bundle or a cache file.
struct SnapshotVerifierTests {
    private let made: TestChain
    private let collection: CollectionID
    private let verifier: SnapshotVerifier

    init() throws {
        made = try TestPKI().issue()
        collection = try CollectionID("main/markets")
        verifier = SnapshotVerifier(TrustPolicy(roots: try made.anchors))
    }

    private func snapshot(
        of timestamp: Timestamp = TestPKI.now, signedBy chain: TestChain, text: String = ""
    ) throws -> UnverifiedSnapshot {
        let payload = Bytes(utf8: #"{"data":[{"id":"a","text":"\#(text)"}],"last_modified":"\#(timestamp)"}"#)
        let signature = try chain.signature(over: payload)
        let metadata = #"{"signature":{"signature":"\#(signature)","mode":"p384ecdsa","x5u":"u"}}"#
        return UnverifiedSnapshot(
            collection: collection, payload: try Payload(parsing: payload),
            metadata: try CollectionMetadata(parsing: Bytes(utf8: metadata)))
    }

    private func verify(_ timestamp: Timestamp, at time: Timestamp) throws -> Snapshot {
        try verifier.believe(try snapshot(of: timestamp, signedBy: made), .kept(try made.pem, verifiedAt: time))
    }

    /// The author of a cache file chooses its verification time, so an expired key must not be able to sign newer data.
    @Test func snapshotNewerThanVerificationIsRefused() throws {
        let day = Timestamp(milliseconds: TestPKI.now.milliseconds + 86_400_000)
        #expect(try verify(TestPKI.now, at: TestPKI.now).timestamp == TestPKI.now)
        #expect(try verify(day, at: TestPKI.now).timestamp == day)
        for timestamp in [
            day.advanced(by: .milliseconds(1)), TestPKI.time("2026-06-01"), Timestamp(milliseconds: .max),
        ] {
            #expect(throws: Failure.newerThanVerification(timestamp, time: TestPKI.now)) {
                try verify(timestamp, at: TestPKI.now)
            }
        }
    }

    /// The pin authenticates the root. The root's self-signature is checked before a chain is stored.
    @Test func pinnedCertificateThatIsNoRoot() throws {
        let made = try TestPKI.chain { $0.root.forger = $0.intermediate.key }
        let (snapshot, pem) = (try snapshot(of: TestPKI.now, signedBy: made), try made.pem)
        let policy = TrustPolicy(roots: try made.anchors)
        #expect(throws: Never.self) {
            try SnapshotVerifier(policy, checksRoots: false).believe(snapshot, .kept(pem, verifiedAt: TestPKI.now))
        }
        #expect(throws: Failure.self) {
            try SnapshotVerifier(policy).believe(snapshot, .kept(pem, verifiedAt: TestPKI.now))
        }
    }

    /// A long-running server encounters a new chain every few weeks.
    @Test func verifiedChainCacheIsBounded() throws {
        let chains = try (0..<SnapshotVerifier.mostChains + 2).map { _ in try TestPKI().issue() }
        let roots = TrustAnchors(try chains.flatMap { try $0.anchors.roots })
        let verifier = SnapshotVerifier(TrustPolicy(roots: roots))
        for chain in chains {
            let snapshot = try snapshot(of: TestPKI.now, signedBy: chain)
            #expect(throws: Never.self) {
                try verifier.believe(snapshot, .kept(try chain.pem, verifiedAt: TestPKI.now))
            }
            #expect(verifier.chainCount <= SnapshotVerifier.mostChains)
        }
    }
}
