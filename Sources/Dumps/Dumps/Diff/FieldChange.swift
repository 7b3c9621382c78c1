import RemoteSettingsModel

/// A change of one field of a record.
package struct FieldChange: Sendable {
    let path: FieldPath
    /// The JSON of the old value; `nil` if the old record has no such field.
    let old: Bytes?
    /// The JSON of the new value; `nil` if the new record has no such field.
    let new: Bytes?

    /// Parses a JSON value. Invalid JSON becomes a string, so that it is still shown.
    static func value(_ json: Bytes) -> JSONValue {
        (try? JSONValue(parsing: json)) ?? .string(json.text)
    }
}

/// The path of names to a field. The fields of an object share one instance for the object's path.
package final class FieldPath: Sendable {
    private let name: String
    private let parent: FieldPath?
    /// The name of the record's top-level member that contains the field.
    package let root: String

    init(_ name: String, in parent: FieldPath?) {
        self.name = name
        self.parent = parent
        root = parent?.root ?? name
    }

    /// The names, outermost first.
    var names: [String] {
        var (names, place) = ([name], parent)
        while let outer = place {
            names.append(outer.name)
            place = outer.parent
        }
        return names.reversed()
    }

    /// Returns the names, joined by `separator` and escaped for display, in at most `limit` bytes.
    func text(separator: String = ".", limit: Int = VisibleText.quotedBytes) -> String {
        let names = names.map { VisibleText.excerpt($0, limit: DiffLimits.nameBytes) }
        return VisibleText.excerpt(names.joined(separator: separator), limit: limit)
    }

    /// Returns whether this is the field with the given dot-separated names, or a field inside it.
    func isInside(_ field: String) -> Bool {
        var wanted = (field + ".").utf8[...]
        for name in names {
            for byte in [Array(name.utf8.prefix(wanted.count)), [UInt8(ascii: ".")]].joined() {
                guard wanted.popFirst() == byte else { return false }
                if wanted.isEmpty { return true }
            }
        }
        return false
    }
}

/// The first fields that differ between two records, in order of name, and the number of the remaining ones.
package struct FieldChanges: Sendable {
    package private(set) var shown: [FieldChange] = []
    /// The number of remaining fields that differ.
    package private(set) var omitted = 0

    var isEmpty: Bool { shown.isEmpty }

    mutating func add(_ change: @autoclosure () -> FieldChange) {
        if shown.count < DiffLimits.fields { shown.append(change()) } else { omitted += 1 }
    }
}
