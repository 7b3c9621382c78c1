import RemoteSettingsModel

/// One object of a list: a record, the tombstone of one, a collection's metadata, or an entry of the monitor.
struct ListedObject {
    static let timeField = "last_modified"

    let id: String
    /// The time of the last change; `nil` if the object does not state it.
    let lastModified: Timestamp?
    let json: Bytes
    let isDeleted: Bool

    init(_ record: Record) {
        self.init(id: record.id, lastModified: record.lastModified, json: record.json)
    }

    init(id: String, lastModified: Timestamp?, json: Bytes, isDeleted: Bool = false) {
        self.id = id
        self.lastModified = lastModified
        self.json = json
        self.isDeleted = isDeleted
    }

    /// The tombstone of a deleted record.
    static func tombstone(_ id: String, at time: Timestamp?) -> ListedObject {
        let member = time.map { ",\"last_modified\":\($0)" } ?? ""
        return ListedObject(
            id: id, lastModified: time, json: Bytes(utf8: "{\"deleted\":true,\"id\":\"\(id)\"\(member)}"),
            isDeleted: true)
    }

    /// The member at a path of names, which are separated by dots.
    ///
    /// A name may contain dots too. As in Kinto, the longest name that exists is taken.
    ///
    /// - Parameter parsed: parses this object's JSON. It is called only if needed, because most lists need only `id`
    ///   and `last_modified`.
    func value(_ path: String, _ parsed: () -> JSONValue) -> JSONValue? {
        switch path {
        case "id": .string(id)
        case Self.timeField: lastModified.map { .count($0.milliseconds) }
        default: Self.value(path[...], of: parsed())
        }
    }

    private static func value(_ path: Substring, of object: JSONValue) -> JSONValue? {
        if let value = object[String(path)] { return value }
        var end = path.endIndex
        while let dot = path[..<end].lastIndex(of: ".") {
            if let root = object[String(path[..<dot])] {
                guard case .object = root else { return nil }
                return value(path[path.index(after: dot)...], of: root)
            }
            end = dot
        }
        return nil
    }
}

/// A page of one of Kinto's lists: the objects that a query selects, in order, and where the next page begins.
struct ListPage {
    /// The JSON of each object.
    let objects: [Bytes]
    /// How many objects match the filters, on all pages. Deleted objects are not counted.
    let total: Int
    /// The `_token` of the next page; `nil` on the last page.
    let next: String?

    /// - Throws: `OriginProblem` (400) if the sort values are too long for the token of the next page.
    init(_ query: ListQuery, of objects: some Sequence<ListedObject>) throws(OriginProblem) {
        var chosen: [(keys: [OrderedValue], object: ListedObject)] = []
        var total = 0
        for object in objects {
            var known: JSONValue?
            func parsed() -> JSONValue {
                if let known { return known }
                let value = (try? JSONValue(parsing: object.json, limits: Limits())) ?? .null
                known = value
                return value
            }
            guard query.filters.allSatisfy({ $0.accepts(object.value($0.field, parsed)) }) else { continue }
            if !object.isDeleted { total += 1 }
            let keys = query.sorting.map { OrderedValue(object.value($0.field, parsed)) }
            if let start = query.start, !query.sorts(start, before: keys) { continue }
            chosen.append((keys, object))
        }
        chosen.sort { query.sorts($0.keys, before: $1.keys) }
        let page = chosen.prefix(query.limit ?? chosen.count)
        self.total = total
        self.objects = page.map { element in
            query.chosen(of: element.object.json)
        }
        next = page.count < chosen.count ? page.last.map { ListQuery.token($0.keys) } : nil
        // The token must fit into the head of the next request.
        if let next, next.utf8.count > 4096 {
            throw .invalid("_sort", "the values are too long to continue behind them; sort by another field")
        }
    }

}

extension Bytes {
    /// The elements of a JSON array, without its brackets.
    static func list(_ elements: [Bytes]) -> [Bytes] {
        let comma = Bytes(utf8: ",")
        return Array(elements.map { [$0] }.joined(separator: [comma]))
    }
}

extension ListQuery {
    /// An object's JSON with only the selected members.
    func chosen(of json: Bytes) -> Bytes {
        guard let fields, case .object(let members)? = try? JSONValue(parsing: json, limits: Limits()) else {
            return json
        }
        return Bytes(JSONText.compact(.object(Self.chosen(fields, of: members))))
    }

    private static func chosen(_ paths: [String], of members: [JSONValue.Member]) -> [JSONValue.Member] {
        members.compactMap { member in
            // Unlike in filters, every dot goes one level down.
            let steps = paths.map { $0.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false) }
            let here = steps.filter { $0[0] == member.key }
            guard !here.isEmpty else { return nil }
            guard case .object(let inner) = member.value, here.allSatisfy({ $0.count > 1 }) else { return member }
            return .init(key: member.key, value: .object(chosen(here.map { String($0[1]) }, of: inner)))
        }
    }

    fileprivate func sorts(_ left: [OrderedValue], before right: [OrderedValue]) -> Bool {
        for (order, (left, right)) in zip(sorting, zip(left, right)) where left != right {
            return order.isDescending ? right < left : left < right
        }
        return false
    }
}

extension ListQuery.Filter {
    /// Whether a member's value matches.
    ///
    /// - Parameter found: the value; `nil` if the object has no such member.
    fileprivate func accepts(_ found: JSONValue?) -> Bool {
        let (left, right) = (OrderedValue(found), OrderedValue(value))
        switch comparison {
        case .lt: return left < right
        case .max: return left <= right
        case .eq: return left == right
        case .not: return left != right
        case .min: return left >= right
        case .gt: return left > right
        case .isIn: return isAmongValues(left)
        case .exclude: return !isAmongValues(left)
        case .has: return (found != nil) == value.isTrue
        case .contains: return found?.array != nil && (value.array ?? []).allSatisfy { found.contains($0) }
        case .containsAny: return (value.array ?? []).contains { found.contains($0) }
        case .like:
            return found?.string.map { Self.matches($0.lowercased(), (value.string ?? "").lowercased()) } ?? false
        }
    }

    private func isAmongValues(_ found: OrderedValue) -> Bool {
        (value.array ?? []).contains { OrderedValue($0) == found }
    }

    /// Whether a text matches a pattern. `*` stands for any text; a pattern without it matches anywhere in the text.
    private static func matches(_ text: String, _ pattern: String) -> Bool {
        let pattern = pattern.utf8.contains(UInt8(ascii: "*")) ? pattern : "*\(pattern)*"
        let parts = pattern.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(Array.init)
        var rest = Array(text.utf8)[...]
        guard let first = parts.first, let last = parts.last, rest.starts(with: first) else { return false }
        rest = rest.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let start = rest.indices.first(where: { rest[$0...].starts(with: part) }) else { return false }
            rest = rest[start...].dropFirst(part.count)
        }
        return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last)
    }
}

extension JSONValue? {
    /// Whether this is an array with an element that equals the value.
    fileprivate func contains(_ value: JSONValue) -> Bool {
        self?.array?.contains { OrderedValue($0) == OrderedValue(value) } ?? false
    }
}

extension JSONValue {
    /// Whether the value is true in Python, the language of Kinto.
    fileprivate var isTrue: Bool {
        switch self {
        case .null: false
        case .bool(let value): value
        case .number(let number): number.double != 0
        case .string(let text): !text.isEmpty
        case .array(let elements): !elements.isEmpty
        case .object(let members): !members.isEmpty
        }
    }
}

/// A member's value in Kinto's sort order.
///
/// The order is: null, texts by their code points, numbers, booleans, arrays, objects, and last a missing member.
struct OrderedValue: Comparable {
    /// The value; `nil` if the object has no such member.
    let json: JSONValue?

    init(_ json: JSONValue?) {
        self.json = json
    }

    private var rank: Int {
        switch json {
        case .null?: 0
        case .string?: 1
        case .number?: 2
        case .bool?: 3
        case .array?: 4
        case .object?: 5
        case nil: 6
        }
    }

    static func == (left: OrderedValue, right: OrderedValue) -> Bool { !(left < right) && !(right < left) }

    static func < (left: OrderedValue, right: OrderedValue) -> Bool {
        switch (left.json, right.json) {
        case (.string(let left)?, .string(let right)?): return left.utf8.lexicographicallyPrecedes(right.utf8)
        case (.bool(let left)?, .bool(let right)?): return !left && right
        case (.number(let left)?, .number(let right)?):
            // Doubles cannot tell large integers apart.
            if let left = left.int64, let right = right.int64 { return left < right }
            return left.double < right.double
        case (.array?, .array?), (.object?, .object?):
            return left.text.lexicographicallyPrecedes(right.text)
        default: return left.rank < right.rank
        }
    }

    private var text: [UInt8] { json.map(JSONText.compact) ?? [] }
}
