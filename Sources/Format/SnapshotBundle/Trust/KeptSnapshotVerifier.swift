import RemoteSettingsModel

/// Verifies snapshots that are stored together with their chain, in a bundle or a cache file.
///
/// Each chain is verified only once for each signer. For further collections and times, only its validity period is
/// checked.
package final class KeptSnapshotVerifier: Sendable {
    private struct Key: Hashable {
        var pem: Bytes
        var signer: SignerName
    }

    /// The maximum number of cached chains. A process needs fewer as long as the certificates of its server do not
    /// change.
    package static let mostChains = 64

    package let policy: TrustPolicy
    private let chains = Mutex<[Key: VerifiedChain]>([:])

    package init(_ policy: TrustPolicy) {
        self.policy = policy
    }

    /// Verifies a stored snapshot. If several chains match, the newest one is used, as in
    /// ``UnverifiedSnapshot/verified(with:signer:)``.
    ///
    /// Data that is newer than its verification is refused, with a tolerance of ``Limits/clockToleranceSeconds`` for
    /// clocks that differ. Otherwise the owner of an expired key could sign new data and claim a time at which the key
    /// was valid.
    ///
    /// - Parameters:
    ///   - pem: the stored chains (``KeptChains``). Each chain is tried with every signature.
    ///   - time: the time when the snapshot was first verified, according to the lock file or the cache file. It never
    ///     comes from the data or the certificates.
    package func verified(
        _ unverified: UnverifiedSnapshot, chain pem: Bytes, at time: Timestamp
    ) throws(BundleError) -> Snapshot {
        guard unverified.timestamp <= time.advanced(by: .seconds(Limits.clockToleranceSeconds)) else {
            throw .newerThanVerification(unverified.collection, timestamp: unverified.timestamp, time: time)
        }
        let signer = policy.signer(for: unverified.collection)
        let kept = KeptChains(text: pem).chains
        let message = SignedMessage(unverified.payload.bytes)
        var newest: (snapshot: Snapshot, begins: Timestamp)?
        var failure: BundleError?
        for kept in kept {
            do throws(BundleError) {
                let chain = Result { () throws(BundleError) in
                    try verifiedChain(kept, signer: signer, at: time)
                }
                let chains = Dictionary(unverified.signatures.map { ($0.x5u, chain) }) { first, _ in first }
                let snapshot = try unverified.verified(with: chains, signer: signer, message: message)
                let begins = try chain.get().leafNotBefore
                if newest.map({ $0.begins < begins }) ?? true { newest = (snapshot, begins) }
            } catch {
                // If no chain is valid, throw the error of the first one.
                failure = failure ?? error
            }
        }
        guard let newest else { throw failure ?? .noChains(unverified.collection) }
        // Keep the other chains too, because a reader with different pins may need them.
        return Snapshot(vouchingFor: unverified, chain: pem, provenance: newest.snapshot.provenance)
    }

    /// The number of cached chains.
    package var chainCount: Int { chains.withLock { $0.count } }

    private func verifiedChain(
        _ pem: Bytes, signer: SignerName, at time: Timestamp
    ) throws(BundleError) -> VerifiedChain {
        if let known = chains.withLock({ $0[Key(pem: pem, signer: signer)] })?.valid(at: time) { return known }
        let chain = try CertificateChain(pem: pem).verified(anchors: policy.roots, signer: signer, at: time)
        chains.withLock { chains in
            // Empty the cache when it is full: a process that runs for years encounters a new chain every few weeks.
            if chains.count >= Self.mostChains { chains = [:] }
            chains[Key(pem: pem, signer: signer)] = chain
        }
        return chain
    }
}
