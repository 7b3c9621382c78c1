import RemoteSettingsModel
import Synchronization

/// Verifies again what was kept together with its chain: a bundle or a cache file.
///
/// A chain is verified once for each signer, whatever the number of collections and times; each collection's own time is
/// held against the chain's validity.
package final class KeptSnapshotVerifier: Sendable {
    private struct Key: Hashable {
        var pem: Bytes
        var signer: SignerName
    }

    package let policy: TrustPolicy
    private let limits: Limits
    private let chains = Mutex<[Key: VerifiedChain]>([:])

    package init(_ policy: TrustPolicy, limits: Limits) {
        self.policy = policy
        self.limits = limits
    }

    /// Data that is newer than its verification is refused, with ``Limits/clockToleranceSeconds`` for clocks that differ: who
    /// has an expired key could else sign new data, and give a time at which the key was valid.
    ///
    /// - Parameters:
    ///   - pem: the chain that was kept. One is kept, the one that vouched: it stands for whichever signature it fits.
    ///   - time: when the snapshot was first verified, from who keeps it; never from the data or the certificates.
    package func verified(
        _ unverified: UnverifiedSnapshot, chain pem: Bytes, at time: Timestamp
    ) throws(ContentSignatureError) -> Snapshot {
        guard unverified.timestamp <= time.advanced(by: .seconds(limits.clockToleranceSeconds)) else {
            throw .newerThanVerification(unverified.collection, timestamp: unverified.timestamp, time: time)
        }
        let signer = policy.signer(for: unverified.collection)
        let chain = Result { () throws(ContentSignatureError) in try verifiedChain(pem, signer, time) }
        let chains = Dictionary(unverified.signatures.map { ($0.x5u, chain) }) { first, _ in first }
        return try unverified.verified(with: chains, signer: signer, limits: limits)
    }

    private func verifiedChain(
        _ pem: Bytes, _ signer: SignerName, _ time: Timestamp
    ) throws(ContentSignatureError) -> VerifiedChain {
        let key = Key(pem: pem, signer: signer)
        if let known = chains.withLock({ $0[key] })?.valid(at: time) { return known }
        let chain = try CertificateChain(pem: pem, limits: limits).verified(
            anchors: policy.roots, signer: signer, at: time)
        chains.withLock { $0[key] = chain }
        return chain
    }
}
