import RemoteSettingsModel

/// A verified catalogue, with information from its signature: how new the signing key is, and how long the catalogue is
/// fresh.
package struct VerifiedCatalogue: Hashable, Sendable {
    package let catalogue: Catalogue
    /// The time when the newest certificate that signed it under a pinned root became valid; `nil` if there is no
    /// signature.
    package let certificateBegins: Timestamp?
    /// The time until which the catalogue is fresh.
    package let freshUntil: Timestamp

    /// The chains of all its signatures (see `KeptChains`); `nil` if there is no signature.
    package let chains: Bytes?

    /// Creates a verified catalogue.
    ///
    /// - Parameters:
    ///   - begins: the time when the signing certificate became valid; `nil` if there is no signature.
    ///   - end: the time when the chain of that certificate expires.
    package init(
        _ catalogue: Catalogue, certificateBegins begins: Timestamp?, certificateEnds end: Timestamp? = nil,
        chains: Bytes? = nil
    ) {
        self.catalogue = catalogue
        self.chains = chains
        certificateBegins = begins
        freshUntil = catalogue.freshUntil(certificateEnds: end)
    }

    /// Parses a snapshot's catalogue and finds its signing certificate. Does no I/O.
    ///
    /// - Parameter roots: the pinned roots. Among all valid signatures under any of them, the one with the newest
    ///   certificate is used. An attacker with a replaced key can add signatures and cross-certificates, but cannot
    ///   make the key's own certificate newer.
    /// - Throws: ``BundleError/malformed(_:)`` or ``BundleError/laterFormat(_:)``.
    package init(
        _ snapshot: Snapshot, roots: TrustAnchors, limits: Limits = Limits()
    ) throws(BundleError) {
        self.init(
            try Catalogue(snapshot.records),
            certificateBegins: snapshot.newestCertificateBegins(under: roots, limits: limits),
            certificateEnds: snapshot.provenance.verdict?.chainNotAfter, chains: snapshot.chain)
    }

    package func isFresh(at time: Timestamp) -> Bool { time <= freshUntil }

    /// Checks that a catalogue from the server may be accepted.
    ///
    /// - Parameters:
    ///   - current: the verified catalogue that it would replace; `nil` for the first one. The first one must be fresh,
    ///     because nothing else shows that it is not an old one (The Update Framework, specification 5.4.4: freeze
    ///     attacks). A later one may be stale, because it is still newer than the current one.
    ///   - now: the time of the device. A confirmation may be at most ``Limits/clockToleranceSeconds`` ahead of it. If
    ///     one from further in the future were accepted, every honest confirmation until then would be refused.
    /// - Throws: ``BundleError``.
    package func checkAcceptance(
        after current: VerifiedCatalogue?, at now: Timestamp, limits: Limits
    ) throws(BundleError) {
        guard catalogue.confirmed <= now.advanced(by: .seconds(Limits.clockToleranceSeconds)) else {
            throw .confirmedAhead(found: catalogue.confirmed, now: now)
        }
        if let current { return try checkSuccession(of: current) }
        guard isFresh(at: now) else { throw .expired(catalogue.number, since: freshUntil) }
    }

    /// Checks that this catalogue may replace one that was verified earlier.
    ///
    /// With the same certificate, numbers must not decrease. After a change to a newer certificate, any number is
    /// accepted, even under another pinned root, because an attacker with the older key could have published any number
    /// (The Update Framework, specification 5.3.11: fast-forward attacks).
    ///
    /// - Throws: ``BundleError``.
    package func checkSuccession(of current: VerifiedCatalogue) throws(BundleError) {
        let (new, old) = (catalogue, current.catalogue)
        guard new.publisher == old.publisher else {
            throw .otherPublisher(found: new.publisher, expected: old.publisher)
        }
        if let begins = certificateBegins, let before = current.certificateBegins {
            guard begins >= before else { throw .earlierCertificate(found: begins, held: before) }
            if begins > before { return }
        }
        guard new.number >= old.number else { throw .olderCatalogue(found: new.number, held: old.number) }
        if new.number == old.number {
            guard new.hasSameStates(as: old) else { throw .sameNumberOtherStates(new.number) }
            guard new.confirmed >= old.confirmed else {
                throw .olderConfirmation(found: new.confirmed, held: old.confirmed)
            }
        }
        let unlisted = Set(old.entries.keys).union(old.removed.keys)
            .filter { new.entries[$0] == nil && new.removed[$0] == nil }
        guard unlisted.isEmpty else { throw .unlisted(unlisted.sorted()) }
    }
}
