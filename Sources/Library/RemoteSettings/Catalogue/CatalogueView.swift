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

    /// - Throws: ``CatalogueError`` if the records are not a catalogue, or are one of another publisher.
    init(
        _ snapshot: Snapshot, from source: CollectionStatus.Source, of publisher: PublisherName, roots: TrustAnchors,
        limits: Limits
    ) throws(CatalogueError) {
        catalogue = try Catalogue(snapshot.records)
        guard catalogue.publisher == publisher else {
            throw .otherPublisher(found: catalogue.publisher, expected: publisher)
        }
        confirmedUntil = catalogue.confirmedUntil(certificateEnds: snapshot.provenance.verdict?.chainNotAfter)
        self.snapshot = snapshot
        self.source = source
        self.roots = roots
        self.limits = limits
    }

    /// Checks that this catalogue may replace `held`. It verifies the signatures of both catalogues again, which takes
    /// milliseconds.
    ///
    /// - Throws: ``CatalogueError`` if it may not.
    func checkSuccession(of current: CatalogueView) throws(CatalogueError) {
        guard snapshot.payload != current.snapshot.payload else { return }
        try verified().checkSuccession(of: current.verified())
    }

    /// The catalogue with what its signatures say of it. Verifies them again, which takes milliseconds.
    func verified() throws(CatalogueError) -> VerifiedCatalogue {
        try VerifiedCatalogue(snapshot, roots: roots, limits: limits)
    }

    func isConfirmed(at time: Timestamp) -> Bool { time <= confirmedUntil }

    /// The state of a cache file if the catalogue lists it; `nil` if it does not.
    ///
    /// The catalogue's signature vouches for the bytes by their SHA-256. The signature over them was verified before
    /// they were stored, and is not verified again.
    ///
    /// - Throws: `ChangesetError` or `JSONError` if the file cannot be read.
    func snapshot(of file: CacheFile) throws -> Snapshot? {
        guard let entry = catalogue.entries[file.collection], entry.timestamp == file.timestamp else { return nil }
        guard SHA256Digest(hashing: file.payload) == entry.payload else { return nil }
        let unverified = UnverifiedSnapshot(
            collection: file.collection, payload: try Payload(parsing: file.payload, limits: limits),
            metadata: try CollectionMetadata(parsing: file.metadata, limits: limits))
        return Snapshot(vouchingFor: unverified, chain: file.chain, provenance: snapshot.provenance)
    }
}

/// Why a collection could not be brought to a catalogue. What was held is still served.
enum CatalogueSyncError: Error, CustomStringConvertible {
    /// The server does not list a catalogue.
    case noCatalogue(server: String, publisher: PublisherName)
    /// The catalogue does not list the collection.
    case notListed(CollectionID, catalogue: UInt64)
    /// The server's state of the collection is not the one that the catalogue lists.
    case otherState(CollectionID, catalogue: UInt64, expected: Timestamp, found: Timestamp)
    /// Other collections of the catalogue could not be fetched, so the catalogue is not shown.
    case incomplete(catalogue: UInt64, missing: [CollectionID])

    var description: String {
        switch self {
        case .noCatalogue(let server, let publisher):
            "\(server): expected \(Catalogue.collection) among its collections, because RemoteSettingsConfig.publisher is "
                + "\(publisher); found none; publish with catalogue: in dumps.yaml, or configure no publisher"
        case .notListed(let id, let catalogue):
            "\(id): catalogue \(catalogue) does not list it; publish it, or correct the collection's name"
        case .otherState(let id, let catalogue, let expected, let found):
            "\(id): expected the state that catalogue \(catalogue) lists, of \(expected.rfc3339); found another one, of "
                + "\(found.rfc3339); the current state stays; try again later"
        case .incomplete(let catalogue, let missing):
            "catalogue \(catalogue) is not shown, because \(Counted.list(missing)) could not be fetched; the current state "
                + "stays"
        }
    }
}
