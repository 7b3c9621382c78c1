/// An object of the filter language: members in their written order, found by name in constant time.
public struct FilterObject: Hashable, Sendable {
    public struct Member: Hashable, Sendable {
        public let key: String
        public let value: FilterValue
    }

    /// The members in the order in which their keys first came.
    public private(set) var members: [Member] = []
    private var positions: [String: Int] = [:]

    public init() {}

    /// Where a key comes twice, the later value stands in the earlier place, as in JavaScript.
    public init(_ members: some Sequence<(key: String, value: FilterValue)>) {
        for (key, value) in members { self[key] = value }
    }

    public var count: Int { members.count }

    /// The value of a member; `undefined` where there is none. To set `undefined` keeps the member.
    public subscript(key: String) -> FilterValue {
        get { positions[key].map { members[$0].value } ?? .undefined }
        set {
            if let position = positions[key] {
                members[position] = Member(key: members[position].key, value: newValue)
            } else {
                positions[key] = members.count
                members.append(Member(key: key, value: newValue))
            }
        }
    }

    public func contains(_ key: String) -> Bool { positions[key] != nil }

    public static func == (left: FilterObject, right: FilterObject) -> Bool { left.members == right.members }

    public func hash(into hasher: inout Hasher) { hasher.combine(members) }
}

extension FilterObject: ExpressibleByDictionaryLiteral {
    public init(dictionaryLiteral elements: (String, FilterValue)...) {
        self.init(elements.map { (key: $0.0, value: $0.1) })
    }
}
