import RemoteSettingsModel

/// Where a collection's records come from, how old they are, what vouches for them, and which snapshots are not used.
public struct CollectionStatus: Hashable, Sendable {
    /// Where records come from.
    ///
    /// Open: a later version may add cases, so a `switch` needs a `default`.
    public enum Source: Hashable, Sendable {
        /// Written by a sync into the storage directory.
        case cached
        /// Shipped with the app, in the ``PackagedSource`` of this name.
        case packaged(String)
        /// The file at this path on this machine, which replaces the collection (``RemoteSettingsConfig/overrides``).
        ///
        /// It is for development: nothing verifies it, and the collection is not synced.
        case override(String)
        /// There are no records. ``CollectionStatus/rejected`` lists the snapshots that were found but cannot be used.
        case notHeld
    }

    /// A snapshot that was found but is not used, with the reason.
    public struct Rejected: Hashable, Sendable, CustomStringConvertible {
        /// Why a snapshot is not used. Its description is a sentence for people.
        ///
        /// Open: a later version may add cases, so a `switch` needs a `default`.
        public enum Reason: Hashable, Sendable {
            /// A newer snapshot is used.
            case older
            /// It is of another server than the configured one, as of a staging server.
            case otherServer(found: String, expected: String)
            /// It is a catalogue of another publisher than the configured one.
            case otherPublisher(found: String, expected: String)
            /// It is of another bucket than the requested one.
            case otherBucket(found: String)
            /// It has no signature, and the configuration does not accept that.
            case unsigned
            /// It has no signature, although a packaged or stored state of the collection is signed.
            case signatureLost
            /// Its signature is not valid, or leads to a root that is not pinned.
            case notTrusted(String)
            /// The directory's lock names it, but the bundle there is of another state: a checkout or a copy is
            /// incomplete, or a refresh has not written the lock yet.
            ///
            /// The bundle's own state is used if its signature is valid, or if the source is as trusted as the program.
            case missing(found: RemoteSettingsTimestamp)
            /// No packaged source lists the collection, and nothing of it is stored.
            case notFound
            /// No collection can have the name.
            case invalidName(String)
            /// It cannot be read.
            case damaged(String)
            /// The app's check has refused it, the app has said that it is bad, or starts with it did not get well. A
            /// newer one is used. The text says which.
            case setAside(String)
            /// The source as a whole cannot be read.
            case unreadableSource(String)
        }

        /// ``CollectionStatus/Source/cached`` or the packaged one.
        public var source: Source
        /// The snapshot's timestamp; `nil` if it could not be read.
        public var timestamp: RemoteSettingsTimestamp?
        /// Why it is not used.
        public var reason: Reason
    }

    /// `bucket/collection`.
    public var collection: String
    /// Where the records come from.
    public var source: Source
    /// The collection's timestamp; `nil` if there are no records.
    public var timestamp: RemoteSettingsTimestamp?
    /// The time since the collection last changed on the server, as far as this process knows; `nil` if there are no
    /// records.
    public var age: Duration?
    /// The number of records before the app's filters; `nil` if there is no snapshot.
    public var records: Int?
    /// What vouches for the records; `nil` if there are none.
    public var provenance: Provenance?
    /// Whether the signature was verified in this process.
    ///
    /// It is `false` for a packaged snapshot that is as trusted as the program, because that was verified when it was
    /// packaged. It is also `false` if there is no signature.
    public var isVerifiedOnDevice = false
    /// The catalogue that lists these records; `nil` without catalogues, or if the records are not those of the
    /// catalogue in use.
    public var catalogue: UInt64?
    /// The snapshots that are not used, with the reasons.
    public var rejected: [Rejected]
    /// The last sync, if it has just failed, and when a read with ``RecordQuery/Sync/ifEmpty`` asks the network again;
    /// `nil` if it may ask at once.
    public var recentFailure: RecentFailure?
}

extension CollectionStatus.Rejected {
    public var description: String {
        switch reason {
        case .notFound, .invalidName: return "\(reason)"
        default: break
        }
        let place =
            switch source {
            case .cached: "the cached snapshot"
            case .packaged(let name): "the packaged snapshot in \(name)"
            case .override(let path): "the override \(path)"
            case .notHeld: "a snapshot"
            }
        return "\(place)\(timestamp.map { " of \($0.rfc3339)" } ?? "") is not used: \(reason)"
    }
}

extension CollectionStatus.Rejected.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .older: "a newer snapshot exists"
        case .otherServer(let found, let expected):
            "it is from the server \(found), but the configuration specifies \(expected)"
        case .otherPublisher(let found, let expected):
            "it is from the publisher \(found), but the configuration specifies \(expected)"
        case .otherBucket(let found): "it is from the bucket \(found)"
        case .unsigned: "it is unsigned, and the configuration does not accept unsigned data (acceptsUnsigned)"
        case .signatureLost:
            "it is unsigned, but the collection was signed before; to accept it anyway, reset the storage "
                + "and package the collection unsigned"
        case .missing(let found):
            "the lock file lists it, but the bundle is from \(found.rfc3339): the directory was only partly checked "
                + "out or "
                + "copied; restore both files from the same commit, or run rsdump refresh"
        case .setAside(let why): "it was rejected: \(why)"
        case .notFound: "the collection has not been packaged or synced yet; sync it, or check its name"
        case .notTrusted(let why), .invalidName(let why), .damaged(let why), .unreadableSource(let why): why
        }
    }
}
