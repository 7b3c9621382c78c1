import RemoteSettingsModel

/// Formats values like `JSON.stringify`: without spaces, with members in their order (ECMA-262, section 25.5.2).
enum FilterJSON {
    /// Returns the JSON of a value.
    ///
    /// - Returns: `nil` for `undefined`, which JSON cannot express.
    static func text(_ value: FilterValue, budget: inout WorkBudget) throws(Failure) -> String? {
        if value == .undefined { return nil }
        var output = ""
        try append(value, to: &output, budget: &budget)
        return output
    }

    /// Appends a value. Recursion is limited, because the parsers of JSON documents and expressions limit the depth of
    /// a FilterValue.
    private static func append(
        _ value: FilterValue, to output: inout String, budget: inout WorkBudget
    ) throws(Failure) {
        try budget.spend(1)
        switch value {
        case .undefined, .null: output += "null"
        case .bool(let flag): output += flag ? "true" : "false"
        case .number(let number): output += number.isFinite ? NumberText.text(number) : "null"
        case .string(let text):
            try budget.spend(text: text.utf8.count)
            output += quoted(text)
        case .array(let elements):
            output += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { output += "," }
                try append(element, to: &output, budget: &budget)
            }
            output += "]"
        case .object(let object):
            output += "{"
            var isFirst = true
            for member in object.members where member.value != .undefined {
                if !isFirst { output += "," }
                isFirst = false
                try budget.spend(text: member.key.utf8.count)
                output += quoted(member.key) + ":"
                try append(member.value, to: &output, budget: &budget)
            }
            output += "}"
        }
        try budget.check(text: output)
    }

    static func quoted(_ text: String) -> String {
        var output: [UInt8] = []
        JSONString.append(text, .shortest, to: &output)
        return String(decoding: output, as: UTF8.self)
    }
}
