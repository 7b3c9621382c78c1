import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A verified catalogue of the configured publisher, and its source.
///
/// Collections are consistent with each other if their states were chosen with the same view.
final class CatalogueView: Sendable {
    let catalogue: Catalogue
    /// The verified catalogue, as a snapshot of its collection.
    let snapshot: Snapshot
    let source: CollectionStatus.Source
    /// The time until which clients may treat the catalogue as current.
    let freshUntil: Timestamp
    private let roots: TrustAnchors
    private let limits: Limits

    /// Creates a view from a verified snapshot.
    ///
    /// - Throws: ``BundleError`` if the records are not a catalogue.
    init(
        _ snapshot: Snapshot, from source: CollectionStatus.Source, roots: TrustAnchors, limits: Limits
    ) throws(BundleError) {
        catalogue = try Catalogue(snapshot.records)
        freshUntil = catalogue.freshUntil(certificateEnds: snapshot.provenance.verdict?.chainNotAfter)
        self.snapshot = snapshot
        self.source = source
        self.roots = roots
        self.limits = limits
    }

    /// Checks that this catalogue may replace `current`. It verifies the signatures of both catalogues again, which
    /// takes some milliseconds.
    ///
    /// - Throws: ``BundleError`` if it may not.
    func checkSuccession(of current: CatalogueView) throws(BundleError) {
        guard snapshot.payload != current.snapshot.payload else { return }
        try verified().checkSuccession(of: current.verified())
    }

    /// Returns the catalogue with the validity of its certificates. Verifies its signatures again, in milliseconds.
    func verified() throws(BundleError) -> VerifiedCatalogue {
        try VerifiedCatalogue(snapshot, roots: roots, limits: limits)
    }

    func isFresh(at time: Timestamp) -> Bool { time <= freshUntil }

    /// Returns the state in a cache file if the catalogue lists it; otherwise `nil`.
    ///
    /// The catalogue's signature covers the SHA-256 of the payload, so the payload's own signature, which was verified
    /// before it was stored, is not verified again.
    ///
    /// - Throws: `FormatError` if the payload or the metadata cannot be parsed.
    func snapshot(of file: CacheFile) throws -> Snapshot? {
        guard let entry = catalogue.entries[file.collection], entry.timestamp == file.timestamp else { return nil }
        guard SHA256Digest(hashing: file.payload) == entry.payload else { return nil }
        let unverified = UnverifiedSnapshot(
            collection: file.collection, payload: try Payload(parsing: file.payload, limits: limits),
            metadata: try CollectionMetadata(parsing: file.metadata, limits: limits))
        return Snapshot(vouchingFor: unverified, chain: file.chain, provenance: snapshot.provenance)
    }
}

// Errors for a collection that could not be updated to a catalogue. Its previous state remains in use.
extension HTTPError {
    private init(_ sentence: String, remedy: String?, fault: StateFault? = nil) {
        self.init("", Reason(.rollback, sentence, remedy: remedy, fault: fault))
    }

    /// Returns an error for a server that does not list a catalogue.
    static func noCatalogue(server: String, publisher: PublisherName) -> Self {
        Self(
            "\(server): the server does not list \(Catalogue.collection), but RemoteSettingsConfig.publisher is "
                + "\(publisher)",
            remedy: "publish with catalogue: in dumps.yaml, or remove the publisher from the configuration")
    }

    /// Returns an error for a collection that the catalogue does not list.
    static func notListed(_ id: CollectionID, catalogue: UInt64) -> Self {
        Self(
            "\(id): catalogue \(catalogue) does not list it", remedy: "publish the collection, or correct its name",
            fault: .notListed)
    }

    /// Returns an error for a collection whose state on the server is not the one listed in the catalogue.
    static func otherState(_ id: CollectionID, catalogue: UInt64, expected: Timestamp, found: Timestamp) -> Self {
        Self(
            "\(id): catalogue \(catalogue) lists the state of \(expected.rfc3339), but the server sent the state of "
                + "\(found.rfc3339)",
            remedy: "the current state is unchanged; try again later", fault: found > expected ? .overtaken : nil)
    }

    /// Returns an error for a catalogue that is not committed because other collections in it could not be fetched.
    static func incomplete(catalogue: UInt64, missing: [CollectionID]) -> Self {
        Self(
            "catalogue \(catalogue) was not applied, because \(Counted.list(missing)) could not be fetched",
            remedy: "the current state is unchanged")
    }
}
