import RemoteSettingsModel

/// Where a collection's records come from, how old they are, what vouches for them, and what was not used and why.
public struct SnapshotStatus: Hashable, Sendable {
    public enum Source: Hashable, Sendable {
        /// Written by a sync into the storage directory.
        case cached
        /// Shipped with the app, in the ``PackagedSource`` of this name.
        case packaged(String)
        /// There are no records: ``SnapshotStatus/unused`` says what there would be, if anything.
        case none
    }

    /// What vouches for the records.
    public enum Trust: Hashable, Sendable {
        /// A content signature, checked up to a pinned root.
        ///
        /// `verifiedAt` is the time that the certificates were valid at; `checkedHere` is `false` for a packaged
        /// snapshot that is as trusted as the program, whose signature was checked when it was packaged.
        case signed(signer: String, root: SHA256Digest, verifiedAt: Timestamp, checkedHere: Bool)
        case unsigned
        case imported
    }

    /// A snapshot that is there and does not serve, with the reason.
    public struct Unused: Hashable, Sendable, CustomStringConvertible {
        public enum Reason: Hashable, Sendable {
            /// A newer snapshot serves.
            case older
            /// It is of another server than the one configured.
            case otherServer(found: String, expected: String)
            /// It is of another bucket than the one asked for.
            case otherBucket(found: String)
            /// It has no signature, and the configuration does not accept that.
            case unsigned
            /// It has no signature, and the collection is known to be signed: by what is packaged, or by what was stored.
            case signatureLost
            /// Its signature does not hold.
            case notTrusted(String)
            /// It cannot be read.
            case damaged(String)
            /// The source as a whole cannot be read.
            case unreadableSource(String)
        }

        /// ``SnapshotStatus/Source/cached`` or the packaged one.
        public var source: Source
        /// As far as it is known.
        public var timestamp: Timestamp?
        public var reason: Reason
    }

    /// `bucket/collection`.
    public var collection: String
    public var source: Source
    /// The collection's timestamp; `nil` where there are no records.
    public var timestamp: Timestamp?
    /// The time since the collection last changed on the server, as far as is known here.
    public var age: Duration?
    /// Before filters.
    public var records: Int?
    public var trust: Trust?
    public var unused: [Unused]
}

extension SnapshotStatus.Unused {
    public var description: String {
        let place =
            switch source {
            case .cached: "the cached snapshot"
            case .packaged(let name): "the packaged snapshot in \(name)"
            case .none: "a snapshot"
            }
        return "\(place)\(timestamp.map { " of \($0.rfc3339)" } ?? "") is not used: \(reason)"
    }
}

extension SnapshotStatus.Unused.Reason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .older: "there is a newer one"
        case .otherServer(let found, let expected): "it is of the server \(found), the configuration says \(expected)"
        case .otherBucket(let found): "it is of the bucket \(found)"
        case .unsigned: "it has no signature, and the configuration does not accept that (acceptsUnsigned)"
        case .signatureLost:
            "it has no signature, and the collection is known to be signed; to accept it all the same, reset its storage, "
                + "and package it without signature"
        case .notTrusted(let why), .damaged(let why), .unreadableSource(let why): why
        }
    }
}
