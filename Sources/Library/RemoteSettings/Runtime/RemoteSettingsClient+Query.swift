import RemoteSettingsModel

extension RemoteSettingsClient {
    /// The selection and order of the records that a read returns, and whether the read syncs first.
    ///
    ///     let records = try await client.fetchRecords(
    ///         .init(where: ["platform": "ios"], order: .descending("priority"), sync: .ifEmpty))
    public struct Query: Hashable, Sendable {
        /// Whether a read syncs over the network first.
        @nonexhaustive public enum Sync: Hashable, Sendable {
            /// Never.
            case never
            /// Only if there are no local records, that is, neither stored nor packaged ones.
            ///
            /// A sync that has just failed is not repeated: until the time in ``CollectionStatus/recentFailure``, at
            /// most a minute, a read throws the error of that sync at once. `sync()` contacts the server at any time,
            /// and
            /// ``RemoteSettingsService/networkChanged()`` allows the next read to do so.
            case ifEmpty
            /// Always, even if there are local records.
            case always
        }

        /// The result of a read whose sync failed, or that found no records.
        @nonexhaustive public enum Fallback: Hashable, Sendable {
            /// The error is thrown, even if there are older local records.
            case error
            /// The local records; if there are none, the error is thrown.
            case local
            /// The local records; if there are none, an empty array.
            case emptyList
        }

        /// The order of records by one field.
        ///
        /// Records without the field come first, followed by those whose field is null, a boolean, a number, a string
        /// (compared by code point), or anything else. Records with equal fields are sorted by id.
        public struct Order: Hashable, Sendable {
            /// The field's name.
            public var field: String
            /// Whether the highest value comes first.
            public var isDescending: Bool

            /// Returns an order with the lowest value first.
            public static func ascending(_ field: String) -> Order { Order(field: field, isDescending: false) }

            /// Returns an order with the highest value first.
            public static func descending(_ field: String) -> Order { Order(field: field, isDescending: true) }
        }

        /// The fields that a record must have, with their values.
        ///
        /// Numbers are compared by value. An array in the query matches any one of its elements. An object in the query
        /// matches a field that is an object with at least these members.
        public var filters: [String: RemoteSettingsJSON]
        /// The order of the records; `nil` to sort them by id.
        public var order: Order?
        /// Whether the read syncs first.
        public var sync: Sync
        /// The result if no records can be returned as requested.
        public var fallback: Fallback
        /// Whether a read may return packaged records before a sync has confirmed them as the server's current state.
        ///
        /// If it is `false`, a read that does not sync returns the state that an earlier sync stored, even if a
        /// packaged state is newer.
        public var usesPackaged: Bool

        /// Creates a query. Each parameter sets the property of the same name. By default, a query returns all local
        /// records without a sync.
        public init(
            where filters: [String: RemoteSettingsJSON] = [:], order: Order? = nil, sync: Sync = .never,
            fallback: Fallback = .local,
            usesPackaged: Bool = true
        ) {
            self.filters = filters
            self.order = order
            self.sync = sync
            self.fallback = fallback
            self.usesPackaged = usesPackaged
        }
    }

    /// Returns the records that match a query and this app's context.
    ///
    /// Uses the network only as required by the query's `sync`. Does I/O like ``records``.
    ///
    /// - Throws: ``RemoteSettingsError`` if the sync fails or there are no records, depending on the query's fallback.
    public func fetchRecords(_ query: Query) async throws(RemoteSettingsError) -> [RemoteSettingsRecord] {
        let collection = try collection()
        if query.sync != .always, let records = collection.records(usesPackaged: query.usesPackaged) {
            return query.selection(of: records)
        }
        var failure = RemoteSettingsError.notFound(
            reason: "\(collection.id): no records yet; sync the collection, or package it with the app")
        if query.sync != .never {
            do throws(RemoteSettingsError) {
                if query.sync == .always {
                    try await sync(trigger: .forced)
                } else {
                    guard !isShutDown else { throw RemoteSettingsError.closed }
                    _ = try await collection.syncIfEmpty(owner: owner).get()
                }
                // After the sync, the newest local state is the server's state, whether it is stored or packaged.
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

    /// Returns the local records that match a query; `nil` if there are no local records at all.
    ///
    /// Never uses the network: the query's `sync` is ignored. Does I/O like ``records``.
    public func records(matching query: Query) -> [RemoteSettingsRecord]? {
        guard let records = try? collection().records(usesPackaged: query.usesPackaged) else { return nil }
        return query.selection(of: records)
    }
}

extension RemoteSettingsClient.Query {
    /// Returns the records that match this query, in its order.
    ///
    /// - Parameter records: the records to choose from, sorted by id.
    func selection(of records: [RemoteSettingsRecord]) -> [RemoteSettingsRecord] {
        let chosen =
            filters.isEmpty
            ? records : records.filter { record in filters.allSatisfy { $1.accepts(record[field: $0]) } }
        guard let order else { return chosen }
        var keyed = chosen.map { (key: $0[field: order.field], record: $0) }
        // `sort` is stable, so records with equal fields remain sorted by id.
        keyed.sort { order.isDescending ? JSONValue.precedes($1.key, $0.key) : JSONValue.precedes($0.key, $1.key) }
        return keyed.map(\.record)
    }
}

extension JSONValue {
    /// Returns whether a field has the value required by this filter.
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
