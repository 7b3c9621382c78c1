#if Lab
import Crypto
import RemoteSettingsModel
import SnapshotBundle

/// A payload's signature and a chain, against hashing alone.
struct VerifyRows {
    let input: Input
    let runs: Int

    func table() throws -> Table {
        let largest = try input.largest()
        let payload = largest.snapshot.payload.bytes
        let unverified = try largest.bundle.unverifiedSnapshot()
        let chains: [String: Result<VerifiedChain, BundleError>] = Dictionary(
            unverified.signatures.map { ($0.x5u, .success(largest.chain)) }
        ) { first, _ in first }
        var table = Table("Verify \(largest.id): a payload of \(payload.count) bytes")
        table.add(
            "payload's signature, chain known",
            try Measurement(runs: runs) {
                try unverified.verified(with: chains, signer: largest.chain.signer, limits: input.limits)
            }, bytes: payload.count, goal: "SHA-384 + 0.5 ms")
        table.add(
            "SHA-384 alone",
            Measurement(runs: runs) {
                unsafe payload.withUnsafeBytes { bytes in
                    var hasher = SHA384()
                    unsafe hasher.update(bufferPointer: bytes)
                    return hasher.finalize()
                }
            }, bytes: payload.count)
        let chain = largest.chain
        table.add(
            "certificate chain, parsed and verified",
            try Measurement(runs: runs) {
                try CertificateChain(pem: chain.pem, limits: input.limits).verified(
                    anchors: TrustAnchors([chain.root]), signer: chain.signer, at: chain.verifiedAt)
            })
        return table
    }
}
#endif
