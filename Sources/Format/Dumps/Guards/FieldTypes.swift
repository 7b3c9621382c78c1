import RemoteSettingsModel

/// The JSON types of each field in a collection's records.
///
/// An app's decoder is written for the types that its author has seen. It fails for a string in place of a number, for
/// 1.5 in place of a whole number, and for a missing field that every record used to have.
struct FieldTypes {
    private enum FieldType: String {
        case absent = "nothing"
        case null
        case bool
        case integer
        case fraction
        case text
        case list
        case object
    }

    /// The types of each field, by the names that lead to it, joined by dots. `[]` stands for the elements of a list.
    private var types: [String: Set<FieldType>] = [:]
    private let isEmpty: Bool

    init(of records: RecordTable) {
        isEmpty = records.isEmpty
        var counts: [String: Int] = [:]
        for record in records {
            for (path, type) in Self.fields(of: record) {
                types[path, default: []].insert(type)
                if !path.contains("[]") { counts[path, default: 0] += 1 }
            }
        }
        // If an object is missing, only the object counts as missing, and not the fields in it.
        for (path, count) in counts {
            let parent = path.lastIndex(of: ".").flatMap { counts[String(path[..<$0])] } ?? records.count
            if count < parent { types[path]?.insert(.absent) }
        }
    }

    /// The first ten fields that an app may no longer be able to read.
    ///
    /// A new field is not one of them, and neither is a field that some records lacked or had as null and that all have
    /// now.
    func violations(after old: FieldTypes, in records: RecordTable) -> [GuardViolation] {
        guard !isEmpty, !old.isEmpty else { return [] }
        var found: [GuardViolation] = []
        for (path, before) in old.types.sorted(by: { $0.key < $1.key }) {
            let now = types[path] ?? [.absent]
            // If a list or an object is gone, only it is named, and not what was in it.
            if types[path] == nil, let parent = Self.parent(of: path), types[parent] != old.types[parent] { continue }
            let harmless: Set<FieldType> = [.absent, .null]
            guard !now.subtracting(before).isEmpty || !before.subtracting(now).subtracting(harmless).isEmpty else {
                continue
            }
            let ids = records.lazy.filter { record in
                let own = Self.fields(of: record).filter { $0.path == path }.map(\.type)
                return !Set(own.isEmpty ? [.absent] : own).isSubset(of: before)
            }.map(\.id)
            found.append(
                .init(
                    .fieldTypes, found: "\(path) had \(Self.words(before)) and has \(Self.words(now))",
                    limit: "expected the same types", ids: Array(ids)))
            if found.count == 10 { break }
        }
        return found
    }

    private static func parent(of path: String) -> String? {
        if path.hasSuffix("[]") { return String(path.dropLast(2)) }
        return path.lastIndex(of: ".").map { String(path[..<$0]) }
    }

    private static func words(_ types: Set<FieldType>) -> String {
        types.map(\.rawValue).sorted().joined(separator: " or ")
    }

    /// Every field of a record, except those that only servers set.
    private static func fields(of record: Record) -> [(path: String, type: FieldType)] {
        guard case .object(let members)? = try? JSONValue(parsing: record.json, limits: Limits()) else { return [] }
        var fields: [(path: String, type: FieldType)] = []
        for member in members where !RecordSchema.unvalidated.contains(member.key) {
            collect(member.value, at: member.key, into: &fields)
        }
        return fields
    }

    /// - Precondition: values nest no deeper than `Limits` allows in a document.
    private static func collect(
        _ value: JSONValue, at path: String, into fields: inout [(path: String, type: FieldType)]
    ) {
        fields.append((path, type(of: value)))
        switch value {
        case .object(let members):
            for member in members { collect(member.value, at: "\(path).\(member.key)", into: &fields) }
        case .array(let elements): for element in elements { collect(element, at: "\(path)[]", into: &fields) }
        default: break
        }
    }

    private static func type(of value: JSONValue) -> FieldType {
        switch value {
        case .null: .null
        case .bool: .bool
        case .number(let number): number.double == number.double.rounded() ? .integer : .fraction
        case .string: .text
        case .array: .list
        case .object: .object
        }
    }
}
