import RemoteSettingsModel

/// The values of one member in all records, from which a ``ValueType`` is derived.
struct ObservedValues {
    private var strings = 0
    private var integers = 0
    private var otherNumbers = 0
    private var booleans = 0
    private(set) var nulls = 0
    private var arrays = 0
    private var objects = 0
    private var elements: [ObservedValues] = []
    /// The members, in order of first appearance.
    private var members: [(key: String, values: ObservedValues)] = []
    private var positions: [[UInt8]: Int] = [:]

    /// The number of values, including `null`.
    var count: Int { strings + integers + otherNumbers + booleans + nulls + arrays + objects }

    /// The maximum depth. Deeper values are ``ValueType/any``.
    private static let depth = 8
    /// The maximum number of keys of a nested object without a schema. If there are more, its type is a dictionary.
    private static let properties = 64

    mutating func observe(_ value: JSONValue, depth: Int = 0) {
        switch value {
        case .null: nulls += 1
        case .bool: booleans += 1
        case .string: strings += 1
        case .number(let number): if number.int64 == nil { otherNumbers += 1 } else { integers += 1 }
        case .array(let values):
            arrays += 1
            guard depth < Self.depth else { break }
            if elements.isEmpty { elements.append(ObservedValues()) }
            for value in values { elements[0].observe(value, depth: depth + 1) }
        case .object(let values):
            objects += 1
            guard depth < Self.depth else { break }
            for member in values {
                let key = Array(member.key.utf8)
                let position = positions[key] ?? members.count
                if position == members.count {
                    positions[key] = position
                    members.append((member.key, ObservedValues()))
                }
                members[position].values.observe(member.value, depth: depth + 1)
            }
        }
    }

    /// Returns the type of these values.
    ///
    /// - Parameters:
    ///   - schema: their JSON Schema; `nil` if there is none.
    ///   - isRecord: whether the values are records, whose member `attachment` describes a file.
    func type(_ schema: JSONValue? = nil, isRecord: Bool = false) -> ValueType {
        let kinds = [strings, integers + otherNumbers, booleans, arrays, objects].filter { $0 > 0 }.count
        guard kinds <= 1 else { return .any }
        if strings > 0 {
            guard let choices = schema?["enum"]?.array else { return .string }
            let texts = choices.compactMap(\.string)
            return texts.count == choices.count && !texts.isEmpty ? .choice(texts) : .string
        }
        // The schema shows whether future numbers may have a fraction.
        if integers + otherNumbers > 0 {
            return otherNumbers > 0 || schema?["type"]?.string == "number" ? .number : .integer
        }
        if booleans > 0 { return .boolean }
        if arrays > 0 { return .array(elements.first?.type(schema?["items"]) ?? .any) }
        if objects > 0 { return objectType(schema, isRecord: isRecord) }
        return .any
    }

    private func objectType(_ schema: JSONValue?, isRecord: Bool) -> ValueType {
        let schemas = schema?["properties"]
        if !isRecord, schemas == nil, let type = dictionaryType { return type }
        let properties = if case .object(let members)? = schemas { members.byKey } else { [ExactString: JSONValue]() }
        let required = schema?["required"]?.array.map { Set($0.compactMap { $0.string.map { Array($0.utf8) } }) }
        return .object(
            members.map { key, values in
                let isSeenEverywhere = values.count == objects && values.nulls == 0
                // A member that the schema does not require may be missing from future records, except `id` and
                // `last_modified`, which are not in schemas because the server adds them.
                let isServers = isRecord && (key == "id" || key == "last_modified")
                let isOptional =
                    !isSeenEverywhere || !isServers && (required.map { !$0.contains(Array(key.utf8)) } ?? false)
                let isAttachment = isRecord && key == "attachment"
                return ValueType.Field(
                    key: key, type: isAttachment ? .attachment : values.type(properties[key]), isOptional: isOptional)
            })
    }

    /// The dictionary type of these objects if their keys appear to be data, such as language codes, and not fixed
    /// member names; otherwise `nil`. Keys count as data if each of them is missing from most objects and all values
    /// have the same type.
    private var dictionaryType: ValueType? {
        var all = ObservedValues()
        for member in members { all.merge(member.values) }
        let type = all.nulls > 0 ? .any : all.type()
        guard members.count <= Self.properties else { return .dictionary(type) }
        let areData = !members.isEmpty && members.allSatisfy { $0.values.count * 2 < objects }
        return areData && type != .any ? .dictionary(type) : nil
    }

    private mutating func merge(_ other: ObservedValues) {
        strings += other.strings
        integers += other.integers
        otherNumbers += other.otherNumbers
        booleans += other.booleans
        nulls += other.nulls
        arrays += other.arrays
        objects += other.objects
        if let more = other.elements.first {
            if elements.isEmpty { elements.append(more) } else { elements[0].merge(more) }
        }
        for member in other.members {
            let key = Array(member.key.utf8)
            if let position = positions[key] {
                members[position].values.merge(member.values)
            } else {
                positions[key] = members.count
                members.append(member)
            }
        }
    }
}
