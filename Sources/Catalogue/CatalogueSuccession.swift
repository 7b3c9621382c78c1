import ContentSignature
import RemoteSettingsModel

/// A verified catalogue, with the time from which the certificate that signed it is valid.
package struct VerifiedCatalogue: Hashable, Sendable {
    package let catalogue: Catalogue
    /// When the signer's own certificate becomes valid; `nil` if nothing is signed.
    package let certificateBegins: Timestamp?
    /// The SHA-256 of the root certificate of that chain; `nil` if nothing is signed.
    package let root: SHA256Digest?

    package init(_ catalogue: Catalogue, certificateBegins: Timestamp?, root: SHA256Digest?) {
        self.catalogue = catalogue
        self.certificateBegins = certificateBegins
        self.root = root
    }

    /// Reads the catalogue of a snapshot, and what signed it. Does no I/O.
    ///
    /// Several signatures may be valid under the root that the snapshot was verified by. The one with the latest
    /// certificate counts, because somebody may still add a signature by a key that was replaced. Only the signer's own
    /// certificate counts: a renewed intermediate or cross-certificate does not make a replaced key any younger.
    ///
    /// - Throws: ``CatalogueError/malformed(_:)`` or ``CatalogueError/laterFormat(_:)``.
    package init(_ snapshot: Snapshot, limits: Limits = Limits()) throws(CatalogueError) {
        let root = snapshot.provenance.verdict?.root
        let chains = snapshot.signatureChains(limits: limits).compactMap(\.chain).filter { $0.root == root }
        self.init(
            try Catalogue(snapshot.records), certificateBegins: chains.map(\.leafNotBefore).max(), root: root)
    }

    /// Checks that this catalogue may replace one that was verified before.
    ///
    /// Under one certificate, numbers only grow. A later certificate of the same root starts anew, because whoever had
    /// the earlier key could have published any number (The Update Framework, specification 5.3.11: fast-forward
    /// attacks).
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
