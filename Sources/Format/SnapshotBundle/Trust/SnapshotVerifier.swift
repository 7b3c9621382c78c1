import RemoteSettingsModel

/// What speaks for a state that is not trusted yet.
///
/// | evidence | for | believed if |
/// | --- | --- | --- |
/// | ``chains(_:)`` | a server's response | a signature verifies with a chain that verifies now |
/// | ``kept(_:verifiedAt:)`` | a bundle, or a stored state | a signature verified at the recorded time |
/// | ``nothing(as:isKnownSigned:)`` | the same, unsigned | the policy accepts that, and no signed state is known |
/// | ``word(_:chain:)`` | the program's own bundle, the lock file's, an override, an import | always |
package enum Evidence: Sendable {
    /// The verification result of each chain that the signatures refer to, keyed by the signature's `x5u`, unchanged. A
    /// chain that could not be fetched is missing, or it is a failure with ``Failure/chainUnavailable(reason:)``.
    case chains([String: Result<VerifiedChain, Failure>])
    /// The stored chains (``KeptChains``), and the time when the state was first verified, according to the lock file
    /// or the cache file. That time never comes from the data or the certificates.
    case kept(Bytes, verifiedAt: Timestamp)
    /// No signature.
    case nothing(as: Provenance = .unsigned, isKnownSigned: Bool)
    /// The word of somebody who may decide it: of a person who imports or overrides data, or of the program that
    /// contains it.
    case word(Provenance, chain: Bytes? = nil)
}

/// The judge of whether a state may be trusted: ``believe(_:_:)``. Does no I/O and reads no clock.
///
/// Each stored chain is verified only once for each signer. For further collections and times, only its validity period
/// is checked.
package final class SnapshotVerifier: Sendable {
    private struct Key: Hashable {
        var pem: Bytes
        var signer: SignerName
    }

    /// The maximum number of cached chains. A process needs fewer as long as the certificates of its server do not
    /// change.
    package static let mostChains = 64

    package let policy: TrustPolicy
    private let checksRoots: Bool
    private let chains = Mutex<[Key: VerifiedChain]>([:])

    /// Creates a verifier.
    ///
    /// - Parameter checksRoots: see ``CertificateChain/verified(anchors:signer:at:checksRoot:)``.
    package init(_ policy: TrustPolicy, checksRoots: Bool = true) {
        self.policy = policy
        self.checksRoots = checksRoots
    }

    /// Turns an unverified state into a trusted ``Snapshot``. Nothing else does.
    ///
    /// If several signatures are valid, the one with the newest leaf certificate is used, and not the first one: the
    /// metadata is not signed, so an attacker with a retired signing key could add a signature and put it first.
    ///
    /// - Throws: ``Failure``: ``Failure/notAccepted`` or ``Failure/signatureLost`` for a state without a
    ///   signature, `newerThanVerification`, or the errors of ``UnverifiedSnapshot/newestChain(of:signer:_:)``.
    package func believe(_ state: UnverifiedSnapshot, _ evidence: Evidence) throws(Failure) -> Snapshot {
        let (provenance, chain): (Provenance, Bytes?)
        switch evidence {
        case .chains(let chains):
            let newest = try state.newestChain(
                of: chains, signer: policy.signer(for: state.collection), SignedMessage(state.payload.bytes))
            (provenance, chain) = (.signed(newest.verdict), newest.pem)
        case .kept(let pem, let time):
            // Keep all chains, because a reader with different pins may need the others.
            (provenance, chain) = (.signed(try newestKept(state, pem, at: time).verdict), pem)
        case .nothing(let given, let isKnownSigned):
            guard policy.acceptsUnsigned else { throw .notAccepted }
            guard !isKnownSigned else { throw .signatureLost }
            (provenance, chain) = (given, nil)
        case .word(let given, let pem): (provenance, chain) = (given, pem)
        }
        return Snapshot(vouchingFor: state, chain: chain, provenance: provenance)
    }

    /// Returns the newest of the stored chains that verifies at `time` and matches a signature. Each chain is tried
    /// with every signature.
    ///
    /// Data that is newer than its verification is refused, with a tolerance of ``Limits/clockToleranceSeconds`` for
    /// clocks that differ. Otherwise the owner of an expired key could sign new data and claim a time at which the key
    /// was valid.
    private func newestKept(
        _ state: UnverifiedSnapshot, _ pem: Bytes, at time: Timestamp
    ) throws(Failure) -> VerifiedChain {
        guard state.timestamp <= time.advanced(by: .seconds(Limits.clockToleranceSeconds)) else {
            throw .newerThanVerification(state.timestamp, time: time)
        }
        let signer = policy.signer(for: state.collection)
        let message = SignedMessage(state.payload.bytes)
        var newest: VerifiedChain?
        var failure: Failure?
        for kept in KeptChains(text: pem).chains {
            let chain = Result { () throws(Failure) in try verifiedChain(kept, signer: signer, at: time) }
            do throws(Failure) {
                let found = try state.newestChain(of: state.chains(chain), signer: signer, message)
                if newest.map({ $0.leafNotBefore < found.leafNotBefore }) ?? true { newest = found }
            } catch {
                // If no chain is valid, throw the error of the first one.
                failure = failure ?? error
            }
        }
        guard let newest else { throw failure ?? .noChains }
        return newest
    }

    /// The number of cached chains.
    package var chainCount: Int { chains.withLock { $0.count } }

    private func verifiedChain(_ pem: Bytes, signer: SignerName, at time: Timestamp) throws(Failure) -> VerifiedChain {
        if let known = chains.withLock({ $0[Key(pem: pem, signer: signer)] })?.valid(at: time) { return known }
        let chain = try CertificateChain(pem: pem).verified(
            anchors: policy.roots, signer: signer, at: time, checksRoot: checksRoots)
        chains.withLock { chains in
            // Empty the cache when it is full: a process that runs for years encounters a new chain every few weeks.
            if chains.count >= Self.mostChains { chains = [:] }
            chains[Key(pem: pem, signer: signer)] = chain
        }
        return chain
    }
}

extension UnverifiedSnapshot {
    /// Verifies the snapshot's signatures with chains that are already verified. See ``Evidence/chains(_:)``.
    ///
    /// - Parameter signer: the name that the chain must be verified for; `nil` means ``SignerName/expected(for:)``.
    package func verified(
        with chains: [String: Result<VerifiedChain, Failure>], signer: SignerName? = nil
    ) throws(Failure) -> Snapshot {
        try SnapshotVerifier(TrustPolicy(roots: TrustAnchors([]), signer: signer)).believe(self, .chains(chains))
    }

    /// Returns the newest chain with which a signature is valid.
    ///
    /// Signatures with a mode other than `p384ecdsa` are skipped, and so are those without a chain. Of the remaining
    /// ones, a single valid signature is sufficient. The signature covers the records and the timestamp, but not the
    /// collection's name.
    ///
    /// - Parameter message: the hash of this snapshot's payload. Callers reuse it to try several chains.
    /// - Throws: ``Failure``: `noSignatures`, `noChains`, `onlyUnknownModes`, or
    ///   `noValidSignature` with the error of each signature.
    func newestChain(
        of chains: [String: Result<VerifiedChain, Failure>], signer: SignerName, _ message: SignedMessage
    ) throws(Failure) -> VerifiedChain {
        guard !signatures.isEmpty else { throw .noSignatures }
        guard signatures.contains(where: \.namesChain) else { throw .noChains }
        let known = signatures.enumerated().filter(\.element.isKnown)
        guard !known.isEmpty else { throw .onlyUnknownModes(signatures.map(\.mode)) }

        var failures: [SignatureFailure] = []
        var newest: VerifiedChain?
        for (index, signature) in known {
            do throws(Failure) {
                let chain = try chains.chain(for: signature, signer: signer)
                try chain.verify(signature, over: message)
                newest = newest.map { $0.leafNotBefore < chain.leafNotBefore ? chain : $0 } ?? chain
            } catch {
                failures.append(SignatureFailure(position: index + 1, x5u: signature.x5u, reason: error))
            }
        }
        guard let newest else { throw .noValidSignature(failures) }
        return newest
    }

    /// Returns one chain for all signatures, to find out whether it matches any of them.
    func chains(_ chain: Result<VerifiedChain, Failure>) -> [String: Result<VerifiedChain, Failure>] {
        Dictionary(signatures.map { ($0.x5u, chain) }) { first, _ in first }
    }
}

extension ServedSignature {
    /// Whether this package can verify the signature.
    var isKnown: Bool { mode == "p384ecdsa" && namesChain }
}

extension [String: Result<VerifiedChain, Failure>] {
    fileprivate func chain(for signature: ServedSignature, signer: SignerName) throws(Failure) -> VerifiedChain {
        guard let verdict = self[signature.x5u] else { throw .chainMissing(x5u: signature.x5u) }
        let chain = try verdict.get()
        guard chain.signer == signer else { throw .signerMismatch(expected: signer, chain: chain.signer) }
        return chain
    }
}

extension Failure {
    /// The error for a state without a signature, if the policy does not accept one.
    package static let notAccepted = Self(
        .untrusted, "it is unsigned, and the configuration does not accept unsigned data", cause: .unsigned)
    /// The error for a state without a signature, if the collection is known to be signed.
    package static let signatureLost = Self(
        .untrusted, "it is unsigned, but a signed state is known", cause: .signatureLost)
}
