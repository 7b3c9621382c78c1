import RemoteSettingsModel

/// A verified catalogue, with what its signature says of it: how new the signing key is, and how long it may confirm.
package struct VerifiedCatalogue: Hashable, Sendable {
    package let catalogue: Catalogue
    /// When the newest certificate becomes valid that signed it under a pinned root; `nil` if nothing is signed.
    package let certificateBegins: Timestamp?
    /// Until when clients may accept the catalogue as the current one.
    package let confirmedUntil: Timestamp

    /// The chains of all its signatures (`KeptChains`); `nil` if nothing is signed.
    package let chains: Bytes?

    /// - Parameters:
    ///   - begins: when the certificate that signed it becomes valid; `nil` if nothing is signed.
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

    /// Reads the catalogue of a snapshot, and what signed it. Does no I/O.
    ///
    /// - Parameter roots: the pinned roots. Of all valid signatures under any of them, the one with the newest
    ///   certificate counts. The thief of a replaced key can add signatures and cross-certificates, but cannot make
    ///   the key's certificate younger.
    /// - Throws: ``CatalogueError/malformed(_:)`` or ``CatalogueError/laterFormat(_:)``.
    package init(
        _ snapshot: Snapshot, roots: TrustAnchors, limits: Limits = Limits()
    ) throws(CatalogueError) {
        self.init(
            try Catalogue(snapshot.records),
            certificateBegins: snapshot.newestCertificateBegins(under: roots, limits: limits),
            certificateEnds: snapshot.provenance.verdict?.chainNotAfter, chains: snapshot.chain)
    }

    package func isConfirmed(at time: Timestamp) -> Bool { time <= confirmedUntil }

    /// Checks that a catalogue of the server may be taken.
    ///
    /// - Parameters:
    ///   - current: the verified catalogue that it would replace; `nil` for the first one. The first one must be
    ///     confirmed, because nothing else shows that it is not an old one (The Update Framework, specification 5.4.4:
    ///     freeze attacks). A later one may have expired: it is newer than the current one all the same.
    ///   - now: the time of the device. A confirmation that is more than ``Limits/clockToleranceSeconds`` ahead of it
    ///     would refuse every honest one until then.
    /// - Throws: ``CatalogueError``.
    package func checkAcceptance(
        after current: VerifiedCatalogue?, at now: Timestamp, limits: Limits
    ) throws(CatalogueError) {
        guard catalogue.confirmed <= now.advanced(by: .seconds(Limits.clockToleranceSeconds)) else {
            throw .confirmedAhead(found: catalogue.confirmed, now: now)
        }
        if let current { return try checkSuccession(of: current) }
        guard isConfirmed(at: now) else { throw .expired(catalogue.number, since: confirmedUntil) }
    }

    /// Checks that this catalogue may replace one that was verified before.
    ///
    /// Under one certificate, numbers only grow. A newer certificate starts anew, whichever pinned root it leads to,
    /// because whoever had the older key could have published any number (The Update Framework, specification 5.3.11:
    /// fast-forward attacks).
    ///
    /// - Throws: ``CatalogueError``.
    package func checkSuccession(of current: VerifiedCatalogue) throws(CatalogueError) {
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
