import RemoteSettingsModel

/// Which records a read returns, in which order, and what it does first.
///
///     let query = RecordQuery(where: ["platform": .string("ios")], order: .descending("priority"), sync: .ifEmpty)
///     let records = try await client.fetchRecords(query)
public struct RecordQuery: Hashable, Sendable {
    /// Whether a read syncs first, over the network.
    ///
    /// Open: a later version may add cases, so a `switch` needs a `default`.
    public enum Sync: Hashable, Sendable {
        /// Never.
        case never
        /// If nothing is held.
        ///
        /// A sync that has just failed is not repeated: its error comes at once, for at most a minute, until the time
        /// in ``CollectionStatus/recentFailure``. `sync()` asks the server at any time, and
        /// ``RemoteSettingsService/networkChanged()`` ends the pause.
        case ifEmpty
        /// Always, even if something is held.
        case always
    }

    /// What a read returns if it cannot have the records that it wants, because the sync failed or there are none.
    ///
    /// Open: a later version may add cases, so a `switch` needs a `default`.
    public enum Fallback: Hashable, Sendable {
        /// Nothing: the error is thrown, even if older records are held.
        case error
        /// What is held; if nothing is, the error is thrown.
        case held
        /// What is held; if nothing is, an empty list.
        case emptyList
    }

    /// The order of records by one field.
    ///
    /// Records without the field come first. Then follow those whose field is null, a boolean, a number, a text (by
    /// code point), or anything else. Records with equal fields are sorted by id.
    public struct Order: Hashable, Sendable {
        /// The field's name.
        public var field: String
        /// Whether the highest value comes first.
        public var isDescending: Bool

        /// The lowest value first.
        public static func ascending(_ field: String) -> Order { Order(field: field, isDescending: false) }

        /// The highest value first.
        public static func descending(_ field: String) -> Order { Order(field: field, isDescending: true) }
    }

    /// The fields that a record must have, with their values.
    ///
    /// Numbers are compared by value. An array matches any one of its elements. An object matches a field that is an
    /// object and has these members.
    public var filters: [String: RemoteSettingsJSON]
    /// The order of the records; `nil` for the order of their ids.
    public var order: Order?
    /// Whether to sync first.
    public var sync: Sync
    /// What to return if the wanted records are not available.
    public var fallback: Fallback
    /// Whether a read may return packaged records that its own sync has not confirmed as the server's current state.
    ///
    /// If it is `false`, a read that does not sync returns what an earlier sync has stored, even if a packaged state is
    /// newer.
    public var usesPackaged: Bool

    /// Makes a query. Each parameter is the property of the same name. The default is everything that is held, without
    /// a sync.
    public init(
        where filters: [String: RemoteSettingsJSON] = [:], order: Order? = nil, sync: Sync = .never,
        fallback: Fallback = .held,
        usesPackaged: Bool = true
    ) {
        self.filters = filters
        self.order = order
        self.sync = sync
        self.fallback = fallback
        self.usesPackaged = usesPackaged
    }
}

extension RemoteSettingsClient {
    /// The records that match a query and are meant for this app.
    ///
    /// Uses the network only if the query says so. Does I/O as ``getRecords()`` does.
    ///
    /// - Throws: ``RemoteSettingsError`` if there are no records and the query's fallback does not help.
    public func fetchRecords(_ query: RecordQuery) async throws(RemoteSettingsError) -> [RemoteSettingsRecord] {
        let collection = try collection()
        if query.sync != .always, let records = collection.records(usesPackaged: query.usesPackaged) {
            return query.selection(of: records)
        }
        var failure = RemoteSettingsError.notHeld(
            reason: "\(collection.id): no records yet; sync the collection, or package it with the app")
        if query.sync != .never {
            do throws(RemoteSettingsError) {
                if query.sync == .always {
                    try await sync(trigger: .forced)
                } else {
                    guard !isShutDown else { throw RemoteSettingsError.closed }
                    _ = try await collection.syncIfEmpty(owner: owner).get()
                }
                // What is held now is the server's state, packaged or not.
                if let records = collection.records() { return query.selection(of: records) }
            } catch {
                failure = error
            }
        }
        guard query.fallback != .error else { throw failure }
        if let records = collection.records(usesPackaged: query.usesPackaged) { return query.selection(of: records) }
        guard query.fallback == .emptyList else { throw failure }
        return []
    }

    /// The records that match a query; `nil` if none are held.
    ///
    /// Never uses the network, whatever the query's `sync` says. Does I/O as ``getRecords()`` does.
    public func records(matching query: RecordQuery) -> [RemoteSettingsRecord]? {
        guard let records = try? collection().records(usesPackaged: query.usesPackaged) else { return nil }
        return query.selection(of: records)
    }
}

extension RecordQuery {
    /// - Parameter records: sorted by id.
    func selection(of records: [RemoteSettingsRecord]) -> [RemoteSettingsRecord] {
        let chosen =
            filters.isEmpty
            ? records : records.filter { record in filters.allSatisfy { $1.accepts(record[field: $0]) } }
        guard let order else { return chosen }
        var keyed = chosen.map { (key: $0[field: order.field], record: $0) }
        // The sort is stable.
        keyed.sort { order.isDescending ? JSONValue.precedes($1.key, $0.key) : JSONValue.precedes($0.key, $1.key) }
        return keyed.map(\.record)
    }
}

extension JSONValue {
    /// Whether a field has the value that a filter asks for.
    fileprivate func accepts(_ found: JSONValue?) -> Bool {
        switch self {
        case .array(let choices): choices.contains { $0.accepts(found) }
        case .object(let members): found != nil && members.allSatisfy { $0.value.accepts(found?[$0.key]) }
        case .number(let number): found?.number.map { number.isEqual(to: $0) } ?? false
        default: found == self
        }
    }

    fileprivate static func precedes(_ left: JSONValue?, _ right: JSONValue?) -> Bool {
        switch (left, right) {
        case (.bool(let left)?, .bool(let right)?): !left && right
        case (.number(let left)?, .number(let right)?): left.precedes(right)
        case (.string(let left)?, .string(let right)?):
            left.unicodeScalars.lexicographicallyPrecedes(right.unicodeScalars)
        default: rank(left) < rank(right)
        }
    }

    private static func rank(_ value: JSONValue?) -> Int {
        switch value {
        case nil: 0
        case .null: 1
        case .bool: 2
        case .number: 3
        case .string: 4
        case .array, .object: 5
        }
    }
}

extension JSONNumber {
    fileprivate func isEqual(to other: JSONNumber) -> Bool {
        if let mine = int64, let theirs = other.int64 { return mine == theirs }
        return double == other.double
    }

    fileprivate func precedes(_ other: JSONNumber) -> Bool {
        if let mine = int64, let theirs = other.int64 { return mine < theirs }
        return double < other.double
    }
}
