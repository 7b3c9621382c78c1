import RemoteSettingsModel

extension UnverifiedSnapshot {
    /// Verifies the snapshot's signatures. Does no I/O and reads no clock.
    ///
    /// Signatures with a mode other than `p384ecdsa` are skipped, and so are those without a chain. Of the remaining
    /// ones, a single valid signature is sufficient. If several are valid, the one with the newest leaf certificate is
    /// used, and not the first one: the metadata is not signed, so an attacker with a retired signing key could add a
    /// signature and put it first. The payload is hashed only once. The signature covers the records and the timestamp,
    /// but not the collection's name.
    ///
    /// - Parameters:
    ///   - chains: the verification result of each chain that the signatures refer to, keyed by the signature's `x5u`,
    ///     unchanged. A chain that could not be fetched is missing, or it is a failure with
    ///     ``BundleError/chainUnavailable(reason:)``.
    ///   - signer: the name that the chain must be verified for; `nil` means ``SignerName/expected(for:)``.
    ///   - limits: ``Limits/signatures`` is the largest number of signatures.
    /// - Throws: ``BundleError``: `noSignatures`, `tooManySignatures`, `noChains`, `onlyUnknownModes`, or
    ///   `noValidSignature` with the error of each signature.
    package func verified(
        with chains: [String: Result<VerifiedChain, BundleError>], signer: SignerName? = nil
    ) throws(BundleError) -> Snapshot {
        try verified(with: chains, signer: signer ?? .expected(for: collection), message: SignedMessage(payload.bytes))
    }

    /// Verifies the signatures with a message that is already hashed.
    ///
    /// - Parameter message: the hash of this snapshot's payload. Callers reuse it to try several chains.
    func verified(
        with chains: [String: Result<VerifiedChain, BundleError>], signer: SignerName,
        message: SignedMessage
    ) throws(BundleError) -> Snapshot {
        guard !signatures.isEmpty else { throw .noSignatures(collection) }
        guard signatures.count <= Limits.signatures else {
            throw .tooManySignatures(collection, count: signatures.count, limit: Limits.signatures)
        }
        guard signatures.contains(where: \.namesChain) else { throw .noChains(collection) }
        let known = signatures.enumerated().filter(\.element.isKnown)
        guard !known.isEmpty else { throw .onlyUnknownModes(collection, modes: signatures.map(\.mode)) }

        var failures: [SignatureFailure] = []
        var newest: VerifiedChain?
        for (index, signature) in known {
            do throws(BundleError) {
                let chain = try chains.chain(for: signature, signer: signer)
                try chain.verify(signature, over: message)
                newest = newest.map { $0.leafNotBefore < chain.leafNotBefore ? chain : $0 } ?? chain
            } catch {
                failures.append(SignatureFailure(position: index + 1, x5u: signature.x5u, reason: error))
            }
        }
        guard let newest else { throw .noValidSignature(collection, failures) }
        return Snapshot(vouchingFor: self, chain: newest.pem, provenance: .signed(newest.verdict))
    }
}

extension ServedSignature {
    /// Whether this package can verify the signature.
    var isKnown: Bool { mode == "p384ecdsa" && namesChain }
}

extension [String: Result<VerifiedChain, BundleError>] {
    fileprivate func chain(for signature: ServedSignature, signer: SignerName) throws(BundleError) -> VerifiedChain {
        guard let verdict = self[signature.x5u] else { throw .chainMissing(x5u: signature.x5u) }
        let chain = try verdict.get()
        guard chain.signer == signer else { throw .signerMismatch(expected: signer, chain: chain.signer) }
        return chain
    }
}
