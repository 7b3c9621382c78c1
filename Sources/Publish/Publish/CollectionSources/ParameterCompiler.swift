import ConfigParameters
import Dumps
import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

/// A compiler from the short form of a remote config, which has named conditions and parameters, to parameter records.
package struct ParameterCompiler {
    /// A condition as an expression of the filter language, and its ramp, if any.
    private struct Filter {
        let text: String
        let ramp: Ramp?
    }

    /// A named condition: its filter and its line.
    private struct Condition {
        let filter: Filter
        let line: Int
        var isUsed = false
    }

    /// One value of a parameter, and the condition under which it applies.
    private struct Choice {
        /// The last part of the record's id; `nil` for the default.
        let name: String?
        let filter: Filter?
        /// The value; `nil` for the app's own default.
        let value: SourceNode?
        let line: Int
    }

    private static let parameterKeys = ["value", "in-app-default", "type", "description", "when"]
    private static let choiceKeys = [
        "condition", "filter", "percent", "seed", "value", "in-app-default", "description",
    ]
    private static let conditionKeys = ["filter", "percent", "seed", "description"]

    let file: String
    private(set) var problems = ProblemList()
    private var conditions: [ExactString: Condition] = [:]
    private var seen: [ExactString: Int] = [:]
    /// The number of bytes that remain for copies of conditions in records.
    private var room: Int

    /// Creates a compiler.
    ///
    /// - Parameter room: the maximum total size in bytes of the copies of conditions in one file's parameters. A
    ///   condition is written once and copied into each record that uses it. Without a limit, a megabyte of sources
    ///   could become gigabytes.
    init(file: String, room: Int = Limits.changesetBytes / 4) {
        self.file = file
        self.room = room
    }

    /// Reserves bytes for a copy of a condition. Returns whether enough bytes remain; if not, a problem is added.
    private mutating func reserve(_ count: Int, _ line: Int) -> Bool {
        guard room >= count else {
            if room >= 0 {
                problems.add(
                    file, line,
                    "the collection is too large: each use of a condition in a parameter adds a copy of its filter",
                    "shorten the conditions that many parameters use, or split the collection")
            }
            room = -1
            return false
        }
        room -= count
        return true
    }

    /// Compiles a document to records.
    ///
    /// - Parameter node: a mapping. Only `conditions`, `parameters` and `groups` are read.
    mutating func records(of node: SourceNode) -> [SourceRecord] {
        read(conditions: node["conditions"])
        var records: [SourceRecord] = []
        if let parameters = node["parameters"] { records += read(parameters: parameters, "parameters") }
        for group in mapping(node["groups"], "groups") {
            for member in mapping(group.value, group.key) {
                switch member.key {
                case "parameters": records += read(parameters: member.value, "parameters")
                case "description": checkText(member)
                default: unknown(member, ["description", "parameters"])
                }
            }
        }
        for (name, condition) in conditions.sorted(by: { $0.value.line < $1.value.line }) where !condition.isUsed {
            problems.notes.append("\(file):\(condition.line): no parameter uses the condition \(name)")
        }
        return records
    }

    // MARK: Conditions

    private mutating func read(conditions node: SourceNode?) {
        for member in mapping(node, "conditions") {
            let name = member.key
            guard (1...100).contains(name.unicodeScalars.count) else {
                problems.add(
                    file, member.line, "the condition's name is empty or longer than 100 characters",
                    "write a name of 1 to 100 characters")
                continue
            }
            let filter: Filter?
            if let text = member.value.string {
                filter = checkedFilter(text, member.value.line).map { Filter(text: $0, ramp: nil) }
            } else if let members = member.value.members {
                for inner in members where !Self.conditionKeys.contains(inner.key) {
                    unknown(inner, Self.conditionKeys)
                }
                filter = self.filter(of: member.value, seed: name, member.line)
            } else {
                problems.add(
                    file, member.line, "the condition \(name) cannot be \(member.value.kind)",
                    "write a filter, or a mapping with filter, percent and seed")
                filter = nil
            }
            conditions[name] = Condition(filter: filter ?? Filter(text: "true", ramp: nil), line: member.line)
        }
    }

    /// Returns the filter of a mapping with `filter`, `percent` and `seed`.
    private mutating func filter(of node: SourceNode, seed: String, _ line: Int) -> Filter? {
        var parts: [String] = []
        var ramp: Ramp?
        if let own = node["filter"] {
            guard let text = own.string else {
                problems.add(file, own.line, "filter cannot be \(own.kind)", "write a filter as a string")
                return nil
            }
            guard let checked = checkedFilter(text, own.line) else { return nil }
            parts.append(checked)
        }
        if let percent = node["percent"] {
            guard let expression = self.percent(percent, seed: node["seed"], name: seed) else { return nil }
            parts.append(expression.text)
            ramp = expression.ramp
        } else if let seed = node["seed"] {
            problems.add(file, seed.line, "the seed has no percent", "add percent:, or remove the seed")
        }
        guard !parts.isEmpty else {
            problems.add(file, line, "there is neither filter nor percent", "write at least one of them")
            return nil
        }
        // Parentheses are needed because `&&` and `||` have the same precedence in this language.
        let text = parts.count == 1 ? parts[0] : parts.map { "(\($0))" }.joined(separator: " && ")
        return Filter(text: text, ramp: ramp)
    }

    private mutating func checkedFilter(_ text: String, _ line: Int) -> String? {
        guard !text.unicodeScalars.allSatisfy(\.properties.isWhitespace) else {
            problems.add(
                file, line, "the filter is empty", "write a filter; a value without a condition is the default")
            return nil
        }
        do throws(Failure) {
            _ = try FilterExpression(parsing: text)
            return text
        } catch {
            problems.add(file, line, "\(error)", "correct the filter")
            return nil
        }
    }

    /// Parses a percentage, in steps of 0.0001. `percent: 10` is the first tenth of all devices, `percent: [10, 20]` is
    /// the second tenth, and `percent: {2026-12-01: 5, 2026-12-07: 100}` is a share that grows with time.
    private mutating func percent(_ node: SourceNode, seed: SourceNode?, name: String) -> Filter? {
        let text = seed?.string ?? name
        let isText = seed.map { $0.string != nil } ?? true
        guard isText, let quoted = Self.quoted(text) else {
            problems.add(
                file, seed?.line ?? node.line, "the seed cannot be \(seed?.kind ?? VisibleText.quote(text))",
                "write seed: and a string of 1 to 100 printable ASCII characters without quotes and backslashes")
            return nil
        }
        if let members = node.members { return ramp(members, node.line, seed: quoted) }
        let bounds: [SourceNode]
        if case .list(let list) = node.content { bounds = list } else { bounds = [node] }
        var steps: [Int] = []
        for bound in bounds {
            guard case .number(let number) = bound.content, let step = Self.steps(number) else { break }
            steps.append(step)
        }
        if steps.count == 1, bounds.count == 1 { steps.insert(0, at: 0) }
        guard steps.count == 2, bounds.count <= 2, steps[0] <= steps[1] else {
            problems.add(
                file, node.line, "percent cannot be \(node.kind)",
                "write a number from 0 to 100 with at most four decimals; a range, [LOW, HIGH]; or dates and numbers, "
                    + "{2026-12-01: 5, 2026-12-07: 100}")
            return nil
        }
        return Filter(text: Ramp.sample(quoted, from: steps[0], to: steps[1]), ramp: nil)
    }

    /// Returns the filter of `DATE: PERCENT` pairs.
    private mutating func ramp(_ members: [SourceNode.Member], _ line: Int, seed: String) -> Filter? {
        var steps: [Ramp.Step] = []
        for member in members {
            guard let from = Timestamp(rfc3339: member.key) else {
                problems.add(
                    file, member.line, "\(VisibleText.quote(member.key)) is not a date or a time",
                    "write a date such as 2026-12-01 (midnight UTC) or a time such as 2026-12-01T08:00:00Z")
                return nil
            }
            guard case .number(let number) = member.value.content, let share = Self.steps(number), share > 0 else {
                problems.add(
                    file, member.line, "the share from \(member.key) on cannot be \(member.value.kind)",
                    "write a number above 0 and up to 100 with at most four decimals")
                return nil
            }
            if let last = steps.last, last.from >= from || last.share >= share {
                problems.add(
                    file, member.line, "the ramp does not increase at \(member.key)",
                    "write each line with a later date and a larger number, because devices keep a value once they "
                        + "have it"
                )
                return nil
            }
            steps.append(.init(from: from, share: share))
        }
        if let ramp = Ramp(steps: steps) { return Filter(text: ramp.filter(seed: seed), ramp: ramp) }
        problems.add(
            file, line, "the ramp has \(steps.count) steps", "write 1 to \(Ramp.mostSteps) DATE: PERCENT pairs")
        return nil
    }

    /// Returns a percentage as a number of steps of 0.0001; `nil` if it is outside 0…100 or not a multiple of a step.
    package static func steps(_ number: JSONNumber) -> Int? {
        let value = number.double
        guard value >= 0, value <= 100 else { return nil }
        let steps = (value * 10_000).rounded()
        return abs(steps - value * 10_000) < 1e-6 ? Int(exactly: steps) : nil
    }

    /// Returns a string literal of the filter language; `nil` if the text would need escapes.
    package static func quoted(_ text: String) -> String? {
        let isPlain = text.unicodeScalars.allSatisfy { (0x20...0x7E).contains($0.value) && $0 != "'" && $0 != "\\" }
        return isPlain && (1...100).contains(text.utf8.count) ? "'\(text)'" : nil
    }

    // MARK: Parameters

    private mutating func read(parameters node: SourceNode, _ what: String) -> [SourceRecord] {
        var records: [SourceRecord] = []
        for member in mapping(node, what) where !problems.isFull && room >= 0 {
            if let other = seen.updateValue(member.line, forKey: member.key.exact) {
                problems.add(
                    file, member.line, "the parameter \(member.key) is already defined on line \(other)",
                    "keep one of them")
                continue
            }
            records += self.records(of: member)
        }
        return records
    }

    private mutating func records(of parameter: SourceNode.Member) -> [SourceRecord] {
        var choices: [Choice] = []
        var type: SourceNode?
        if parameter.value.members == nil {
            choices = [Choice(name: nil, filter: nil, value: parameter.value, line: parameter.line)]
        } else {
            for member in parameter.value.members ?? [] {
                switch member.key {
                case "when": choices += self.choices(member.value, of: parameter.key)
                case "description": checkText(member)
                case "type": type = member.value
                case "value", "in-app-default": break
                default: unknown(member, Self.parameterKeys, "if the value is an object, write it under value:")
                }
            }
            guard room >= 0 else { return [] }
            if let content = content(of: parameter.value, parameter.line, isOptional: !choices.isEmpty) {
                // After other values, the app's own default needs no record: the app uses it if no condition matches.
                if content.value != nil || choices.isEmpty {
                    choices.append(Choice(name: nil, filter: nil, value: content.value, line: parameter.line))
                }
            }
        }
        checkTypes(choices, type, parameter)
        let copied = choices.reduce(0) { $0 + ($1.filter?.text.utf8.count ?? 0) }
        guard reserve(copied, parameter.line) else { return [] }
        review(choices, of: parameter.key)
        let conditional = choices.count { $0.filter != nil }
        return choices.enumerated().map { index, choice in
            record(
                choice, of: parameter.key,
                priority: choice.filter == nil || conditional == 1 ? nil : conditional - index)
        }
    }

    /// Reports values that no device can get, because an earlier value has the same condition.
    private mutating func review(_ choices: [Choice], of key: String) {
        var asked: [ExactString: Int] = [:]
        for choice in choices {
            guard let filter = choice.filter?.text else { continue }
            if let line = asked[filter] {
                let name = choice.name.map { " (\($0))" } ?? ""
                problems.notes.append(
                    "\(file):\(choice.line): no device gets this value of \(key)\(name): every device that matches "
                        + "its condition gets the value on line \(line)")
            } else {
                asked[filter] = choice.line
            }
        }
    }

    /// Returns the values under `when:`, highest priority first.
    private mutating func choices(_ node: SourceNode, of key: String) -> [Choice] {
        switch node.content {
        case .mapping(let members):
            return members.compactMap { member in
                guard let filter = filter(named: member.key, member.line) else { return nil }
                guard member.value.members != nil else {
                    return Choice(name: member.key, filter: filter, value: member.value, line: member.line)
                }
                let known = ["value", "in-app-default", "description"]
                for inner in member.value.members ?? [] where !known.contains(inner.key) { unknown(inner, known) }
                guard let content = content(of: member.value, member.line) else { return nil }
                return Choice(name: member.key, filter: filter, value: content.value, line: member.line)
            }
        case .list(let elements):
            return elements.enumerated().compactMap { index, element in choice(element, index: index, of: key) }
        default:
            problems.add(
                file, node.line, "when cannot be \(node.kind)",
                "write CONDITION: VALUE pairs, or a list in which each entry has a condition, filter or percent, and "
                    + "a value"
            )
            return []
        }
    }

    private mutating func choice(_ node: SourceNode, index: Int, of key: String) -> Choice? {
        guard let members = node.members else {
            problems.add(
                file, node.line, "an entry of when cannot be \(node.kind)", "write condition: NAME and value: VALUE")
            return nil
        }
        for member in members where !Self.choiceKeys.contains(member.key) { unknown(member, Self.choiceKeys) }
        guard let content = content(of: node, node.line) else { return nil }
        if let condition = node["condition"] {
            guard let name = condition.string, node["filter"] == nil else {
                problems.add(
                    file, condition.line,
                    condition.string == nil
                        ? "condition cannot be \(condition.kind)" : "condition and filter cannot be combined",
                    "write the name of a condition, or a filter")
                return nil
            }
            guard let filter = filter(named: name, condition.line) else { return nil }
            guard let percent = node["percent"] else {
                return Choice(name: name, filter: filter, value: content.value, line: node.line)
            }
            guard let share = self.percent(percent, seed: node["seed"], name: key) else { return nil }
            guard reserve(filter.text.utf8.count, node.line) else { return nil }
            let both = Filter(text: "(\(filter.text)) && (\(share.text))", ramp: share.ramp)
            return Choice(name: "\(name) \(index + 1)", filter: both, value: content.value, line: node.line)
        }
        guard let filter = filter(of: node, seed: key, node.line) else { return nil }
        return Choice(name: "\(index + 1)", filter: filter, value: content.value, line: node.line)
    }

    private mutating func filter(named name: String, _ line: Int) -> Filter? {
        guard let condition = conditions[name] else {
            let known = Counted.list(conditions.keys.sorted().map(\.string))
            problems.add(
                file, line, "undefined condition \(VisibleText.quote(name))",
                "define it under conditions\(known.isEmpty ? "" : " (defined: \(known))")")
            return nil
        }
        conditions[name]?.isUsed = true
        return condition.filter
    }

    /// Reads `value: …` or `in-app-default: true` from a mapping. Exactly one of them must be present, or, if
    /// `isOptional` is set, at most one.
    private mutating func content(
        of node: SourceNode, _ line: Int, isOptional: Bool = false
    ) -> (value: SourceNode?, Void)? {
        let isInApp: Bool
        switch node["in-app-default"]?.content {
        case nil, .bool(false)?: isInApp = false
        case .bool(true)?: isInApp = true
        default:
            problems.add(file, line, "in-app-default must be true or false", "write true, or remove it")
            return nil
        }
        let value = node["value"]
        if isInApp != (value != nil) { return (value, ()) }
        if value == nil, isOptional { return (nil, ()) }
        problems.add(
            file, line, value == nil ? "there is no value" : "there are both a value and in-app-default: true",
            "write value: VALUE or in-app-default: true, but not both")
        return nil
    }

    private func record(_ choice: Choice, of key: String, priority: Int?) -> SourceRecord {
        var id = RecordIdentifier.derived(from: key)
        if let name = choice.name { id += "--\(RecordIdentifier.derived(from: name))" }
        if id.utf8.count > 255 { id = RecordIdentifier.derived(from: id) }
        let members = JSONValue.members([
            "id": .string(id), ParameterRecord.keyMember: .string(key),
            ParameterRecord.valueMember: choice.value?.json,
            ParameterRecord.inAppDefaultMember: choice.value == nil ? .bool(true) : nil,
            RecordFilter.fieldName: choice.filter.map { .string($0.text) },
            ParameterRecord.rampMember: choice.filter?.ramp?.member,
            ParameterRecord.priorityMember: priority.map { .count($0) },
        ])
        let text = JSONText.compact(members)
        return SourceRecord(id: id, members: Bytes(text)[1..<text.count - 1], file: file, line: choice.line)
    }

    /// Checks that all values of a parameter have the same type, because an app reads them all with the same getter.
    private mutating func checkTypes(_ choices: [Choice], _ type: SourceNode?, _ parameter: SourceNode.Member) {
        let kinds = ["string", "boolean", "number", "json"]
        if let type, !kinds.contains(type.string ?? "") {
            problems.add(
                file, type.line, "type cannot be \(type.kind)", "write one of \(kinds.joined(separator: ", "))")
            return
        }
        if type?.string == "json" { return }
        var first = type?.string.map { ($0, type?.line ?? parameter.line) }
        for choice in choices {
            guard let value = choice.value else { continue }
            let kind =
                switch value.content {
                // A string that the declared type can parse is published unchanged, as a string. Apps read it with the
                // getter of that type.
                case .string(let text) where type?.string == "boolean" && ValueText.isBoolean(text): "boolean"
                case .string(let text) where type?.string == "number" && ValueText.isNumber(text): "number"
                case .string: "string"
                case .bool: "boolean"
                case .number: "number"
                case .null, .list, .mapping: "json"
                }
            if let known = first {
                guard known.0 != kind else { continue }
                problems.add(
                    file, value.line,
                    known.1 == value.line
                        ? "\(parameter.key) has a \(known.0) and a \(kind) value"
                        : "\(parameter.key) is a \(kind) here, but a \(known.0) on line \(known.1)",
                    "give it values of one type, or write type: json")
                return
            }
            first = (kind, value.line)
        }
    }

    // MARK: Nodes

    private mutating func mapping(_ node: SourceNode?, _ what: String) -> [SourceNode.Member] {
        guard let node, !node.isNull else { return [] }
        guard let members = node.members else {
            problems.add(file, node.line, "\(what) cannot be \(node.kind)", "write key: value pairs")
            return []
        }
        return members
    }

    private mutating func checkText(_ member: SourceNode.Member) {
        guard member.value.string == nil, !member.value.isNull else { return }
        problems.add(file, member.line, "\(member.key) cannot be \(member.value.kind)", "write a string")
    }

    private mutating func unknown(_ member: SourceNode.Member, _ known: [String], _ more: String? = nil) {
        problems.add(
            file, member.line, "unknown key \(VisibleText.quote(member.key))",
            "the keys here are \(known.joined(separator: ", "))\(more.map { "; \($0)" } ?? "")")
    }
}
