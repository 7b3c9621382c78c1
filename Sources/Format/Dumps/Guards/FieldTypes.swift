import RemoteSettingsModel

/// The JSON types that each field of a collection's records has.
///
/// An app's decoder is written for the types that it has seen. It fails for a text where a number was, for 1.5 where
/// whole numbers were, and where a field is missing that every record had.
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

    /// By the names that lead to the field, joined by dots. `[]` stands for the elements of a list.
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
        // A field of an object that is missing itself is missing, too: its own absence is what counts.
        for (path, count) in counts {
            let parent = path.lastIndex(of: ".").flatMap { counts[String(path[..<$0])] } ?? records.count
            if count < parent { types[path]?.insert(.absent) }
        }
    }

    /// The fields that an app may not be able to read any more, the first ten of them.
    ///
    /// A new field is none of them. Neither is a field that was missing or null in some records and is not any more.
    func violations(after old: FieldTypes, in records: RecordTable) -> [GuardViolation] {
        guard !isEmpty, !old.isEmpty else { return [] }
        var found: [GuardViolation] = []
        for (path, before) in old.types.sorted(by: { $0.key < $1.key }) {
            let now = types[path] ?? [.absent]
            // What was inside of a list or an object is gone with it; that one itself is named.
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

    /// Every field of a record, without those that only servers set.
    private static func fields(of record: Record) -> [(path: String, type: FieldType)] {
        guard case .object(let members)? = try? JSONValue(parsing: record.json, limits: Limits()) else { return [] }
        var fields: [(path: String, type: FieldType)] = []
        for member in members where !RecordSchema.unvalidated.contains(member.key) {
            collect(member.value, at: member.key, into: &fields)
        }
        return fields
    }

    /// - Precondition: values nest at most as deep as `Limits` lets a document.
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
