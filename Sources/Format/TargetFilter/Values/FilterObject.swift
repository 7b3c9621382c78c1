import RemoteSettingsModel

/// An object of the filter language. Its members keep their order, with constant-time lookup by name.
package struct FilterObject: Equatable, Sendable {
    package struct Member: Equatable, Sendable {
        fileprivate let name: ExactString
        package let value: FilterValue

        package var key: String { name.string }
    }

    /// The members, in the order of their keys' first appearance.
    package private(set) var members: [Member] = []
    private var positions: [ExactString: Int] = [:]

    package init() {}

    /// Creates an object. If a key appears twice, the later value replaces the earlier one in place, as in JavaScript.
    package init(_ members: some Sequence<(key: String, value: FilterValue)>) {
        for (key, value) in members { self[key] = value }
    }

    var count: Int { members.count }

    /// The value of a member; `undefined` if there is none. Setting a member to `undefined` does not remove it.
    package subscript(key: String) -> FilterValue {
        get { positions[key].map { members[$0].value } ?? .undefined }
        set {
            let member = Member(name: key.exact, value: newValue)
            if let position = positions[member.name] {
                members[position] = member
            } else {
                positions[member.name] = members.count
                members.append(member)
            }
        }
    }

    func contains(_ key: String) -> Bool { positions[key] != nil }

    package static func == (left: FilterObject, right: FilterObject) -> Bool { left.members == right.members }

}

extension FilterObject: ExpressibleByDictionaryLiteral {
    package init(dictionaryLiteral elements: (String, FilterValue)...) {
        self.init(elements.map { (key: $0.0, value: $0.1) })
    }
}
