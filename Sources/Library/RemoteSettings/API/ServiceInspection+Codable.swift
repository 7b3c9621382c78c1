import RemoteSettingsModel

// Apps encode these types, and a fleet's collector decodes them. Points in time are milliseconds since 1970. Durations
// are seconds, with up to three decimals. A member whose value is `nil` is left out, and unknown members, such as those
// of a later version, are ignored.

extension ServiceInspection: Codable {
    private enum CodingKeys: String, CodingKey {
        case server, preview, storage, lastAttempt, lastSuccess, clockSkewSeconds, backoffUntil, collections
    }

    /// Decodes a state that another process has encoded.
    ///
    /// ``storage`` and the paths of sources consist of the last component only. An enumeration case of a later version
    /// is decoded as the case for unknown values, such as ``CollectionStatus/Source/unknown(_:)``.
    ///
    /// - Throws: `DecodingError`.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        server = try members.decode(String.self, forKey: .server)
        isPreview = try members.decode(Bool.self, forKey: .preview)
        storage = try members.decode(String.self, forKey: .storage)
        lastCheck = try members.decodeIfPresent(Timestamp.self, forKey: .lastSuccess)
        clockSkew = try members.decodeSeconds(forKey: .clockSkewSeconds)
        backoffUntil = try members.decodeIfPresent(Timestamp.self, forKey: .backoffUntil)
        collections = try members.decode([Collection].self, forKey: .collections)
    }

    /// Encodes the state. Only the last component of each path is encoded, because a path may contain a user's name.
    /// Error descriptions are encoded unchanged, including any paths in them.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(server, forKey: .server)
        try members.encode(isPreview, forKey: .preview)
        try members.encode(lastComponent(of: storage), forKey: .storage)
        try members.encodeIfPresent(lastAttempt, forKey: .lastAttempt)
        try members.encodeIfPresent(lastCheck, forKey: .lastSuccess)
        try members.encodeSeconds(clockSkew, forKey: .clockSkewSeconds)
        try members.encodeIfPresent(backoffUntil, forKey: .backoffUntil)
        try members.encode(collections, forKey: .collections)
    }
}

extension ServiceInspection.Collection: Codable {
    private enum CodingKeys: String, CodingKey {
        case serverTimestamp, lastAttempt, lastSuccess, failures, error, pinned, behindSeconds, hasClient
    }

    /// Decodes the collection. The members of its ``status`` are in the same JSON object as its own.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        status = try CollectionStatus(from: decoder)
        serverTimestamp = try members.decodeIfPresent(Timestamp.self, forKey: .serverTimestamp)
        lastSuccess = try members.decodeIfPresent(Timestamp.self, forKey: .lastSuccess)
        failures = try members.decodeIfPresent(SyncFailures.self, forKey: .failures)
        hasClient = try members.decode(Bool.self, forKey: .hasClient)
    }

    /// Encodes the collection, including the computed properties, which are not decoded.
    public func encode(to encoder: any Encoder) throws {
        try status.encode(to: encoder)
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encodeIfPresent(serverTimestamp, forKey: .serverTimestamp)
        try members.encodeIfPresent(lastAttempt, forKey: .lastAttempt)
        try members.encodeIfPresent(lastSuccess, forKey: .lastSuccess)
        try members.encodeIfPresent(failures, forKey: .failures)
        try members.encodeIfPresent(lastError, forKey: .error)
        try members.encode(isPinned, forKey: .pinned)
        try members.encodeSeconds(behind, forKey: .behindSeconds)
        try members.encode(hasClient, forKey: .hasClient)
    }
}

extension CollectionStatus: Codable {
    private enum CodingKeys: String, CodingKey {
        case collection, source, timestamp, ageSeconds, records, provenance, verifiedOnDevice, rejected
        case recentFailure, unevaluatedRecords
    }

    /// Decodes a status that another process has encoded. The paths of sources consist of the last component only.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        collection = try members.decode(String.self, forKey: .collection)
        source = try members.decode(Source.self, forKey: .source)
        timestamp = try members.decodeIfPresent(Timestamp.self, forKey: .timestamp)
        age = try members.decodeSeconds(forKey: .ageSeconds)
        records = try members.decodeIfPresent(Int.self, forKey: .records)
        provenance = try members.decodeIfPresent(Provenance.self, forKey: .provenance)
        isVerifiedOnDevice = try members.decode(Bool.self, forKey: .verifiedOnDevice)
        rejected = try members.decode([Rejected].self, forKey: .rejected)
        recentFailure = try members.decodeIfPresent(RecentFailure.self, forKey: .recentFailure)
        unevaluatedRecords = try members.decodeIfPresent(Int.self, forKey: .unevaluatedRecords) ?? 0
    }

    /// Encodes the status. Only the last component of each path is encoded, because a path may contain a user's name.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(collection, forKey: .collection)
        try members.encode(source, forKey: .source)
        try members.encodeIfPresent(timestamp, forKey: .timestamp)
        try members.encodeSeconds(age, forKey: .ageSeconds)
        try members.encodeIfPresent(records, forKey: .records)
        try members.encodeIfPresent(provenance, forKey: .provenance)
        try members.encode(isVerifiedOnDevice, forKey: .verifiedOnDevice)
        try members.encode(rejected, forKey: .rejected)
        try members.encodeIfPresent(recentFailure, forKey: .recentFailure)
        if unevaluatedRecords > 0 { try members.encode(unevaluatedRecords, forKey: .unevaluatedRecords) }
    }
}

extension CollectionStatus.Source: Codable {
    private enum CodingKeys: String, CodingKey { case kind, name }

    /// Decodes a source. A kind that only a later version has is decoded as ``unknown(_:)``.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        switch try members.decode(String.self, forKey: .kind) {
        case "cached": self = .cached
        case "packaged": self = .packaged(try members.decode(String.self, forKey: .name))
        case "override": self = .override(try members.decode(String.self, forKey: .name))
        case "none": self = .noSnapshot
        case let kind: self = .unknown(kind)
        }
    }

    /// Encodes the kind of the source, and its name or the last component of its path.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        let (kind, name): (String, String?) =
            switch self {
            case .cached: ("cached", nil)
            case .packaged(let name): ("packaged", name)
            case .override(let path): ("override", path)
            case .noSnapshot: ("none", nil)
            case .unknown(let kind): (kind, nil)
            }
        try members.encode(kind, forKey: .kind)
        try members.encodeIfPresent(name.map(lastComponent(of:)), forKey: .name)
    }
}

extension CollectionStatus.Rejected.Reason: Codable {
    private enum CodingKeys: String, CodingKey { case code, found, expected, why, text }

    /// Decodes a reason. A reason that only a later version has is decoded as ``unknown(_:)``.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        func member(_ key: CodingKeys) throws -> String { try members.decode(String.self, forKey: key) }
        switch try member(.code) {
        case "older": self = .older
        case "otherServer": self = .otherServer(found: try member(.found), expected: try member(.expected))
        case "otherBucket": self = .otherBucket(found: try member(.found))
        case "unsigned": self = .unsigned
        case "signatureLost": self = .signatureLost
        case "notTrusted": self = .notTrusted(try member(.why))
        case "notFound": self = .notFound
        case "invalidName": self = .invalidName(try member(.why))
        case "damaged": self = .damaged(try member(.why))
        case "failedInApp": self = .failedInApp(try member(.why))
        case "packagedOnly": self = .packagedOnly
        case "unreadableSource": self = .unreadableSource(try member(.why))
        case let code: self = .unknown(try members.decodeIfPresent(String.self, forKey: .text) ?? code)
        }
    }

    /// Encodes the reason's code, its associated values, and its description.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(code, forKey: .code)
        switch self {
        case .otherServer(let found, let expected):
            try members.encode(found, forKey: .found)
            try members.encode(expected, forKey: .expected)
        case .otherBucket(let found): try members.encode(found, forKey: .found)
        case .notTrusted(let why), .invalidName(let why), .damaged(let why), .failedInApp(let why),
            .unreadableSource(let why):
            try members.encode(why, forKey: .why)
        case .older, .unsigned, .signatureLost, .notFound, .packagedOnly, .unknown: break
        }
        try members.encode(description, forKey: .text)
    }

    private var code: String {
        switch self {
        case .older: "older"
        case .otherServer: "otherServer"
        case .otherBucket: "otherBucket"
        case .unsigned: "unsigned"
        case .signatureLost: "signatureLost"
        case .notTrusted: "notTrusted"
        case .notFound: "notFound"
        case .invalidName: "invalidName"
        case .damaged: "damaged"
        case .failedInApp: "failedInApp"
        case .packagedOnly: "packagedOnly"
        case .unreadableSource: "unreadableSource"
        case .unknown: "unknown"
        }
    }
}

extension RemoteSettingsError: Codable {
    private enum CodingKeys: String, CodingKey { case code, seconds, text }

    /// Decodes an error. An error that only a later version has is decoded as ``other(reason:)``.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let text = try members.decode(String.self, forKey: .text)
        switch try members.decode(String.self, forKey: .code) {
        case "cancelled": self = .cancelled
        case "closed": self = .closed
        case "noClient": self = .noClient
        case "backoff": self = .backoff(try members.decodeSeconds(forKey: .seconds) ?? .zero)
        case "offline": self = .offline(reason: text)
        case "unavailable": self = .unavailable(reason: text)
        case "timedOut": self = .timedOut(reason: text)
        case "notAllowed": self = .notAllowed(reason: text)
        case "untrusted": self = .untrusted(reason: text)
        case "rejected": self = .rejected(reason: text)
        case "storage": self = .storage(reason: text)
        case "invalidName": self = .invalidName(reason: text)
        case "notFound": self = .notFound(reason: text)
        default: self = .other(reason: text)
        }
    }

    /// Encodes the error's code and description, and the duration of a backoff.
    public func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: CodingKeys.self)
        try members.encode(code, forKey: .code)
        if case .backoff(let pause) = self { try members.encodeSeconds(pause, forKey: .seconds) }
        try members.encode(description, forKey: .text)
    }

    private var code: String {
        switch self {
        case .cancelled: "cancelled"
        case .closed: "closed"
        case .noClient: "noClient"
        case .offline: "offline"
        case .unavailable: "unavailable"
        case .timedOut: "timedOut"
        case .notAllowed: "notAllowed"
        case .backoff: "backoff"
        case .untrusted: "untrusted"
        case .rejected: "rejected"
        case .storage: "storage"
        case .invalidName: "invalidName"
        case .notFound: "notFound"
        case .other: "other"
        }
    }
}

private func lastComponent(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

extension KeyedEncodingContainer {
    fileprivate mutating func encodeSeconds(_ duration: Duration?, forKey key: Key) throws {
        try encodeIfPresent(duration.map { Double($0.wholeMilliseconds) / 1000 }, forKey: key)
    }
}

extension KeyedDecodingContainer {
    /// Decodes a duration in seconds, rounded to milliseconds and clamped to the range of `Int64`.
    fileprivate func decodeSeconds(forKey key: Key) throws -> Duration? {
        guard let seconds = try decodeIfPresent(Double.self, forKey: key) else { return nil }
        let milliseconds = (seconds * 1000).rounded()
        return .milliseconds(Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max))
    }
}
