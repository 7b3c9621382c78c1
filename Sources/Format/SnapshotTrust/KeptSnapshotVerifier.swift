import RemoteSettingsModel

/// Verifies snapshots that are stored together with their chain, in a bundle or a cache file.
///
/// A chain is verified once for each signer. For other collections and times, only its validity is checked again.
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

    /// The newest of the chains that fit counts, as in ``UnverifiedSnapshot/verified(with:signer:message:limits:)``.
    ///
    /// Data that is newer than its verification is refused, with ``Limits/clockToleranceSeconds`` for clocks that
    /// differ. Otherwise the owner of an expired key could sign new data, and state a time at which the key was valid.
    ///
    /// - Parameters:
    ///   - pem: the stored chains (``KeptChains``). Each is tried with every signature.
    ///   - time: when the snapshot was first verified, according to the lock or the cache file. It is never a time from
    ///     the data or the certificates.
    ///   - message: the payload's hash, if it was already computed.
    package func verified(
        _ unverified: UnverifiedSnapshot, chain pem: Bytes, at time: Timestamp, message: SignedMessage? = nil
    ) throws(ContentSignatureError) -> Snapshot {
        guard unverified.timestamp <= time.advanced(by: .seconds(limits.clockToleranceSeconds)) else {
            throw .newerThanVerification(unverified.collection, timestamp: unverified.timestamp, time: time)
        }
        let signer = policy.signer(for: unverified.collection)
        var newest: (snapshot: Snapshot, begins: Timestamp)?
        var failure: ContentSignatureError?
        for kept in KeptChains(text: pem).chains {
            do throws(ContentSignatureError) {
                let chain = Result { () throws(ContentSignatureError) in
                    try verifiedChain(kept, signer: signer, at: time)
                }
                let chains = Dictionary(unverified.signatures.map { ($0.x5u, chain) }) { first, _ in first }
                let snapshot = try unverified.verified(with: chains, signer: signer, message: message, limits: limits)
                let begins = try chain.get().leafNotBefore
                if newest.map({ $0.begins < begins }) ?? true { newest = (snapshot, begins) }
            } catch {
                // If no chain is good, the first one is reported.
                failure = failure ?? error
            }
        }
        guard let newest else { throw failure ?? .noChains(unverified.collection) }
        // The other chains are kept for readers that need them.
        return Snapshot(vouchingFor: unverified, chain: pem, provenance: newest.snapshot.provenance)
    }

    /// Verifies a chain before its snapshot, on another thread than the one that reads the snapshot.
    ///
    /// It decides nothing: a chain that cannot be verified is refused later, with the snapshot.
    package func verifyAhead(chain pem: Bytes, of collection: CollectionID, at time: Timestamp) {
        for chain in KeptChains(text: pem).chains
        where (try? verifiedChain(chain, signer: policy.signer(for: collection), at: time)) != nil {
            return
        }
    }

    /// Whether one of the chains leads to a pinned root, at the time at which it was verified; without a chain, whether
    /// unsigned states are accepted.
    package func vouches(forChain pem: Bytes?, of collection: CollectionID, at time: Timestamp?) -> Bool {
        guard let pem else { return policy.acceptsUnsigned }
        guard let time else { return false }
        verifyAhead(chain: pem, of: collection, at: time)
        return hasVerified(chain: pem, of: collection, at: time)
    }

    /// Whether one of the chains has already been verified for this collection and time.
    package func hasVerified(chain pem: Bytes, of collection: CollectionID, at time: Timestamp) -> Bool {
        known(pem, policy.signer(for: collection), at: time) != nil
    }

    /// Verifies a snapshot's first verifiable signature before the snapshot, on another thread than the one that reads
    /// it.
    ///
    /// It needs a chain that has already been verified, and decides nothing. `message` remembers a valid signature, so
    /// that it need not be verified again.
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

    /// The first kept chain that has already been verified.
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
