import ContentSignature
import RemoteSettingsModel

/// A catalogue as it was verified: with the time from which the certificate that signed it is valid.
package struct VerifiedCatalogue: Hashable, Sendable {
    package let catalogue: Catalogue
    /// From when the signer's own certificate is valid; `nil` if nothing is signed.
    package let certificateBegins: Timestamp?
    /// SHA-256 of the root to which the certificate leads; `nil` if nothing is signed.
    package let root: SHA256Digest?

    package init(_ catalogue: Catalogue, certificateBegins: Timestamp?, root: SHA256Digest?) {
        self.catalogue = catalogue
        self.certificateBegins = certificateBegins
        self.root = root
    }

    /// Reads the catalogue of a snapshot, and what signed it.
    ///
    /// Of several valid signatures under the root that the snapshot was verified by, the one with the latest certificate
    /// counts: a key that was replaced may still be used by somebody to add a signature. The certificate is the signer's own:
    /// a renewed intermediate or cross-certificate makes no replaced key younger. No I/O.
    ///
    /// - Throws: ``CatalogueError/malformed(_:)`` or ``CatalogueError/laterFormat(_:)``.
    package init(_ snapshot: Snapshot, limits: Limits = Limits()) throws(CatalogueError) {
        let root = snapshot.provenance.verdict?.root
        let chains = snapshot.signatureChains(limits: limits).compactMap(\.chain).filter { $0.root == root }
        self.init(
            try Catalogue(snapshot.records), certificateBegins: chains.map(\.leafNotBefore).max(), root: root)
    }

    /// Checks that this catalogue may take the place of one that was verified before.
    ///
    /// Numbers only grow under one certificate. A later certificate of the same root makes a new beginning: whoever had the
    /// key before it could have published any number (The Update Framework, specification 5.3.11: fast-forward attacks).
    ///
    /// - Throws: ``CatalogueError``.
    package func checkSuccession(of held: VerifiedCatalogue) throws(CatalogueError) {
        let (new, old) = (catalogue, held.catalogue)
        guard new.origin == old.origin else { throw .otherOrigin(found: new.origin, expected: old.origin) }
        if root == held.root, let begins = certificateBegins, let before = held.certificateBegins {
            guard begins >= before else { throw .earlierCertificate(found: begins, held: before) }
            if begins > before { return }
        }
        guard new.number >= old.number else { throw .olderRelease(found: new.number, held: old.number) }
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
