import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// One state of a collection in the storage directory, as the index names it. Nothing of it is verified.
package struct StoredState: Hashable, Sendable {
    /// The SHA-256 of its file, which is the file's name.
    let file: SHA256Digest
    /// The size of its file in bytes.
    let size: Int
    /// Which state it is.
    let state: StateTrial.State
    /// The server that it came from.
    let server: String
    /// The root that vouches for it; `nil` if it is not signed.
    let root: SHA256Digest?

    var timestamp: Timestamp { state.timestamp }
}

/// Everything in the storage directory that changes: `index.json`, replaced as a whole.
///
/// Anyone who can write to the directory can write an index. It says which files are looked at, in which order, and
/// what is not used; a snapshot is believed only after its signature has been verified.
package struct StorageIndex: Hashable, Sendable {
    /// The states of a collection in one use, and how they have fared with this app.
    package struct Slot: Hashable, Sendable {
        package var current: StoredState?
        /// What `current` has replaced, as long as the app may go back to it or some of its attachments may be of use.
        package var previous: StoredState?
        package var trial = StateTrial()

        /// Whether both have the same states.
        func hasSameStates(as other: Slot) -> Bool { current == other.current && previous == other.previous }

        package func isCurrent(_ snapshot: Snapshot) -> Bool { current?.state == StateTrial.State(snapshot) }
    }

    /// The newest signed state of a collection that was ever stored under one root. Nothing signs this note.
    struct Newest: Hashable, Sendable {
        let root: SHA256Digest
        let timestamp: Timestamp
        /// A catalogue's number, and when the certificate that signed it became valid.
        var number: UInt64?
        var certificate: Timestamp?
    }

    /// A collection of one environment.
    package struct Collection: Hashable, Sendable {
        /// What syncs have stored.
        package var synced = Slot()
        /// What remote config has activated.
        package var activated = Slot()
        /// When the content of the current synced state was last hashed or verified.
        var checked: Timestamp?
        /// One for each root, newest last.
        var newest: [Newest] = []
        /// The attachments that stay even if no record has them.
        var kept: Set<SHA256Digest> = []

        var isEmpty: Bool { self == Collection() }

        var states: [StoredState] {
            [synced.current, synced.previous, activated.current, activated.previous].compactMap(\.self)
        }
    }

    /// By ``key(of:in:)``.
    var collections: [String: Collection] = [:]
    /// What remote config remembers, in a form of its own, by the collection. `@override` follows its name for what is
    /// remembered while a file replaces it.
    package var configs: [String: JSONValue] = [:]
    /// The times of scheduled syncs: of a collection in remote config by its name, of the service by an empty name.
    var schedules: [String: SyncSchedule.Times] = [:]
    var journal: SyncJournal?
    /// Which servers asked for no requests, and until when.
    var backoff = BackoffState()
    /// What the next start must know about failed connections to the update channel.
    var updates: UpdateFollower.Kept?

    package subscript(key: String) -> Collection {
        get { collections[key] ?? Collection() }
        set { collections[key] = newValue.isEmpty ? nil : newValue }
    }

    /// Each environment's states are on their own: staging and production may share a root, and configurations that
    /// alternate on one directory must not replace each other's states.
    ///
    /// - Parameter environment: the server; for a catalogue its publisher, so that the number of one is a minimum for
    ///   later ones, whichever mirror they come from.
    static func key(of id: CollectionID, in environment: String) -> String { "\(id)@\(environment)" }

    /// The keys of a collection, in any order.
    private func keys(of id: CollectionID) -> [String] {
        let prefix = Self.key(of: id, in: "")
        return collections.keys.filter { $0.hasPrefix(prefix) }
    }

    /// The environments of a collection, in a certain order. A forged index may have more of them than are kept.
    func environments(of id: CollectionID) -> [(key: String, collection: Collection)] {
        keys(of: id).sorted().prefix(Self.mostEnvironments * 2).map { ($0, self[$0]) }
    }

    /// The files of all states that something refers to.
    var states: Set<SHA256Digest> { Set(collections.values.flatMap(\.states).map(\.file)) }

    /// Those of them that are catalogues.
    var catalogueStates: Set<SHA256Digest> {
        Set(keys(of: Catalogue.collection).flatMap { self[$0].states }.map(\.file))
    }

    /// Whether a failure of the machine must not lose it: it has something that no server and no state can give back.
    var mustSurvive: Bool {
        !configs.isEmpty
            || collections.values.contains {
                !$0.synced.trial.setAside.isEmpty || !$0.activated.trial.setAside.isEmpty
            }
    }

    /// The collections that have something stored, sorted.
    var ids: [CollectionID] {
        Set(
            collections.keys.compactMap { key in
                try? CollectionID(String(key.prefix { $0 != "@" }))
            }
        ).sorted()
    }

    /// Forgets everything that is stored of a collection.
    mutating func remove(_ id: CollectionID) {
        for key in keys(of: id) { collections[key] = nil }
        for key in ["\(id)", "\(id)@override"] { configs[key] = nil }
        schedules["\(id)"] = nil
    }

    /// Forgets the environments of a collection that were synced longest ago: a developer may try many servers.
    mutating func forgetOldEnvironments(of id: CollectionID, besides key: String) {
        let others = keys(of: id).filter { $0 != key && self[$0].synced.current != nil }
            .sorted { (self[$0].checked?.milliseconds ?? 0, $1) > (self[$1].checked?.milliseconds ?? 0, $0) }
        for old in others.dropFirst(Self.mostEnvironments - 1) { collections[old] = nil }
    }

    private static let mostEnvironments = 4
}

extension StorageIndex.Collection {
    private static let mostRoots = 8

    /// Notes a signed state that was stored, so that nothing older is taken from a server later.
    mutating func record(_ new: StorageIndex.Newest) {
        newest = (newest.filter { $0.root != new.root } + [new]).suffix(Self.mostRoots)
    }
}

// MARK: - The file

extension StorageIndex {
    static let format: UInt64 = 1
    /// The most bytes that the file may have.
    static let mostBytes = 32 << 20
    /// A hundred collections have some ten thousand.
    private static let mostValues = 1 << 18

    /// - Throws: `FormatError`, or `BundleError` if it is not an index (`malformed`), or is one of a later format
    ///   (`unknownVersion`). A member that cannot be read counts as missing.
    init(parsing content: Bytes) throws {
        var limits = Limits()
        limits.jsonValues = Self.mostValues
        let json = try JSONValue(parsing: content, limits: limits)
        guard let format = json["format"]?.number?.uint64 else {
            throw BundleError.index(
                .malformed, "not the index of a storage directory", remedy: "the next sync creates a new one")
        }
        guard format <= Self.format else {
            throw BundleError.index(
                .unknownVersion,
                "expected format \(Self.format), found \(format), written by a newer version of the library",
                remedy: "the storage directory is left unchanged")
        }
        for (key, value) in json.members("collections") { self[key] = Collection(value) }
        for (key, value) in json.members("configs") { configs[key] = value }
        for (key, value) in json.members("schedules") { schedules[key] = SyncSchedule.Times(value) }
        journal = json["journal"].flatMap(SyncJournal.init)
        backoff = BackoffState(
            json.members("backoff").compactMap { key, value in
                value.number?.uint64.map { .init(origin: key, until: Timestamp(milliseconds: $0)) }
            })
        updates = json["updates"].flatMap(UpdateFollower.Kept.init)
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

extension BundleError {
    /// The index of a storage directory cannot be used as it is.
    fileprivate static func index(_ code: FailureCode, _ problem: String, remedy: String) -> Self {
        Self(code, file: "index.json", found: problem, remedy: remedy)
    }
}

extension StorageIndex.Collection {
    fileprivate init(_ json: JSONValue) {
        synced = .init(json["synced"])
        activated = .init(json["activated"])
        checked = json.time("checked")
        newest = (json["newest"]?.array ?? []).compactMap(StorageIndex.Newest.init).suffix(Self.mostRoots)
        kept = Set((json["kept"]?.array ?? []).compactMap { $0.string.flatMap { SHA256Digest(hex: $0) } })
    }

    fileprivate var json: JSONValue {
        .members([
            "synced": synced.json, "activated": activated.json, "checked": checked.map { .time($0) },
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
        self.init(
            root: root, timestamp: time, number: json["number"]?.number?.uint64, certificate: json.time("certificate"))
    }

    fileprivate var json: JSONValue {
        .members([
            "root": .string(root.hex), "timestamp": .time(timestamp),
            "number": number.map { .count($0) }, "certificate": certificate.map { .time($0) },
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

    /// The members of a member that is an object.
    func members(_ key: String) -> [(key: String, value: JSONValue)] {
        guard case .object(let members)? = self[key] else { return [] }
        return members.map { ($0.key, $0.value) }
    }

    func time(_ key: String) -> Timestamp? { self[key]?.number?.uint64.map(Timestamp.init(milliseconds:)) }

    func count(_ key: String) -> Int { Int(clamping: self[key]?.number?.uint64 ?? 0) }

    func digest(_ key: String) -> SHA256Digest? { self[key]?.string.flatMap { SHA256Digest(hex: $0) } }
}
