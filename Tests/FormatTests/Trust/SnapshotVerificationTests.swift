@testable import RemoteSettingsModel
@testable import SnapshotBundle
import Testing

/// Verification of a snapshot's signatures, given the results of verifying their chains.
struct SnapshotVerificationTests {
    static let timestamp = Timestamp(milliseconds: 1_700_000_000_000)
    static let payload = Bytes(utf8: #"{"data":[{"id":"a","value":1}],"last_modified":"1700000000000"}"#)
    static let x5u = "https://example.org/chains/good.pem"

    typealias Chains = [String: Result<VerifiedChain, Failure>]

    let made: TestChain
    let good: ServedSignature
    let expired: Failure
    let chains: Chains
    let collection: CollectionID

    init() throws {
        made = try TestPKI().issue()
        good = ServedSignature(signature: try made.signature(over: Self.payload), mode: "p384ecdsa", x5u: Self.x5u)
        expired = .expired(made.label(1), notBefore: TestPKI.now, notAfter: TestPKI.now, time: TestPKI.now)
        chains = [
            Self.x5u: .success(try made.verified()), "expired": .failure(expired),
            "gone": .failure(.chainUnavailable(reason: "404")),
        ]
        collection = try CollectionID("main/markets")
    }

    private func snapshot(
        _ signatures: [ServedSignature], payload: Bytes = payload, collection: CollectionID? = nil
    ) throws -> UnverifiedSnapshot {
        let listed = signatures.map { one in
            JSONValue.object([
                .init(key: "signature", value: .string(one.signature)), .init(key: "mode", value: .string(one.mode)),
                .init(key: "x5u", value: .string(one.x5u)),
            ])
        }
        let metadata = JSONText.compact(.object([.init(key: "signatures", value: .array(listed))]))
        return UnverifiedSnapshot(
            collection: collection ?? self.collection, payload: try Payload(parsing: payload),
            metadata: try CollectionMetadata(parsing: Bytes(metadata)))
    }

    private func failures(of snapshot: UnverifiedSnapshot, with chains: Chains) -> [Failure]? {
        let error = failure { try snapshot.verified(with: chains) }
        guard let failures = error?.signatures, error == .noValidSignature(failures) else { return nil }
        return failures.map(\.reason)
    }

    @Test func validSnapshotIsVerified() throws {
        let snapshot = try snapshot([good]).verified(with: chains)
        #expect(snapshot.collection == collection)
        #expect(snapshot.timestamp == Self.timestamp)
        #expect(snapshot.payload.bytes == Self.payload)
        #expect(snapshot.metadata.signatures == [good])
        #expect(snapshot.chain == (try made.pem))
        let verdict = try #require(snapshot.provenance.verdict)
        #expect(verdict.signer == "remote-settings.content-signature.mozilla.org")
        #expect([verdict.root] == (try made.anchors.roots))
        #expect(verdict.chainNotAfter == TestPKI.time("2026-03-01"))
        #expect(verdict.verifiedAt == TestPKI.now)
    }

    // MARK: Tampering

    @Test(arguments: [
        #"{"data":[{"id":"a","value":2}],"last_modified":"1700000000000"}"#,
        #"{"data":[{"id":"a","value":1}],"last_modified":"1700000000001"}"#,
    ])
    func tamperedRecordOrTimestampFailsSignature(text: String) throws {
        let tampered = try snapshot([good], payload: Bytes(utf8: text))
        #expect(failures(of: tampered, with: chains) == [.signatureMismatch(signer: .remoteSettings)])
    }

    @Test func emptyCollectionIsVerified() throws {
        let payload = Bytes(utf8: #"{"data":[],"last_modified":"1700000000000"}"#)
        let signature = ServedSignature(signature: try made.signature(over: payload), mode: "p384ecdsa", x5u: Self.x5u)
        #expect(throws: Never.self) { try snapshot([signature], payload: payload).verified(with: chains) }
    }

    // MARK: Several signatures

    @Test func oneValidSignatureAmongInvalidIsEnough() throws {
        let bad = [
            ServedSignature(signature: "AAAA", mode: "p384ecdsa", x5u: Self.x5u),
            ServedSignature(signature: good.signature, mode: "p384ecdsa", x5u: "expired"),
            ServedSignature(signature: good.signature, mode: "p384ecdsa", x5u: "missing"),
            ServedSignature(signature: "new", mode: "ml-dsa-65", x5u: Self.x5u),
        ]
        for position in 0...bad.count {
            var signatures = bad
            signatures.insert(good, at: position)
            #expect(try snapshot(signatures).verified(with: chains).chain == made.pem)
        }
    }

    @Test func chainOfTheValidSignatureIsKept() throws {
        let other = try TestPKI().issue()
        let second = ServedSignature(
            signature: try other.signature(over: Self.payload), mode: "p384ecdsa", x5u: "second")
        var chains = chains
        chains["second"] = .success(try other.verified())
        let first = ServedSignature(signature: second.signature, mode: "p384ecdsa", x5u: Self.x5u)
        let snapshot = try snapshot([first, second]).verified(with: chains)
        #expect(snapshot.chain == (try other.pem))
        #expect(try snapshot.provenance.verdict?.root == other.anchors.roots[0])
    }

    @Test func invalidSignaturesAreAllExplained() throws {
        let signatures = [
            ServedSignature(signature: "AAAA", mode: "p384ecdsa", x5u: Self.x5u),
            ServedSignature(signature: "new", mode: "ml-dsa-65", x5u: Self.x5u),
            ServedSignature(signature: good.signature, mode: "p384ecdsa", x5u: "expired"),
            ServedSignature(signature: good.signature, mode: "p384ecdsa", x5u: "missing"),
            ServedSignature(signature: good.signature, mode: "p384ecdsa", x5u: "gone"),
        ]
        let snapshot = try snapshot(signatures)
        let error = failure { try snapshot.verified(with: chains) }
        let failures = try #require(error?.signatures)
        #expect(error == .noValidSignature(failures) && error?.code == .certificate)
        #expect(failures.map(\.position) == [1, 3, 4, 5])
        #expect(failures.map(\.x5u) == [Self.x5u, "expired", "missing", "gone"])
        #expect(
            failures.map(\.reason) == [
                .wrongSignatureLength(found: 3), expired, .chainMissing(x5u: "missing"),
                .chainUnavailable(reason: "404"),
            ])
        for failure in failures {
            #expect(error?.description.contains(failure.reason.description) == true)
        }
    }

    @Test func missingSignatureIsRefused() {
        #expect(throws: Failure.noSignatures) { try snapshot([]).verified(with: chains) }
    }

    /// A server that signs with a bare key sends an empty x5u: without a chain, the signature cannot be verified.
    @Test func signatureWithoutChainIsRefused() throws {
        let bare = ServedSignature(signature: good.signature, mode: good.mode, x5u: "")
        #expect(throws: Failure.noChains) { try snapshot([bare]).verified(with: chains) }
        #expect(try snapshot([bare, good]).verified(with: chains).provenance.isSigned)
    }

    @Test func unknownSignatureModesAreRefused() {
        let unknown = ["ml-dsa-65", "P384ECDSA", ""].map {
            ServedSignature(signature: good.signature, mode: $0, x5u: Self.x5u)
        }
        #expect(throws: Failure.onlyUnknownModes(["ml-dsa-65", "P384ECDSA", ""])) {
            try snapshot(unknown).verified(with: chains)
        }
    }

    @Test func signaturesBeyondTheLimitAreIgnored() {
        let invalid = ServedSignature(signature: "AAAA", mode: "p384ecdsa", x5u: Self.x5u)
        let most = Array(repeating: invalid, count: Limits.signatures - 1)
        #expect(throws: Never.self) { try snapshot(most + [good]).verified(with: chains) }
        #expect(throws: Failure.self) { try snapshot(most + [invalid, good]).verified(with: chains) }
    }

    // MARK: Signers

    @Test(arguments: ["security-state/onecrl", "security-state-preview/onecrl"])
    func signerNameDependsOnBucket(name: String) throws {
        let collection = try CollectionID(name)
        let snapshot = try snapshot([good], collection: collection)
        #expect(failures(of: snapshot, with: chains) == [.signerMismatch(expected: .oneCRL, chain: .remoteSettings)])

        let onecrl = try TestPKI(signer: .oneCRL).issue()
        let signature = ServedSignature(
            signature: try onecrl.signature(over: Self.payload), mode: "p384ecdsa", x5u: "onecrl")
        let chains: Chains = ["onecrl": .success(try onecrl.verified(signer: .oneCRL))]
        #expect(throws: Never.self) { try self.snapshot([signature], collection: collection).verified(with: chains) }
        #expect(
            failures(of: try self.snapshot([signature]), with: chains)
                == [.signerMismatch(expected: .remoteSettings, chain: .oneCRL)])
    }

    @Test func specifiedSignerIsExpected() throws {
        let signer = SignerName("settings.content-signature.mozilla.org")
        let own = try TestPKI(signer: signer).issue()
        let signature = ServedSignature(signature: try own.signature(over: Self.payload), mode: "p384ecdsa", x5u: "own")
        let chains: Chains = ["own": .success(try own.verified(signer: signer))]
        #expect(throws: Never.self) { try snapshot([signature]).verified(with: chains, signer: signer) }
        #expect(
            failures(of: try snapshot([signature]), with: chains)
                == [.signerMismatch(expected: .remoteSettings, chain: signer)])
    }
}
