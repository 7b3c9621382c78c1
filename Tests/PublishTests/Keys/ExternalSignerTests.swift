import Crypto
import RemoteSettingsModel
import SnapshotBundle
import Testing
@testable import ContentSigning
@testable import Publish

/// A signing key that is never stored in the key directory.
@Suite struct ExternalSignerTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)
    private let key = P384.Signing.PrivateKey()
    private let payload = Bytes(utf8: #"{"data":[],"last_modified":"1"}"#)

    private let publicKey: PublicKey
    private let folder: TemporaryDirectory
    private let keys: KeyDirectory
    private let root: RemoteSettingsModel.SHA256Digest

    init() throws {
        publicKey = try PublicKey(pem: Bytes(utf8: key.publicKey.pemRepresentation), place: "public.pem")
        folder = try TemporaryDirectory()
        keys = KeyDirectory("\(folder.path)/keys")
        var plan = KeyDirectory.Plan()
        plan.signerKey = publicKey
        root = try keys.create(plan, now: now)
    }

    private func verify(_ signer: some PayloadSigner) async throws {
        try await CertificateChain(pem: signer.chain)
            .verified(anchors: TrustAnchors([root]), signer: .remoteSettings, at: now)
            .verify(signer.signature(over: payload), over: payload)
    }

    @Test func externalSignatureInDEROrRawForm() async throws {
        #expect(try !FileStore.exists(keys.keyPath(.signer)))
        #expect(try keys.status([:]).entries.map(\.key) == [.here, .here, .elsewhere])
        #expect(throws: Failure.self) { try keys.signer([:]) }
        for isDER in [true, false] {
            let signer = try keys.signer([:]) { message in
                let made = try key.signature(for: SHA384.hash(data: message.array))
                return Bytes(Array(isDER ? made.derRepresentation : made.rawRepresentation))
            }
            try await verify(signer)
        }
    }

    @Test func externalSignatureOfOtherKeyIsRefused() async throws {
        let other = P384.Signing.PrivateKey()
        let form = "which are neither a DER signature nor the 96 bytes of r and s"
        let mismatch = "the signature does not match the key of the first certificate and the SHA-384 of the message"
        let results: [(found: String, bytes: [UInt8])] = [
            ("the signer returned 0 bytes, \(form)", []),
            ("the signer returned 95 bytes, \(form)", [UInt8](repeating: 1, count: 95)),
            (mismatch, [UInt8](repeating: 1, count: 96)),
            (mismatch, Array(try other.signature(for: payload.array).rawRepresentation)),
            // The signed message needs a prefix, which is missing here.
            (mismatch, Array(try key.signature(for: SHA384.hash(data: payload.array)).derRepresentation)),
        ]
        for result in results {
            let signer = try keys.signer([:]) { _ in Bytes(result.bytes) }
            let error = await #expect(throws: Failure.self) { try await signer.signature(over: payload) }
            #expect(error?.code == .untrusted && error?.problem == result.found)
        }
    }

    @Test func renewalKeepsExternalKey() async throws {
        let before = try FileStore.read(keys.certificatePath(.signer), limit: 65_536)
        try keys.renew(named: nil, for: publicKey, days: 90, includingIntermediate: 1000, environment: [:], now: now)
        #expect(try FileStore.read(keys.certificatePath(.signer), limit: 65_536) != before)
        #expect(try !FileStore.exists(keys.keyPath(.signer)))
        let signer = try keys.signer([:]) { [key] message in
            Bytes(Array(try key.signature(for: SHA384.hash(data: message.array)).rawRepresentation))
        }
        try await verify(signer)
        // A key stored in the directory replaces the external one. A renewal for the external key is then refused, so
        // that the stored key is not left beside a certificate for a different key.
        try keys.renew(named: nil, days: 90, environment: [:], now: now)
        try await verify(keys.signer([:]))
        let held = try FileStore.read(keys.certificatePath(.intermediate), limit: 65_536)
        #expect(throws: Failure.self) {
            try keys.renew(
                named: nil, for: publicKey, days: 90, includingIntermediate: 1000, environment: [:], now: now)
        }
        #expect(try FileStore.read(keys.certificatePath(.intermediate), limit: 65_536) == held)
        try await verify(keys.signer([:]))
    }
}
