import RemoteSettingsModel

/// A client's query of one of Kinto's lists: filters, order, fields and page.
///
/// See Kinto's API 1.x: "Filtering", "Sorting", "Paginating", "Selecting fields". Kinto does not limit the parameters
/// of a request. Here a request has at most ``mostConditions`` parameters, and a name or pattern at most
/// ``longestName`` bytes, because each one is applied to every object of the list.
struct ListQuery {
    enum Comparison: String, CaseIterable {
        case lt, min, max, not, eq, gt, exclude, like, has, contains
        case isIn = "in"
        case containsAny = "contains_any"
    }

    struct Filter {
        let field: String
        let comparison: Comparison
        let value: JSONValue
    }

    struct Order {
        let field: String
        let isDescending: Bool
    }

    static let mostConditions = 32
    static let longestName = 128

    let filters: [Filter]
    /// The sort order, the most important field first.
    ///
    /// The last two fields are the time of the last change, newest first, and the id. So no two objects are equal, and
    /// a page can begin after any of them.
    let sorting: [Order]
    /// The members to return; `nil` for all.
    let fields: [String]?
    /// The most objects on a page; `nil` for no limit.
    let limit: Int?
    /// The sort values of the last object of the page before this one; `nil` for the first page.
    let start: [OrderedValue]?

    /// Whether deleted objects are in the list. As in Kinto, they are if a filter is about the time of the last change.
    var includesTombstones: Bool { filters.contains { $0.field == ListedObject.timeField } }

    /// - Parameter knownFields: the members that objects of this list can have; `nil` if they can have any.
    /// - Throws: `OriginProblem` (400) if a parameter is not understood.
    init(_ query: QueryParameters, knownFields: Set<String>? = nil) throws(OriginProblem) {
        var filters: [Filter] = []
        for (name, value) in query.all {
            let name = Self.trimmed(name)
            switch name {
            case "_since": filters += try Self.time(name, value, .gt)
            case "_to", "_before": filters += try Self.time(name, value, .lt)
            case _ where name.hasPrefix("_"): continue
            default: filters.append(try Self.filter(name, value, knownFields))
            }
        }
        guard filters.count <= Self.mostConditions else {
            throw .invalid("filters", "expected at most \(Self.mostConditions)")
        }
        self.filters = filters
        sorting = try Self.sorting(query["_sort"], knownFields)
        fields = try Self.fields(query["_fields"], knownFields)
        // In Kinto 0 means no limit.
        let limit = try Self.limit(query)
        self.limit = limit == 0 ? nil : limit
        if let token = query["_token"], !token.isEmpty {
            start = try Self.start(token, count: sorting.count)
        } else {
            start = nil
        }
    }

    /// Reads only which members to return, as Kinto does for a request for a single object.
    ///
    /// - Throws: `OriginProblem` (400) if they are not understood.
    init(fieldsOf query: QueryParameters) throws(OriginProblem) {
        (filters, sorting, limit, start) = ([], [], nil, nil)
        fields = try Self.fields(query["_fields"], nil)
    }

    /// The number in `_limit`; `nil` if it is missing or empty.
    ///
    /// - Throws: `OriginProblem` (400) if it is not a whole number of at least 0.
    static func limit(_ query: QueryParameters) throws(OriginProblem) -> Int? {
        // Clamping changes nothing: a limit that large exceeds any number of objects.
        guard let text = query["_limit"] else { return nil }
        return try number("_limit", text).map { Int(clamping: $0) }
    }

    /// The value of `_token` for the page that begins after an object with these sort values.
    static func token(_ values: [OrderedValue]) -> String {
        let json = JSONText.compact(.array(values.map { .array($0.json.map { [$0] } ?? []) }))
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: json.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    private static func start(_ token: String, count: Int) throws(OriginProblem) -> [OrderedValue] {
        let digits = token.utf8.map { Character(Unicode.Scalar($0)).hexDigitValue }
        var json: [UInt8] = []
        for index in stride(from: 0, to: digits.count - digits.count % 2, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { break }
            json.append(UInt8(high << 4 | low))
        }
        let values = try? JSONValue(parsing: Bytes(json), limits: Limits()).array
        guard digits.count == json.count * 2, let values, values.count == count,
            values.allSatisfy({ ($0.array?.count ?? 2) <= 1 })
        else { throw .invalid("_token", "invalid content; follow Next-Page as it was received") }
        return values.map { OrderedValue($0.array?.first) }
    }

    private static func number(_ name: String, _ text: String) throws(OriginProblem) -> UInt64? {
        var digits = trimmed(text)[...]
        if digits.count > 2, digits.hasPrefix("\""), digits.hasSuffix("\"") { digits = digits.dropFirst().dropLast() }
        if digits.isEmpty { return nil }
        guard let number = UInt64(digits), number <= UInt64(Int64.max) else {
            throw .invalid(name, "expected a whole number from 0 to \(Int64.max)")
        }
        return number
    }

    private static func time(
        _ name: String, _ text: String, _ comparison: Comparison
    ) throws(OriginProblem) -> [Filter] {
        guard let number = try number(name, text) else { throw .invalid(name, "expected a timestamp in milliseconds") }
        return [Filter(field: ListedObject.timeField, comparison: comparison, value: .count(number))]
    }

    private static func filter(
        _ name: String, _ text: String, _ known: Set<String>?
    ) throws(OriginProblem) -> Filter {
        guard name.utf8.count <= longestName, text.utf8.count <= longestName * 8 else {
            throw .invalid(
                "filters", "expected names of at most \(longestName) bytes and values of at most \(longestName * 8)")
        }
        // The longest prefix comes first, because one prefix is the beginning of another.
        let comparisons = Comparison.allCases.sorted { $0.rawValue.utf8.count > $1.rawValue.utf8.count }
        let comparison = comparisons.first {
            let rest = name.hasPrefix("\($0.rawValue)_") ? name.dropFirst($0.rawValue.count + 1) : ""
            return !rest.isEmpty && rest.allSatisfy(isWord)
        }
        let field = comparison.map { String(name.dropFirst($0.rawValue.count + 1)) } ?? name
        try check(field, known, parameter: name, "unknown filter field")
        var value: JSONValue
        switch comparison {
        case .isIn, .exclude:
            value = .array(text.split(separator: ",", omittingEmptySubsequences: false).map { native(String($0)) })
        case .contains, .containsAny:
            value = native(text)
            if value.array == nil { value = .array([value]) }
        case .like:
            guard text.utf8.count <= longestName else {
                throw .invalid(name, "expected a pattern of at most \(longestName) bytes")
            }
            value = .string(text)
        default: value = native(text)
        }
        switch (field, comparison) {
        case ("id", .contains?), ("id", .containsAny?): throw .invalid(name, "an id is no array")
        case ("id", _): value = value.idsAsText
        case (ListedObject.timeField, .has?): break
        case (ListedObject.timeField, nil), (ListedObject.timeField, .lt?), (ListedObject.timeField, .max?),
            (ListedObject.timeField, .eq?), (ListedObject.timeField, .not?), (ListedObject.timeField, .min?),
            (ListedObject.timeField, .gt?):
            guard let number = try number(name, text) else {
                throw .invalid(name, "expected a timestamp in milliseconds")
            }
            value = .count(number)
        case (ListedObject.timeField, _):
            throw .invalid(name, "a timestamp is compared with lt_, max_, eq_, not_, min_ and gt_ only")
        default: break
        }
        return Filter(field: field, comparison: comparison ?? .eq, value: value)
    }

    private static func sorting(_ text: String?, _ known: Set<String>?) throws(OriginProblem) -> [Order] {
        var sorting: [Order] = []
        for part in (text ?? "").split(separator: ",") {
            let part = trimmed(String(part))
            let field = part.hasPrefix("-") || part.hasPrefix("+") ? String(part.dropFirst()) : part
            // Kinto ignores anything that is not a name.
            guard !field.isEmpty, field.allSatisfy(isWord) else { continue }
            try check(field, known, parameter: "_sort", "unknown sort field")
            sorting.append(Order(field: field, isDescending: part.hasPrefix("-")))
        }
        guard sorting.count <= mostConditions else {
            throw .invalid("_sort", "expected at most \(mostConditions) fields")
        }
        return sorting + [
            Order(field: ListedObject.timeField, isDescending: true), Order(field: "id", isDescending: false),
        ]
    }

    private static func fields(_ text: String?, _ known: Set<String>?) throws(OriginProblem) -> [String]? {
        guard let text, !text.isEmpty else { return nil }
        let fields = text.split(separator: ",").map(String.init)
        guard fields.count <= mostConditions else {
            throw .invalid("_fields", "expected at most \(mostConditions) fields")
        }
        for field in fields { try check(field, known, parameter: "_fields", "unknown field") }
        return fields + ["id", ListedObject.timeField]
    }

    private static func check(
        _ field: String, _ known: Set<String>?, parameter: String, _ problem: String
    ) throws(OriginProblem) {
        guard field.utf8.count <= longestName else {
            throw .invalid(parameter, "expected names of at most \(longestName) bytes")
        }
        let root = field.split(separator: ".", maxSplits: 1).first.map(String.init) ?? field
        if let known, !known.contains(root) { throw .invalid(parameter, problem) }
    }

    /// A value of a query: JSON if it can be read as JSON, or else text.
    private static func native(_ text: String) -> JSONValue {
        (try? JSONValue(parsing: Bytes(utf8: text), limits: Limits())) ?? .string(text)
    }

    private static func isWord(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_" || character == "."
    }

    private static func trimmed(_ text: String) -> String {
        String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}

extension JSONValue {
    /// The value with numbers replaced by their text, because ids are text.
    fileprivate var idsAsText: JSONValue {
        switch self {
        case .number(let number): .string(number.text)
        case .array(let elements): .array(elements.map(\.idsAsText))
        default: self
        }
    }
}
