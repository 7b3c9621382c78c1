import ContentSignature
import RemoteSettingsModel
import SnapshotBundle

/// A snapshot that serves, with where it came from.
struct HeldSnapshot: Sendable {
    let source: SnapshotStatus.Source
    let snapshot: Snapshot
    /// Whether the signature was checked in this process.
    let isCheckedHere: Bool

    var timestamp: Timestamp { snapshot.timestamp }

    var records: RecordTable { snapshot.records }

    var isSigned: Bool { snapshot.provenance.isSigned }

    var trust: SnapshotStatus.Trust {
        switch snapshot.provenance {
        case .signed(let verdict):
            .signed(
                signer: verdict.signer, root: verdict.root, verifiedAt: verdict.verifiedAt, checkedHere: isCheckedHere)
        case .unsigned: .unsigned
        case .imported: .imported
        }
    }
}

/// What there is of a collection in this process: the snapshot that serves, and why others do not.
struct LoadedCollection: Sendable {
    var held: HeldSnapshot?
    var unused: [SnapshotStatus.Unused] = []
    /// The newest timestamp that was ever taken from the server, as far as the cache knows.
    var highWaterMark: Timestamp?
    /// The newest timestamp that a signed state of the collection is known of: packaged, cached, or told by what is left
    /// of a damaged cache file.
    var signedAsOf: Timestamp?
    /// The newest packaged state without signature that is as trusted as the program.
    var unsignedByProgram: Timestamp?
    /// Which version of the cache file was read; `nil` where there was none.
    var cacheIdentity: CacheIdentity?
    /// The packaged bundles of the collection that may be used, newest first: for their attachments.
    var bundles: [PackagedBundle] = []

    /// Whether states without signature are refused, because the collection is known to be signed; unless the program
    /// itself says later that it no longer is.
    var isKnownSigned: Bool {
        guard let signedAsOf else { return false }
        return unsignedByProgram.map { $0 < signedAsOf } ?? true
    }

    mutating func noteSigned(asOf timestamp: Timestamp) {
        signedAsOf = max(signedAsOf ?? timestamp, timestamp)
    }
}
