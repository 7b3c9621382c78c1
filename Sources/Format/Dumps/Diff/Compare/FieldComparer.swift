import RemoteSettingsModel

/// Finds the fields in which two records, or two objects in them, differ.
enum FieldComparer {
    private typealias Member = (name: String, json: Bytes)

    /// Finds the fields that differ, sorted by name.
    ///
    /// - Parameters:
    ///   - old: the canonical JSON of the old record; `nil` if there is none.
    ///   - new: the canonical JSON of the new record; `nil` if there is none.
    static func changes(from old: Bytes?, to new: Bytes?) -> [FieldChange] {
        var changes: [FieldChange] = []
        compare(old.map(members) ?? [], with: new.map(members) ?? [], at: [], into: &changes)
        return changes
    }

    private static func compare(
        _ old: [Member], with new: [Member], at path: [String], into changes: inout [FieldChange]
    ) {
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            let isOld =
                left < old.count
                && (right == new.count || old[left].name == new[right].name || precedes(old[left], new[right]))
            let isNew = right < new.count && (!isOld || old[left].name == new[right].name)
            defer {
                if isOld { left += 1 }
                if isNew { right += 1 }
            }
            let before = isOld ? old[left] : nil
            let after = isNew ? new[right] : nil
            guard before?.json != after?.json else { continue }
            let inner = path + [before?.name ?? after?.name ?? ""]
            if let before, let after, isObject(before), isObject(after) {
                compare(members(before.json), with: members(after.json), at: inner, into: &changes)
            } else {
                changes.append(
                    FieldChange(path: inner, old: before.map { value($0.json) }, new: after.map { value($0.json) }))
            }
        }
    }

    private static func precedes(_ left: Member, _ right: Member) -> Bool {
        left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
    }

    private static func isObject(_ member: Member) -> Bool { member.json.starts(with: [UInt8(ascii: "{")]) }

    /// The members of an object, sorted by name.
    ///
    /// An object that cannot be read becomes one member without a name. It is then still compared and shown.
    private static func members(_ object: Bytes) -> [Member] {
        var reader = JSONReader(object, limits: Limits())
        var members: [Member] = []
        do throws(JSONError) {
            try reader.beginObject()
            while let name = try reader.nextKey() { members.append((name, try reader.skipValue())) }
        } catch {
            return [("", object)]
        }
        // In an unverified bundle, the members may be in any order.
        return members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// The value of a JSON text. Text that cannot be read becomes a string, so that it is still shown.
    private static func value(_ json: Bytes) -> JSONValue {
        (try? JSONValue(parsing: json, limits: Limits())) ?? .string(json.text)
    }
}
