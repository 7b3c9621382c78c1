import RemoteSettingsModel
import SnapshotTrust

/// A release as this process reads it: a verified catalogue of the configured origin, and where it came from.
///
/// States that were read from one view belong together.
final class ReleaseView: Sendable {
    let catalogue: Catalogue
    /// The catalogue as a collection, verified.
    let snapshot: Snapshot
    let source: SnapshotStatus.Source
    /// Until when clients may accept the release as the current one.
    let confirmedUntil: Timestamp
    private let roots: TrustAnchors
    private let limits: Limits

    /// - Throws: ``CatalogueError`` if the records are no catalogue, or one of another origin.
    init(
        _ snapshot: Snapshot, from source: SnapshotStatus.Source, of origin: OriginName, roots: TrustAnchors,
        limits: Limits
    ) throws(CatalogueError) {
        catalogue = try Catalogue(snapshot.records)
        guard catalogue.origin == origin else { throw .otherOrigin(found: catalogue.origin, expected: origin) }
        confirmedUntil = catalogue.confirmedUntil(certificateEnds: snapshot.provenance.verdict?.chainNotAfter)
        self.snapshot = snapshot
        self.source = source
        self.roots = roots
        self.limits = limits
    }

    /// Checks that this release may replace `held`. It verifies the signatures of both catalogues again, which takes
    /// milliseconds.
    ///
    /// - Throws: ``CatalogueError`` if it may not.
    func checkSuccession(of current: ReleaseView) throws(CatalogueError) {
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

/// Why a collection could not be brought to a release. What was held is still served.
enum ReleaseSyncError: Error, CustomStringConvertible {
    /// The server does not list a catalogue.
    case noCatalogue(server: String, origin: OriginName)
    /// The catalogue does not list the collection.
    case notListed(CollectionID, release: UInt64)
    /// The server's state of the collection is not the one that the catalogue lists.
    case otherState(CollectionID, release: UInt64, expected: Timestamp, found: Timestamp)
    /// Other collections of the release could not be fetched, so the release is not shown.
    case incomplete(release: UInt64, missing: [CollectionID])

    var description: String {
        switch self {
        case .noCatalogue(let server, let origin):
            "\(server): expected \(Catalogue.collection) among its collections, because RemoteSettingsConfig.origin is "
                + "\(origin); found none; publish with release: in dumps.yaml, or configure no origin"
        case .notListed(let id, let release):
            "\(id): the catalogue of release \(release) does not list it; publish it, or correct the collection's name"
        case .otherState(let id, let release, let expected, let found):
            "\(id): expected the state that release \(release) lists, of \(expected.rfc3339); found another one, of "
                + "\(found.rfc3339); the present state stays; try again later"
        case .incomplete(let release, let missing):
            "release \(release) is not shown, because \(Counted.list(missing)) could not be fetched; the present state "
                + "stays"
        }
    }
}
