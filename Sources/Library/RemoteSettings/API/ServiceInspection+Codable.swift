import RemoteSettingsModel

// Apps encode these types, and a fleet's collector decodes them. Points in time are milliseconds since 1970. Durations
// are seconds, with up to three decimals. A member whose value is `nil` is left out, and unknown members, such as those
// of a later version, are ignored.

extension ServiceInspection: Codable {
    private enum CodingKeys: String, CodingKey {
        case server, preview, storage, lastSuccess, clockSkewSeconds, backoffUntil, collections
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
        try encoder.encode(members: [
            "server": server, "preview": isPreview, "storage": lastComponent(of: storage), "lastAttempt": lastAttempt,
            "lastSuccess": lastCheck, "clockSkewSeconds": clockSkew?.inSeconds, "backoffUntil": backoffUntil,
            "collections": collections,
        ])
    }
}

extension ServiceInspection.Collection: Codable {
    private enum CodingKeys: String, CodingKey {
        case serverTimestamp, lastSuccess, failures, hasClient
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
        try encoder.encode(members: [
            "serverTimestamp": serverTimestamp, "lastAttempt": lastAttempt, "lastSuccess": lastSuccess,
            "failures": failures, "error": lastError, "pinned": isPinned, "behindSeconds": behind?.inSeconds,
            "hasClient": hasClient,
        ])
    }
}

extension CollectionStatus: Codable {
    private enum CodingKeys: String, CodingKey {
        case collection, source, timestamp, ageSeconds, records, provenance, verifiedOnDevice, unused
        case recentFailure, unevaluatedRecords
    }

    /// Decodes a status that another process has encoded. The paths of sources consist of the last component only.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        collection = try members.decode(String.self, forKey: .collection)
        source = try members.decode(Source.self, forKey: .source)
        timestamp = try members.decodeIfPresent(Timestamp.self, forKey: .timestamp)
        age = try members.decodeSeconds(forKey: .ageSeconds)
        recordCount = try members.decodeIfPresent(Int.self, forKey: .records)
        provenance = try members.decodeIfPresent(Provenance.self, forKey: .provenance)
        isVerifiedOnDevice = try members.decode(Bool.self, forKey: .verifiedOnDevice)
        unused = try members.decode([Unused].self, forKey: .unused)
        recentFailure = try members.decodeIfPresent(RecentFailure.self, forKey: .recentFailure)
        unevaluatedRecords = try members.decodeIfPresent(Int.self, forKey: .unevaluatedRecords) ?? 0
    }

    /// Encodes the status. Only the last component of each path is encoded, because a path may contain a user's name.
    public func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "collection": collection, "source": source, "timestamp": timestamp, "ageSeconds": age?.inSeconds,
            "records": recordCount, "provenance": provenance, "verifiedOnDevice": isVerifiedOnDevice, "unused": unused,
            "recentFailure": recentFailure, "unevaluatedRecords": unevaluatedRecords > 0 ? unevaluatedRecords : nil,
        ])
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
        let (kind, name): (String, String?) =
            switch self {
            case .cached: ("cached", nil)
            case .packaged(let name): ("packaged", name)
            case .override(let path): ("override", path)
            case .noSnapshot: ("none", nil)
            case .unknown(let kind): (kind, nil)
            }
        try encoder.encode(members: ["kind": kind, "name": name.map(lastComponent(of:))])
    }
}

extension CollectionStatus.Unused.Reason: Codable {
    private enum CodingKeys: String, CodingKey { case code, found, expected, why, text }
    private typealias Members = (CodingKeys) throws -> String

    private static let codes: [(code: String, make: @Sendable (Members) throws -> Self)] = [
        ("older", { _ in .older }),
        ("otherServer", { .otherServer(found: try $0(.found), expected: try $0(.expected)) }),
        ("otherBucket", { .otherBucket(found: try $0(.found)) }),
        ("unsigned", { _ in .unsigned }),
        ("signatureLost", { _ in .signatureLost }),
        ("notTrusted", { .notTrusted(try $0(.why)) }),
        ("notFound", { _ in .notFound }),
        ("invalidName", { .invalidName(try $0(.why)) }),
        ("damaged", { .damaged(try $0(.why)) }),
        ("failedInApp", { .failedInApp(try $0(.why)) }),
        ("packagedOnly", { _ in .packagedOnly }),
        ("unreadableSource", { .unreadableSource(try $0(.why)) }),
    ]

    /// Decodes a reason. A reason that only a later version has is decoded as ``unknown(_:)``.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let code = try members.decode(String.self, forKey: .code)
        let known = Self.codes.first { $0.code == code }
        self =
            try known?.make { try members.decode(String.self, forKey: $0) }
            ?? .unknown(try members.decodeIfPresent(String.self, forKey: .text) ?? code)
    }

    /// Encodes the reason's code, its associated values, and its description.
    public func encode(to encoder: any Encoder) throws {
        let values: [CodingKeys: String] =
            switch self {
            case .otherServer(let found, let expected): [.found: found, .expected: expected]
            case .otherBucket(let found): [.found: found]
            case .notTrusted(let why), .invalidName(let why), .damaged(let why), .failedInApp(let why),
                .unreadableSource(let why):
                [.why: why]
            default: [:]
            }
        let known = try Self.codes.first { known in try known.make { values[$0] ?? "" } == self }
        try encoder.encode(members: [
            "code": known?.code ?? "unknown", "found": values[.found], "expected": values[.expected],
            "why": values[.why], "text": description,
        ])
    }
}

extension RemoteSettingsError: Codable {
    private enum CodingKeys: String, CodingKey { case code, seconds, text }

    private static let codes: [(code: String, make: @Sendable (_ text: String, _ pause: Duration) -> Self)] = [
        ("cancelled", { _, _ in .cancelled }), ("closed", { _, _ in .closed }), ("noClient", { _, _ in .noClient }),
        ("backoff", { _, pause in .backoff(pause) }), ("offline", { text, _ in .offline(reason: text) }),
        ("unavailable", { text, _ in .unavailable(reason: text) }),
        ("timedOut", { text, _ in .timedOut(reason: text) }), ("notAllowed", { text, _ in .notAllowed(reason: text) }),
        ("untrusted", { text, _ in .untrusted(reason: text) }), ("rejected", { text, _ in .rejected(reason: text) }),
        ("storage", { text, _ in .storage(reason: text) }), ("invalidName", { text, _ in .invalidName(reason: text) }),
        ("notFound", { text, _ in .notFound(reason: text) }), ("other", { text, _ in .other(reason: text) }),
    ]

    /// Decodes an error. An error that only a later version has is decoded as ``other(reason:)``.
    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        let text = try members.decode(String.self, forKey: .text)
        let code = try members.decode(String.self, forKey: .code)
        let pause = try members.decodeSeconds(forKey: .seconds) ?? .zero
        self = Self.codes.first { $0.code == code }?.make(text, pause) ?? .other(reason: text)
    }

    /// Encodes the error's code and description, and the duration of a backoff.
    public func encode(to encoder: any Encoder) throws {
        let pause: Duration? = if case .backoff(let pause) = self { pause } else { nil }
        let known = Self.codes.first { $0.make(description, pause ?? .zero) == self }
        try encoder.encode(members: ["code": known?.code ?? "other", "seconds": pause?.inSeconds, "text": description])
    }
}

private func lastComponent(of path: String) -> String { path.split(separator: "/").last.map(String.init) ?? path }

extension Duration {
    fileprivate var inSeconds: Double { Double(wholeMilliseconds) / 1000 }
}

extension KeyedDecodingContainer {
    /// Decodes a duration in seconds, rounded to milliseconds and clamped to the range of `Int64`.
    fileprivate func decodeSeconds(forKey key: Key) throws -> Duration? {
        guard let seconds = try decodeIfPresent(Double.self, forKey: key) else { return nil }
        let milliseconds = (seconds * 1000).rounded()
        return .milliseconds(Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max))
    }
}
