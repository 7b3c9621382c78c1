import RemoteSettingsModel
import Locks

/// Verifies snapshots that are stored together with their chain, in a bundle or a cache file.
///
/// A chain is verified once for each signer; for every other collection and time only the chain's validity is checked.
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
    ///   - pem: the stored chains (``KeptChains``). Each is tried with every signature.
    ///   - time: when the snapshot was first verified, as the lock or the cache file says; never a time from the data or
    ///     the certificates.
    ///   - message: the payload's hash, where it was computed already.
    package func verified(
        _ unverified: UnverifiedSnapshot, chain pem: Bytes, at time: Timestamp, message: SignedMessage? = nil
    ) throws(ContentSignatureError) -> Snapshot {
        guard unverified.timestamp <= time.advanced(by: .seconds(limits.clockToleranceSeconds)) else {
            throw .newerThanVerification(unverified.collection, timestamp: unverified.timestamp, time: time)
        }
        let signer = policy.signer(for: unverified.collection)
        var failure: ContentSignatureError?
        for kept in KeptChains(text: pem).chains {
            do throws(ContentSignatureError) {
                let chain = Result { () throws(ContentSignatureError) in
                    try verifiedChain(kept, signer: signer, at: time)
                }
                let chains = Dictionary(unverified.signatures.map { ($0.x5u, chain) }) { first, _ in first }
                let snapshot = try unverified.verified(with: chains, signer: signer, message: message, limits: limits)
                // The others stay for those who need them.
                return Snapshot(vouchingFor: unverified, chain: pem, provenance: snapshot.provenance)
            } catch {
                // The first chain is the one that is meant where none is good.
                failure = failure ?? error
            }
        }
        throw failure ?? .noChains(unverified.collection)
    }

    /// Verifies a chain ahead of the snapshot that it is for, on another thread than the one that reads the snapshot.
    /// Decides nothing: a chain that does not verify is refused with the snapshot.
    package func verifyAhead(chain pem: Bytes, of collection: CollectionID, at time: Timestamp) {
        for chain in KeptChains(text: pem).chains
        where (try? verifiedChain(chain, signer: policy.signer(for: collection), at: time)) != nil {
            return
        }
    }

    /// Whether one of the chains was verified for this collection and time already.
    package func hasVerified(chain pem: Bytes, of collection: CollectionID, at time: Timestamp) -> Bool {
        known(pem, policy.signer(for: collection), at: time) != nil
    }

    /// Verifies the first of a snapshot's signatures that can be verified, ahead of the snapshot, on another thread than the one
    /// that reads it, with a chain that was verified already. Decides nothing: `message` remembers the signature where it is
    /// valid, so that it need not be verified again.
    package func verifyAhead(
        _ message: inout SignedMessage, _ signatures: [ServedSignature], chain pem: Bytes, of collection: CollectionID,
        at time: Timestamp
    ) {
        guard let chain = known(pem, policy.signer(for: collection), at: time) else { return }
        for signature in signatures where signature.isKnown {
            guard let raw = try? RawSignature(base64URL: signature.signature),
                (try? chain.verify(raw, over: message)) != nil
            else { continue }
            message.verified = (raw, chain.key)
            return
        }
    }

    /// The first of the kept chains that was verified.
    private func known(_ pem: Bytes, _ signer: SignerName, at time: Timestamp) -> VerifiedChain? {
        for chain in KeptChains(text: pem).chains {
            if let known = chains.withLock({ $0[Key(pem: chain, signer: signer)] })?.valid(at: time) { return known }
        }
        return nil
    }

    private func verifiedChain(
        _ pem: Bytes, signer: SignerName, at time: Timestamp
    ) throws(ContentSignatureError) -> VerifiedChain {
        if let known = chains.withLock({ $0[Key(pem: pem, signer: signer)] })?.valid(at: time) { return known }
        let chain = try CertificateChain(pem: pem, limits: limits).verified(
            anchors: policy.roots, signer: signer, at: time)
        chains.withLock { $0[Key(pem: pem, signer: signer)] = chain }
        return chain
    }
}
