import RemoteSettingsModel

/// A comparison of the fields of two records, or of two objects in them.
enum FieldComparer {
    private typealias Member = (name: String, json: Bytes)

    /// Returns the fields that differ, sorted by name.
    ///
    /// - Parameters:
    ///   - old: the canonical JSON of the old record; `nil` if there is none.
    ///   - new: the canonical JSON of the new record; `nil` if there is none.
    ///   - isIncluded: a closure that is called with the path of each differing field, to select the ones to return.
    static func changes(
        from old: Bytes?, to new: Bytes?, where isIncluded: (FieldPath) -> Bool = { _ in true }
    ) -> FieldChanges {
        var changes = FieldChanges()
        compare(old.map(members) ?? [], with: new.map(members) ?? [], in: nil) { path, old, new in
            if isIncluded(path) { changes.add(FieldChange(path: path, old: old, new: new)) }
        }
        return changes
    }

    private static func compare(
        _ old: [Member], with new: [Member], in parent: FieldPath?, _ visit: (FieldPath, Bytes?, Bytes?) -> Void
    ) {
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            let isOld = left < old.count && (right == new.count || !precedes(new[right], old[left]))
            let isNew = right < new.count && (left == old.count || !precedes(old[left], new[right]))
            defer {
                if isOld { left += 1 }
                if isNew { right += 1 }
            }
            let before = isOld ? old[left] : nil
            let after = isNew ? new[right] : nil
            guard before?.json != after?.json else { continue }
            let path = FieldPath(before?.name ?? after?.name ?? "", in: parent)
            if let before, let after, isObject(before), isObject(after) {
                compare(members(before.json), with: members(after.json), in: path, visit)
            } else {
                visit(path, before?.json, after?.json)
            }
        }
    }

    private static func precedes(_ left: Member, _ right: Member) -> Bool {
        left.name.utf8.lexicographicallyPrecedes(right.name.utf8)
    }

    private static func isObject(_ member: Member) -> Bool { member.json.starts(with: [UInt8(ascii: "{")]) }

    /// Returns the members of an object, sorted by name.
    ///
    /// An object that cannot be parsed becomes one member without a name, so that it is still compared and shown.
    private static func members(_ object: Bytes) -> [Member] {
        var reader = JSONReader(object)
        var members: [Member] = []
        do throws(Failure) {
            try reader.beginObject()
            while let name = try reader.nextKey() { members.append((name, try reader.skipValue())) }
        } catch {
            return [("", object)]
        }
        // In an unverified bundle, the members may be in any order.
        return members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}
