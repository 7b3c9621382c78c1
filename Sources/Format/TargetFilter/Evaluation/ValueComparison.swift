import RemoteSettingsModel

/// Equality and order of values.
enum ValueComparison {
    /// Returns whether two values are equal.
    ///
    /// Types must match, as in Mozilla's mobile client, but `undefined` and `null` are equal, as in Gecko. Arrays and
    /// objects are equal if their contents are equal. Strings are compared by code points and never normalized.
    static func areEqual(_ left: FilterValue, _ right: FilterValue, budget: inout WorkBudget) throws(Failure) -> Bool {
        try budget.spend(1)
        switch (left, right) {
        case (.undefined, .undefined), (.undefined, .null), (.null, .undefined), (.null, .null): return true
        case (.bool(let a), .bool(let b)): return a == b
        case (.number(let a), .number(let b)): return a == b
        case (.string(let a), .string(let b)): return try areSame(a, b, budget: &budget)
        case (.array(let a), .array(let b)):
            guard a.count == b.count else { return false }
            for (x, y) in zip(a, b) where try !areEqual(x, y, budget: &budget) { return false }
            return true
        case (.object(let a), .object(let b)):
            guard a.count == b.count else { return false }
            for member in a.members {
                try budget.spend(text: member.key.utf8.count)
                guard b.contains(member.key), try areEqual(member.value, b[member.key], budget: &budget) else {
                    return false
                }
            }
            return true
        default: return false
        }
    }

    static func areSame(_ a: String, _ b: String, budget: inout WorkBudget) throws(Failure) -> Bool {
        guard a.utf8.count == b.utf8.count else { return false }
        try budget.spend(text: a.utf8.count)
        return a.utf8.elementsEqual(b.utf8)
    }

    /// Compares numbers by value, and strings by code points.
    ///
    /// - Returns: -1, 0 or 1 if `left` is less than, equal to or greater than `right`; `nil` if one of them is NaN,
    ///   `null` or `undefined`, because every comparison with these is false.
    /// - Throws: ``Failure/wrongType(operator:expected:found:offset:)`` if the two types have no common order.
    static func order(
        _ left: FilterValue, _ right: FilterValue, of name: String, at offset: Int, budget: inout WorkBudget
    ) throws(Failure) -> Int? {
        switch (left, right) {
        case (.number(let a), .number(let b)):
            if a.isNaN || b.isNaN { return nil }
            return a < b ? -1 : a == b ? 0 : 1
        case (.string(let a), .string(let b)):
            try budget.spend(text: min(a.utf8.count, b.utf8.count))
            if a.utf8.lexicographicallyPrecedes(b.utf8) { return -1 }
            return a.utf8.elementsEqual(b.utf8) ? 0 : 1
        default:
            if left.isAbsent || right.isAbsent { return nil }
            throw .wrongType(
                operator: name, expected: "two numbers or two strings", found: "\(left.kind) and \(right.kind)",
                offset: offset)
        }
    }

    /// Returns whether `text` contains `needle`. It uses the Knuth-Morris-Pratt algorithm, which needs linear time.
    static func isPart(_ needle: String, of text: String, budget: inout WorkBudget) throws(Failure) -> Bool {
        let pattern = Array(needle.utf8)
        guard !pattern.isEmpty else { return true }
        guard pattern.count <= text.utf8.count else { return false }
        try budget.spend(text: pattern.count + text.utf8.count)
        var fallback = [0]
        var matched = 0
        for byte in pattern.dropFirst() {
            while matched > 0, byte != pattern[matched] { matched = fallback[matched - 1] }
            if byte == pattern[matched] { matched += 1 }
            fallback.append(matched)
        }
        matched = 0
        for byte in text.utf8 {
            while matched > 0, byte != pattern[matched] { matched = fallback[matched - 1] }
            if byte == pattern[matched] { matched += 1 }
            if matched == pattern.count { return true }
        }
        return false
    }
}
