import RemoteSettingsModel

/// A verified catalogue, with what its signature says about it: how new the signing key is, and how long it is
/// confirmed.
package struct VerifiedCatalogue: Hashable, Sendable {
    package let catalogue: Catalogue
    /// When the newest certificate that signed it under a pinned root became valid; `nil` if there is no signature.
    package let certificateBegins: Timestamp?
    /// Until when clients may accept the catalogue as the current one.
    package let confirmedUntil: Timestamp

    /// The chains of all its signatures (`KeptChains`); `nil` if there is no signature.
    package let chains: Bytes?

    /// Makes a verified catalogue.
    ///
    /// - Parameters:
    ///   - begins: when the certificate that signed it became valid; `nil` if there is no signature.
    ///   - end: when the chain of that certificate ends.
    package init(
        _ catalogue: Catalogue, certificateBegins begins: Timestamp?, certificateEnds end: Timestamp? = nil,
        chains: Bytes? = nil
    ) {
        self.catalogue = catalogue
        self.chains = chains
        certificateBegins = begins
        confirmedUntil = catalogue.confirmedUntil(certificateEnds: end)
    }

    /// Reads a snapshot's catalogue and what signed it. Does no I/O.
    ///
    /// - Parameter roots: the pinned roots. Of all valid signatures under any of them, the one with the newest
    ///   certificate counts. A thief of a replaced key can add signatures and cross-certificates, but cannot make the
    ///   key's own certificate newer.
    /// - Throws: ``BundleError/malformed(_:)`` or ``BundleError/laterFormat(_:)``.
    package init(
        _ snapshot: Snapshot, roots: TrustAnchors, limits: Limits = Limits()
    ) throws(BundleError) {
        self.init(
            try Catalogue(snapshot.records),
            certificateBegins: snapshot.newestCertificateBegins(under: roots, limits: limits),
            certificateEnds: snapshot.provenance.verdict?.chainNotAfter, chains: snapshot.chain)
    }

    package func isConfirmed(at time: Timestamp) -> Bool { time <= confirmedUntil }

    /// Checks that a catalogue from the server may be accepted.
    ///
    /// - Parameters:
    ///   - current: the verified catalogue that it would replace; `nil` for the first one. The first one must be
    ///     confirmed, because nothing else shows that it is not an old one (The Update Framework, specification 5.4.4:
    ///     freeze attacks). A later one may have expired, because it is still newer than the current one.
    ///   - now: the time of the device. A confirmation may be at most ``Limits/clockToleranceSeconds`` ahead of it. If
    ///     a later one were accepted, it would make every honest confirmation fail until then.
    /// - Throws: ``BundleError``.
    package func checkAcceptance(
        after current: VerifiedCatalogue?, at now: Timestamp, limits: Limits
    ) throws(BundleError) {
        guard catalogue.confirmed <= now.advanced(by: .seconds(Limits.clockToleranceSeconds)) else {
            throw .confirmedAhead(found: catalogue.confirmed, now: now)
        }
        if let current { return try checkSuccession(of: current) }
        guard isConfirmed(at: now) else { throw .expired(catalogue.number, since: confirmedUntil) }
    }

    /// Checks that this catalogue may replace one that was verified before.
    ///
    /// Under one certificate, numbers only grow. A newer certificate may start with any number, whichever pinned root
    /// it leads to, because a thief of the older key could have published any number (The Update Framework,
    /// specification 5.3.11: fast-forward attacks).
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
