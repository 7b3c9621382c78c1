import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust

/// What a process holds of one collection.
///
/// It is the snapshot in use, why others are not used, and what protects the collection from older or unsigned states.
struct CurrentState: Sendable {
    /// The snapshot whose records are served; `nil` if there is none.
    var snapshot: Snapshot?
    /// Where the snapshot came from.
    var source = SnapshotStatus.Source.notHeld
    /// Whether the snapshot's signature was verified in this process.
    var isVerifiedOnDevice = false
    var rejected: [SnapshotStatus.Rejected] = []
    /// The newest timestamp that was ever taken from the server, according to the cache file.
    var highWaterMark: HighWaterMark?
    /// The newest timestamp of a known signed state: a packaged one, a cached one, or what is left of a damaged cache
    /// file.
    var signedAsOf: Timestamp?
    /// The newest timestamp of an unsigned packaged state in a source that is as trusted as the program.
    var unsignedByProgram: Timestamp?
    /// Which version of the cache file was read; `nil` if there was none.
    var cacheIdentity: CacheIdentity?
    /// Whether a later version of the library has written the cache file, which then stays as it is.
    var isOfLaterFormat = false
    /// Whether the cache file is of the state in use.
    ///
    /// Either the cache file itself is in use, or a packaged snapshot of the same state, which need not be verified
    /// again.
    var isCached = false
    /// The catalogue in use when this state was found; `nil` without catalogues.
    var view: CatalogueView?
    /// Whether this is the state that the catalogue lists.
    var isOfCatalogue = false
    /// The version of a file in the storage directory that has the catalogue's state; `nil` if there is none, or if it
    /// is not known.
    var storedIdentity: CacheIdentity?
    /// The usable packaged bundles of the collection, newest first, for their attachments.
    var bundles: [PackagedBundle] = []

    var timestamp: Timestamp? { snapshot?.timestamp }

    /// Whether unsigned states are refused because the collection is known to be signed.
    ///
    /// They are not refused if the program itself brings a later unsigned state.
    var isKnownSigned: Bool {
        guard let signedAsOf else { return false }
        return unsignedByProgram.map { $0 < signedAsOf } ?? true
    }

    mutating func serve(_ snapshot: Snapshot, from source: SnapshotStatus.Source, isVerifiedOnDevice: Bool) {
        self.snapshot = snapshot
        self.source = source
        self.isVerifiedOnDevice = isVerifiedOnDevice && snapshot.provenance.isSigned
    }

    mutating func recordSigned(asOf timestamp: Timestamp) {
        signedAsOf = max(signedAsOf ?? timestamp, timestamp)
    }
}
