import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// One state of a collection in the storage directory, as described in the index. This information is not verified.
package struct StoredState: Hashable, Sendable {
    /// The SHA-256 of the state's file, which is also the file's name.
    let file: SHA256Digest
    /// The size of the file in bytes.
    let size: Int
    /// The identity of the state.
    let state: StateTrial.State
    /// The server that the state came from.
    let server: String
    /// The root of the certificate chain that signs the state; `nil` if it is not signed.
    let root: SHA256Digest?

    var timestamp: Timestamp { state.timestamp }
    var standing: Standing { Standing(timestamp, root == nil ? .unsigned : .signed, root: root) }
}

/// All mutable data in the storage directory: `index.json`, which is replaced as a whole.
///
/// Anyone who can write to the directory can write an index. The index determines which files are read, in which order,
/// and which states are skipped, but a snapshot is trusted only after its signature has been verified.
package struct StorageIndex: Hashable, Sendable {
    /// The states of a collection for one use, and the record of how well the app has started with them.
    package struct Slot: Hashable, Sendable {
        package var current: StoredState?
        /// The state replaced by `current`, as long as the app may roll back to it or some of its attachments may be
        /// useful.
        package var previous: StoredState?
        package var trial = StateTrial()

        /// Returns whether both slots have the same states.
        func hasSameStates(as other: Slot) -> Bool { current == other.current && previous == other.previous }

        package func isCurrent(_ snapshot: Snapshot) -> Bool { current?.state == StateTrial.State(snapshot) }
    }

    /// The contents of states, by their hashes. Only the hashes are compared.
    struct Contents: Hashable, Sendable {
        private var bytes: [SHA256Digest: Bytes] = [:]

        var files: Dictionary<SHA256Digest, Bytes>.Keys { bytes.keys }

        subscript(file: SHA256Digest) -> Bytes? {
            get { bytes[file] }
            set { bytes[file] = newValue }
        }

        /// Returns the contents of the files that satisfy a condition.
        func filtered(_ isIncluded: (SHA256Digest) -> Bool) -> Self {
            Self(bytes: bytes.filter { isIncluded($0.key) })
        }

        static func == (left: Self, right: Self) -> Bool { left.files == right.files }

        func hash(into hasher: inout Hasher) { hasher.combine(Set(files)) }
    }

    /// The newest signed state of a collection that was ever stored under one root. This record itself is not signed.
    struct Newest: Hashable, Sendable {
        let root: SHA256Digest
        let timestamp: Timestamp
        /// The time when a sync first refused a verified state of the server because of this record, while no stored
        /// state proved it.
        var contradicted: Timestamp?

        /// Whether the record no longer counts: for a day, it has kept back the states of a server that may be honest.
        func isRefuted(at now: Timestamp) -> Bool {
            contradicted.map { $0 <= now && now.elapsed(since: $0) >= .seconds(86_400) } ?? false
        }
    }

    /// A collection in one environment.
    package struct Collection: Hashable, Sendable {
        /// The states stored by syncs.
        package var synced = Slot()
        /// The states activated by remote config.
        package var activated = Slot()
        /// The time when the content of the current synced state was last hashed or verified.
        var checked: Timestamp?
        /// The file of the current synced state, if a read has refused it. A sync then does not count it as stored
        /// unless it verifies the state itself.
        var refused: SHA256Digest?
        /// The newest signed states, one for each root, newest last.
        var newest: [Newest] = []
        /// The attachments that are kept even if no record refers to them.
        var kept: Set<SHA256Digest> = []

        var isEmpty: Bool { self == Collection() }

        var states: [StoredState] {
            [synced.current, synced.previous, activated.current, activated.previous].compactMap(\.self)
        }
    }

    /// The collections, by ``key(of:in:)``.
    var collections: [String: Collection] = [:]
    /// The data of remote config, in its own format, by collection. The key has the suffix `@override` for data stored
    /// while a local file replaces the collection.
    package var configs: [String: JSONValue] = [:]
    /// The times of scheduled syncs. The key is the collection's name for remote config, and empty for the service.
    var schedules: [String: ScheduleTimes] = [:]
    var journal: SyncJournal?
    /// The backoffs that servers have requested, with the times when they expire.
    var backoff = BackoffState()
    /// Information about failed connections to the update channel, for the next start.
    var updates: KeptConnection?
    /// Whether the file contained the catalogue of a version before 1.0. It is dropped when the file is next written.
    private(set) var hasRetired = false
    /// The content of states that are not in the directory, because they are about to be written or could not be. It
    /// is not in the file.
    var unsaved = Contents()

    package subscript(key: String) -> Collection {
        get { collections[key] ?? Collection() }
        set { collections[key] = newValue.isEmpty ? nil : newValue }
    }

    /// Returns the key of a collection in an environment.
    ///
    /// The states of each environment are separate: staging and production may share a root, and alternating
    /// configurations of one directory must not replace each other's states.
    ///
    /// - Parameter environment: the server.
    static func key(of id: CollectionID, in environment: String) -> String { "\(id)@\(environment)" }

    /// Returns all keys of a collection, in any order.
    private func keys(of id: CollectionID) -> [String] {
        let prefix = Self.key(of: id, in: "")
        return collections.keys.filter { $0.hasPrefix(prefix) }
    }

    /// Returns the environments of a collection, in a fixed order. Their number is limited, because a forged index may
    /// contain more than the library stores.
    func environments(of id: CollectionID) -> [(key: String, collection: Collection)] {
        keys(of: id).sorted().prefix(Self.mostEnvironments * 2).map { ($0, self[$0]) }
    }

    /// The files of all states that the index refers to.
    var states: Set<SHA256Digest> { Set(collections.values.flatMap(\.states).map(\.file)) }

    /// Whether the index must survive a power failure: it contains data that neither a server nor the stored states can
    /// restore.
    var mustSurvive: Bool {
        !configs.isEmpty
            || collections.values.contains {
                !$0.synced.trial.rejected.isEmpty || !$0.activated.trial.rejected.isEmpty
            }
    }

    /// The collections with stored data, sorted.
    var ids: [CollectionID] {
        Set(
            collections.keys.compactMap { key in
                try? CollectionID(String(key.prefix { $0 != "@" }))
            }
        ).sorted()
    }

    /// Removes all data of a collection.
    mutating func remove(_ id: CollectionID) {
        for key in keys(of: id) { collections[key] = nil }
        for key in ["\(id)", "\(id)@override"] { configs[key] = nil }
        schedules["\(id)"] = nil
    }

    /// Removes the environments of a collection that were synced longest ago, because a developer may try many servers.
    mutating func forgetOldEnvironments(of id: CollectionID, besides key: String) {
        let others = keys(of: id).filter { $0 != key && self[$0].synced.current != nil }
            .sorted { (self[$0].checked?.milliseconds ?? 0, $1) > (self[$1].checked?.milliseconds ?? 0, $0) }
        for old in others.dropFirst(Self.mostEnvironments - 1) { collections[old] = nil }
    }

    private static let mostEnvironments = 4
}

extension StorageIndex.Collection {
    private static let mostRoots = 8

    /// Records a signed state that was stored, so that no older state is accepted from a server later.
    mutating func record(_ new: StorageIndex.Newest) {
        newest = (newest.filter { $0.root != new.root } + [new]).suffix(Self.mostRoots)
    }
}

// MARK: - The file

extension StorageIndex {
    static let format: UInt64 = 1
    /// The maximum size of the file in bytes.
    static let mostBytes = 32 << 20
    /// The maximum number of JSON values in the file. A hundred collections have about ten thousand.
    private static let mostValues = 1 << 18

    /// Parses an index. A member that cannot be parsed is treated as missing.
    ///
    /// - Throws: `Failure`, or `Failure` if the content is not an index (`malformed`) or has a later format
    ///   (`unknownVersion`).
    init(parsing content: Bytes) throws {
        let json = try JSONValue(parsing: content, values: Self.mostValues)
        guard let format = json["format"]?.number?.uint64 else {
            throw Failure.index(
                .malformed, "not the index of a storage directory", remedy: "the next sync creates a new one")
        }
        guard format <= Self.format else {
            throw Failure.index(
                .unknownVersion,
                "expected format \(Self.format), found \(format), written by a newer version of the library",
                remedy: "the storage directory is left unchanged")
        }
        for (key, value) in json.members("collections") {
            // Its environment is the name of a publisher, not the URL of a server.
            if key.hasPrefix("publisher/catalogue@"), !key.contains("://") {
                hasRetired = true
            } else {
                self[key] = Collection(value)
            }
        }
        for (key, value) in json.members("configs") { configs[key] = value }
        for (key, value) in json.members("schedules") { schedules[key] = ScheduleTimes(value) }
        journal = json["journal"].flatMap(SyncJournal.init)
        backoff = BackoffState(
            json.members("backoff").compactMap { key, value in
                value.number?.uint64.map { .init(origin: key, until: Timestamp(milliseconds: $0)) }
            })
        updates = json["updates"].flatMap(KeptConnection.init)
    }

    /// Returns the content of the file.
    ///
    /// - Throws: `Failure` if a reader would refuse it, and would then rebuild the index without everything that
    ///   only the index contains.
    func content() throws(Failure) -> Bytes {
        let content = bytes
        do {
            _ = try StorageIndex(parsing: content)
        } catch {
            throw Failure.index(
                .overLimit, "cannot be written, because no reader would accept it: \(error)",
                remedy: "remove unused collections and attachments with resetStorage()")
        }
        return content
    }

    var bytes: Bytes {
        Bytes(
            JSONText.compact(
                .members([
                    "format": .count(Self.format), "collections": .object(collections, \.json),
                    "configs": configs.isEmpty ? nil : .object(configs, \.self),
                    "schedules": .object(schedules, \.json), "journal": journal?.json,
                    "backoff": .object(backoff.holds.map { .init(key: $0.origin, value: .time($0.until)) }),
                    "updates": updates?.json,
                ])))
    }
}

extension Failure {
    /// Returns an error for an index that cannot be used.
    fileprivate static func index(_ code: Failure.Code, _ problem: String, remedy: String) -> Self {
        Self(code, file: "index.json", found: problem, remedy: remedy)
    }
}

extension StorageIndex.Collection {
    fileprivate init(_ json: JSONValue) {
        synced = .init(json["synced"])
        activated = .init(json["activated"])
        checked = json.time("checked")
        refused = json.digest("refused")
        newest = (json["newest"]?.array ?? []).compactMap(StorageIndex.Newest.init).suffix(Self.mostRoots)
        kept = Set((json["kept"]?.array ?? []).compactMap { $0.string.flatMap { SHA256Digest(hex: $0) } })
    }

    fileprivate var json: JSONValue {
        .members([
            "synced": synced.json, "activated": activated.json, "checked": checked.map { .time($0) },
            "refused": refused.map { .string($0.hex) },
            "newest": newest.isEmpty ? nil : .array(newest.map(\.json)),
            "kept": kept.isEmpty ? nil : .array(kept.map(\.hex).sorted().map { .string($0) }),
        ])
    }
}

extension StorageIndex.Slot {
    fileprivate init(_ json: JSONValue?) {
        current = json?["current"].flatMap(StoredState.init)
        previous = json?["previous"].flatMap(StoredState.init)
        trial = json?["trial"].map(StateTrial.init) ?? StateTrial()
    }

    fileprivate var json: JSONValue? {
        guard self != StorageIndex.Slot() else { return nil }
        return .members([
            "current": current?.json, "previous": previous?.json,
            "trial": trial == StateTrial() ? nil : trial.json,
        ])
    }
}

extension StoredState {
    fileprivate init?(_ json: JSONValue) {
        guard let file = json.digest("file"), let size = json["size"]?.number?.int64.flatMap({ Int(exactly: $0) }),
            size >= 0, let state = StateTrial.State(json), let server = json["server"]?.string
        else { return nil }
        self.init(file: file, size: size, state: state, server: server, root: json.digest("root"))
    }

    fileprivate var json: JSONValue {
        .members([
            "timestamp": .time(timestamp), "payload": .string(state.payload.hex), "file": .string(file.hex),
            "size": .count(size), "server": .string(server), "root": root.map { .string($0.hex) },
        ])
    }
}

extension StorageIndex.Newest {
    fileprivate init?(_ json: JSONValue) {
        guard let root = json.digest("root"), let time = json.time("timestamp") else { return nil }
        self.init(root: root, timestamp: time, contradicted: json.time("contradicted"))
    }

    fileprivate var json: JSONValue {
        .members([
            "root": .string(root.hex), "timestamp": .time(timestamp), "contradicted": contradicted.map { .time($0) },
        ])
    }
}

extension JSONValue {
    static func time(_ timestamp: Timestamp) -> JSONValue { .count(timestamp.milliseconds) }

    static func object<Value>(_ values: [String: Value], _ json: (Value) -> JSONValue) -> JSONValue {
        .object(
            values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
                .map { .init(key: $0.key, value: json($0.value)) })
    }

    /// Returns the members of the object in a member; none if the member is missing or not an object.
    func members(_ key: String) -> [(key: String, value: JSONValue)] {
        guard case .object(let members)? = self[key] else { return [] }
        return members.map { ($0.key, $0.value) }
    }

    func time(_ key: String) -> Timestamp? { self[key]?.number?.uint64.map(Timestamp.init(milliseconds:)) }

    func count(_ key: String) -> Int { Int(clamping: self[key]?.number?.uint64 ?? 0) }

    func digest(_ key: String) -> SHA256Digest? { self[key]?.string.flatMap { SHA256Digest(hex: $0) } }
}

/// A server, without the version of its protocol: `/v1` and `/v2` of one server have the same collections.
package struct ServerIdentity: Hashable, Sendable, CustomStringConvertible {
    package let description: String
    /// Whether the description is a server's URL. An imported bundle may contain any string here; it is then accepted
    /// for every server.
    let isServer: Bool

    init(_ server: ServerURL) {
        (description, isServer) = (server.withoutVersion, true)
    }

    /// Creates an identity.
    ///
    /// - Parameter text: a server's URL, as written in a lock file or cache file.
    init(_ text: String) {
        let server = try? ServerURL(text, allowPlainHTTP: true)
        (description, isServer) = (server?.withoutVersion ?? text, server != nil)
    }
}

/// The times of a schedule of syncs.
package struct ScheduleTimes: Hashable, Sendable {
    let server: String
    /// The time when the last sync finished in which no collection failed.
    var synced: Timestamp?
    /// The start time of the last sync.
    var begun: Timestamp?
    /// The number of syncs that have started since the last successful one.
    var failures = 0
    /// The random delay, in thousandths of its maximum.
    var chance = 0
}

extension ScheduleTimes {
    init(_ json: JSONValue) {
        self.init(
            server: json["server"]?.string ?? "", synced: json.time("synced"), begun: json.time("begun"),
            failures: json.count("failures"), chance: json.count("chance"))
    }

    var json: JSONValue {
        .members([
            "server": .string(server), "synced": synced.map { .time($0) }, "begun": begun.map { .time($0) },
            "failures": .count(failures), "chance": .count(chance),
        ])
    }
}

/// The data about failed connections in the index. The time is by this device's clock.
package struct KeptConnection: Hashable, Sendable {
    let channel: String
    let failures: Int
    let next: Timestamp?
    let isAsked: Bool
}

extension KeptConnection {
    init?(_ json: JSONValue) {
        guard let channel = json["channel"]?.string else { return nil }
        self.init(
            channel: channel, failures: json.count("failures"), next: json.time("next"),
            isAsked: json["isAsked"] == .bool(true))
    }

    var json: JSONValue {
        .members([
            "channel": .string(channel), "failures": .count(failures), "next": next.map { .time($0) },
            "isAsked": .bool(isAsked),
        ])
    }
}
