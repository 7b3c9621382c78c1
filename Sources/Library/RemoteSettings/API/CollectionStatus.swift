import RemoteSettingsModel

/// The source, age and trust of a collection's records, and the snapshots that are not used.
public struct CollectionStatus: Hashable, Sendable {
    /// The place that records come from.
    @nonexhaustive public enum Source: Hashable, Sendable {
        /// The storage directory, written by a sync.
        case cached
        /// The packaged source with this name, shipped with the app (``PackagedSource``).
        case packaged(String)
        /// The local file at this path, which replaces the collection (``RemoteSettingsConfig/overrides``).
        ///
        /// For development only: the file is not verified, and the collection is not synced.
        case override(String)
        /// No source: there are no records. ``CollectionStatus/unused`` lists the unusable snapshots.
        case noSnapshot
        /// A source that this version of the library does not know, with its name. It occurs only in a decoded status.
        case unknown(String)
    }

    /// A snapshot that was found but is not used, and the reason.
    public struct Unused: Codable, Hashable, Sendable, CustomStringConvertible {
        /// The reason that a snapshot is not used. Its description is a sentence for developers and logs.
        @nonexhaustive public enum Reason: Hashable, Sendable {
            /// A newer snapshot is used instead.
            case older
            /// The snapshot comes from a different server than the configured one, such as a staging server.
            case otherServer(found: String, expected: String)
            /// The snapshot belongs to a different bucket than the requested one.
            case otherBucket(found: String)
            /// The snapshot has no signature, and the configuration requires one.
            case unsigned
            /// The snapshot has no signature, although a packaged or stored state of the collection has one.
            case signatureLost
            /// The signature is invalid, or its certificate chain does not lead to a pinned root.
            case notTrusted(String)
            /// No packaged source lists the collection, and nothing is stored for it.
            case notFound
            /// The collection's name is not valid.
            case invalidName(String)
            /// The snapshot cannot be read, or it is not the state that the lock file lists, because the directory was
            /// only partly checked out or copied.
            case damaged(String)
            /// The state was rejected by the app's check or by the app itself, or several starts with it failed. It is
            /// not used again; a newer state is. The string gives the cause.
            case failedInApp(String)
            /// Stored snapshots are not used because ``RemoteSettingsConfig/isPackagedOnly`` is set.
            case packagedOnly
            /// The packaged source as a whole cannot be read.
            case unreadableSource(String)
            /// A reason that only a later version of the library has, as a sentence. It occurs only in a decoded
            /// status.
            case unknown(String)
        }

        /// The place of the snapshot: ``CollectionStatus/Source/cached`` or a packaged source.
        public var source: Source
        /// The snapshot's timestamp; `nil` if it could not be read.
        public var timestamp: RemoteSettingsTimestamp?
        /// The reason that the snapshot is not used.
        public var reason: Reason
    }

    /// The collection, as `bucket/collection`.
    public var collection: String
    /// The place that the records come from.
    public var source: Source
    /// The collection's timestamp; `nil` if there are no records.
    public var timestamp: RemoteSettingsTimestamp?
    /// The time since ``timestamp``, by this device's clock; `nil` if there are no records.
    public var age: Duration?
    /// The number of records before the app's filters are applied; `nil` if there is no snapshot.
    public var recordCount: Int?
    /// The basis of trust in the records, such as a signature; `nil` if there are no records.
    public var provenance: Provenance?
    /// Whether the signature was verified in this process.
    ///
    /// It is `false` for an unsigned snapshot, and for a packaged snapshot that is as trusted as the program, because
    /// that was verified when it was packaged.
    public var isVerifiedOnDevice = false
    /// The snapshots that are not used, each with its reason.
    public var unused: [Unused]
    /// The failure of the last sync, with the time from which a read with ``RemoteSettingsClient/Query/Sync/ifEmpty``
    /// may use the network again; `nil` if such a read may use it now.
    public var recentFailure: RecentFailure?
    /// The number of records that the last read omitted because evaluating the filters of the collection takes more
    /// than 20,000,000 steps; 0 if there was no such read.
    public var unevaluatedRecords = 0
}

extension CollectionStatus: CustomStringConvertible {
    /// A line with the state that the records belong to, followed by the snapshots that are not used.
    public var description: String {
        let count = recordCount.map { "\(Counted.text($0, "record")) of " } ?? ""
        let state = timestamp.map { "\(count)\($0.rfc3339), \(source)" } ?? "no data"
        return (["\(collection): \(state)"] + unused.map { "\($0)" }).joined(separator: "; ")
    }
}

extension CollectionStatus.Unused {
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
            case .noSnapshot: "a snapshot"
            case .unknown(let name): "the snapshot in \(name)"
            }
        return "\(place)\(timestamp.map { " of \($0.rfc3339)" } ?? "") is not used: \(reason)"
    }
}

extension CollectionStatus.Unused.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .older: "a newer snapshot exists"
        case .otherServer(let found, let expected):
            "it is from the server \(found), but the configuration specifies \(expected)"
        case .otherBucket(let found): "it is from the bucket \(found), not the requested one"
        case .unsigned:
            "it is unsigned, and the configuration does not accept unsigned data (acceptsUnsigned; accept-unsigned in dumps.yaml)"
        case .signatureLost:
            "it is unsigned, but the collection was signed before; to accept it anyway, reset the storage "
                + "and package the collection unsigned"
        case .failedInApp(let why): "it was rejected: \(why)"
        case .packagedOnly: "only packaged snapshots are used (isPackagedOnly)"
        case .notFound: "the collection has not been packaged or synced yet; sync it, or check its name"
        case .notTrusted(let why), .invalidName(let why), .damaged(let why), .unreadableSource(let why),
            .unknown(let why):
            why
        }
    }
}
