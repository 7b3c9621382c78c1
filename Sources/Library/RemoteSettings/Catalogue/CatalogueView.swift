import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// A catalogue as this process reads it: a verified catalogue of the configured publisher, and where it came from.
///
/// States that were read from one view belong together.
final class CatalogueView: Sendable {
    let catalogue: Catalogue
    /// The catalogue as a collection, verified.
    let snapshot: Snapshot
    let source: CollectionStatus.Source
    /// Until when clients may accept the catalogue as the current one.
    let confirmedUntil: Timestamp
    private let roots: TrustAnchors
    private let limits: Limits

    /// - Throws: ``BundleError`` if the records are not a catalogue.
    init(
        _ snapshot: Snapshot, from source: CollectionStatus.Source, roots: TrustAnchors, limits: Limits
    ) throws(BundleError) {
        catalogue = try Catalogue(snapshot.records)
        confirmedUntil = catalogue.confirmedUntil(certificateEnds: snapshot.provenance.verdict?.chainNotAfter)
        self.snapshot = snapshot
        self.source = source
        self.roots = roots
        self.limits = limits
    }

    /// Checks that this catalogue may replace `held`. It verifies the signatures of both catalogues again, which takes
    /// milliseconds.
    ///
    /// - Throws: ``BundleError`` if it may not.
    func checkSuccession(of current: CatalogueView) throws(BundleError) {
        guard snapshot.payload != current.snapshot.payload else { return }
        try verified().checkSuccession(of: current.verified())
    }

    /// The catalogue with what its signatures say of it. Verifies them again, which takes milliseconds.
    func verified() throws(BundleError) -> VerifiedCatalogue {
        try VerifiedCatalogue(snapshot, roots: roots, limits: limits)
    }

    func isConfirmed(at time: Timestamp) -> Bool { time <= confirmedUntil }

    /// The state of a cache file if the catalogue lists it; `nil` if it does not.
    ///
    /// The catalogue's signature vouches for the bytes by their SHA-256. The signature over them was verified before
    /// they were stored, and is not verified again.
    ///
    /// - Throws: `FormatError` if the file cannot be read.
    func snapshot(of file: CacheFile) throws -> Snapshot? {
        guard let entry = catalogue.entries[file.collection], entry.timestamp == file.timestamp else { return nil }
        guard SHA256Digest(hashing: file.payload) == entry.payload else { return nil }
        let unverified = UnverifiedSnapshot(
            collection: file.collection, payload: try Payload(parsing: file.payload, limits: limits),
            metadata: try CollectionMetadata(parsing: file.metadata, limits: limits))
        return Snapshot(vouchingFor: unverified, chain: file.chain, provenance: snapshot.provenance)
    }
}

// Why a collection could not be brought to a catalogue. What was held is still served.
extension HTTPError {
    private init(_ sentence: String, remedy: String?, fault: StateFault? = nil) {
        self.init("", Reason(.rollback, sentence, remedy: remedy, fault: fault))
    }

    /// The server does not list a catalogue.
    static func noCatalogue(server: String, publisher: PublisherName) -> Self {
        Self(
            "\(server): the server does not list \(Catalogue.collection), but RemoteSettingsConfig.publisher is "
                + "\(publisher)",
            remedy: "publish with catalogue: in dumps.yaml, or remove the publisher from the configuration")
    }

    /// The catalogue does not list the collection.
    static func notListed(_ id: CollectionID, catalogue: UInt64) -> Self {
        Self(
            "\(id): catalogue \(catalogue) does not list it", remedy: "publish it, or correct the collection's name",
            fault: .notListed)
    }

    /// The server's state of the collection is not the one that the catalogue lists.
    static func otherState(_ id: CollectionID, catalogue: UInt64, expected: Timestamp, found: Timestamp) -> Self {
        Self(
            "\(id): catalogue \(catalogue) lists the state of \(expected.rfc3339), but the server sent the state of "
                + "\(found.rfc3339)",
            remedy: "the current state is unchanged; try again later", fault: found > expected ? .overtaken : nil)
    }

    /// Other collections of the catalogue could not be fetched, so the catalogue is not shown.
    static func incomplete(catalogue: UInt64, missing: [CollectionID]) -> Self {
        Self(
            "catalogue \(catalogue) was not applied, because \(Counted.list(missing)) could not be fetched",
            remedy: "the current state is unchanged")
    }
}
