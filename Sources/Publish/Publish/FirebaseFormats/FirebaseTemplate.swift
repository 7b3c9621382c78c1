import ConfigParameters
import Dumps
import RemoteSettingsModel

/// A Firebase Remote Config template (REST API v1), converted to the short form of remote config. No I/O.
package struct FirebaseTemplate: Sendable {
    /// The generated source file, in YAML.
    package let source: Bytes
    /// The items that were skipped because they cannot be converted, one line each.
    package let skipped: [String]
    /// Notes for the author of the source file, one line each.
    package let notes: [String]

    /// Converts a template.
    ///
    /// - Parameters:
    ///   - json: the template.
    ///   - file: its name, for errors.
    ///   - skipping: whether to skip items that cannot be converted. Otherwise they cause an error that lists all of
    ///     them.
    /// - Throws: ``Failure``.
    package init(_ json: Bytes, file: String, skipping: Bool) throws(Failure) {
        var converter = TemplateConverter(file: file)
        do throws(Failure) {
            converter.convert(try SourceReader(file: file).json(json))
        } catch {
            throw Failure(problems: [error])
        }
        let unsupported = converter.unsupported.problems
        let fatal = converter.problems.problems + (skipping ? [] : unsupported)
        guard fatal.isEmpty else { throw Failure(problems: fatal.sorted { ($0.line ?? 0) < ($1.line ?? 0) }) }
        skipped = unsupported.map { "\($0.place):\($0.line ?? 1): \($0.problem)" }
        notes = converter.notes()
        source = try converter.text.checked(file)
    }
}

private struct TemplateConverter {
    private static let remedy = "remove it from the template, or skip it with --skip-unsupported"
    private static let prototypes = [
        "constructor", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString",
        "valueOf",
        "__proto__",
    ]

    let file: String
    /// The errors in the template.
    private(set) var problems = ProblemList()
    /// The parts of the template that are valid but cannot be converted.
    private(set) var unsupported = ProblemList()
    private(set) var text = SourceText()
    /// The converted conditions, by name, each with its position. The first one has the highest priority.
    private var conditions: [ExactString: Int] = [:]
    private var refused: Set<ExactString> = []
    private var needs: Set<ExactString> = []
    private var hasPercent = false

    init(file: String) {
        self.file = file
    }

    func notes() -> [String] {
        var notes: [String] = []
        if hasPercent {
            notes.append(
                "percentages are kept, but they select different devices than in Firebase, whose hash is not public; "
                    + "apps must set env.id"
            )
        }
        if !needs.isEmpty {
            notes.append(
                "the app must set these values, which conditions use: "
                    + needs.sorted().map { "env.\($0)" }.joined(separator: ", "))
        }
        return notes
    }

    mutating func convert(_ node: SourceNode) {
        guard let members = node.members else {
            problems.add(
                file, node.line, "the template cannot be \(node.kind)", "download it with: firebase remoteconfig:get")
            return
        }
        for member in members
        where !["conditions", "parameters", "parameterGroups", "version", "etag", "$schema"].contains(member.key) {
            unsupported.add(file, member.line, "unknown key \(member.key) in the template", Self.remedy)
        }
        convert(conditions: node["conditions"])
        text.line(0, "parameters:")
        let before = text.count
        for member in mapping(node["parameters"], "parameters") { convert(parameter: member, level: 1) }
        if text.count == before { text.replaceLast("parameters: {}") }
        let groups = mapping(node["parameterGroups"], "parameterGroups")
        if !groups.isEmpty { text.line(0, "groups:") }
        for group in groups {
            text.line(1, "\(SourceText.key(group.key)):")
            for member in group.value.members ?? [] where !["description", "parameters"].contains(member.key) {
                unsupported.add(file, member.line, "unknown key \(member.key) in the group \(group.key)", Self.remedy)
            }
            if let description = group.value["description"]?.string, !description.isEmpty {
                text.line(2, "description: \(SourceText.quoted(description))")
            }
            text.line(2, "parameters:")
            let before = text.count
            for member in mapping(group.value["parameters"], "parameters of \(group.key)") {
                convert(parameter: member, level: 3)
            }
            if text.count == before { text.replaceLast("    parameters: {}") }
        }
    }

    // MARK: Conditions

    private mutating func convert(conditions node: SourceNode?) {
        guard let node, !node.isNull else { return }
        guard case .list(let elements) = node.content else {
            problems.add(file, node.line, "conditions cannot be \(node.kind)", "download the template again")
            return
        }
        let before = text.count
        text.line(0, "conditions:")
        for element in elements { convert(condition: element) }
        if text.count == before + 1 { text.removeLast() }
    }

    private mutating func convert(condition node: SourceNode) {
        guard let name = node["name"]?.string, let expression = node["expression"]?.string else {
            problems.add(
                file, node.line, "a condition must have a name and an expression", "download the template again")
            return
        }
        for member in node.members ?? []
        where !["name", "expression", "tagColor", "description"].contains(member.key) {
            unsupported.add(file, member.line, "unknown key \(member.key) in the condition \(name)", Self.remedy)
        }
        guard conditions[name] == nil, !refused.contains(name.exact) else {
            problems.add(file, node.line, "the condition \(name) appears twice", "keep one of them")
            return
        }
        let line = node["expression"]?.line ?? node.line
        do throws(Failure) {
            let condition = try FirebaseCondition(parsing: expression)
            needs.formUnion(condition.needs)
            if condition.filter.contains("bucketSample") { hasPercent = true }
            conditions[name] = conditions.count
            let color = (node["tagColor"]?.string ?? "").utf8.filter { $0 == 0x5F || (0x41...0x5A).contains($0) }
            let comment = color.isEmpty ? "" : "  # \(String(decoding: color, as: UTF8.self))"
            text.line(1, "\(SourceText.key(name)): \(SourceText.quoted(condition.filter))\(comment)")
        } catch {
            refused.insert(name.exact)
            let what = error.entry.map { "uses \($0): \(error.problem)" } ?? "cannot be converted: \(error.problem)"
            unsupported.add(file, line, "the condition \(VisibleText.quote(name)) \(what)", Self.remedy)
        }
    }

    // MARK: Parameters

    /// A value as it is written in the source file; `nil` for the app's own default.
    private typealias Value = (text: String?, Void)

    private mutating func convert(parameter member: SourceNode.Member, level: Int) {
        let key = member.key
        guard let first = key.utf8.first, first == 0x5F || isLetter(first),
            key.utf8.allSatisfy({ $0 == 0x5F || isLetter($0) || (48...57).contains($0) }), key.utf8.count <= 256,
            !Self.prototypes.contains(key)
        else {
            problems.add(
                file, member.line,
                "invalid parameter name \(VisibleText.quote(key))", "download the template again")
            return
        }
        for inner in member.value.members ?? []
        where !["defaultValue", "conditionalValues", "description", "valueType"].contains(inner.key) {
            unsupported.add(file, inner.line, "unknown key \(inner.key) in the parameter \(key)", Self.remedy)
        }
        let type = member.value["valueType"]?.string ?? "STRING"
        guard ["STRING", "BOOLEAN", "NUMBER", "JSON", "PARAMETER_VALUE_TYPE_UNSPECIFIED"].contains(type) else {
            unsupported.add(file, member.line, "unknown valueType \(type) of the parameter \(key)", Self.remedy)
            return
        }
        var fallback: Value?
        if let node = member.value["defaultValue"], !node.isNull {
            fallback = value(node, type: type, key, "the default of \(key)")
            if fallback == nil { return }
        }
        let choices = self.choices(of: member, type: type)
        let description = member.value["description"]?.string ?? ""
        // If the template has no default value, apps use their own. Without conditional values, this must be stated.
        text.line(level, "\(SourceText.key(key)):")
        if !description.isEmpty { text.line(level + 1, "description: \(SourceText.quoted(description))") }
        if ["BOOLEAN", "NUMBER", "JSON"].contains(type) { text.line(level + 1, "type: \(type.lowercased())") }
        if let value = fallback?.text {
            text.line(level + 1, "value: \(value)")
        } else if choices.isEmpty {
            text.line(level + 1, "in-app-default: true")
        }
        if !choices.isEmpty { text.line(level + 1, "when:") }
        for choice in choices { text.line(level + 2, choice) }
    }

    private mutating func choices(of parameter: SourceNode.Member, type: String) -> [String] {
        let given = mapping(parameter.value["conditionalValues"], "conditionalValues of \(parameter.key)")
        for member in given where conditions[member.key] == nil {
            if refused.contains(member.key.exact) {
                unsupported.add(
                    file, member.line,
                    "the value of \(parameter.key) for \(member.key) depends on a condition that cannot be converted",
                    Self.remedy)
            } else {
                problems.add(
                    file, member.line, "\(parameter.key) has a value for the undefined condition \(member.key)",
                    "download the template again")
            }
        }
        let known = given.compactMap { member in conditions[member.key].map { (position: $0, member) } }
        return known.sorted { $0.position < $1.position }.compactMap { _, member in
            let quoted = SourceText.quoted(member.key)
            let what = "the value of \(parameter.key) for \(member.key)"
            if let rollout = member.value["rolloutValue"], rollout.members != nil {
                guard let id = rollout["rolloutId"]?.string, case .number(let percent)? = rollout["percent"]?.content,
                    ParameterCompiler.steps(percent) != nil, ParameterCompiler.quoted(id) != nil,
                    let text = rollout["value"],
                    let value = converted(text.string, type: type, rollout.line, what)
                else {
                    unsupported.add(
                        file, member.line, "\(what) is a rollout without a valid id, value and percent", Self.remedy)
                    return nil
                }
                hasPercent = true
                return "- {condition: \(quoted), percent: \(percent.text), seed: \(SourceText.quoted(id)), value: "
                    + "\(value)}"
            }
            guard let value = value(member.value, type: type, parameter.key, what) else { return nil }
            return "- {condition: \(quoted), \(value.text.map { "value: \($0)" } ?? "in-app-default: true")}"
        }
    }

    private mutating func value(_ node: SourceNode, type: String, _ key: String, _ what: String) -> Value? {
        let members = node.members ?? []
        guard members.count == 1, let member = members.first else {
            problems.add(
                file, node.line, "\(what) must have exactly one of value, useInAppDefault and rolloutValue",
                "download the template again")
            return nil
        }
        switch member.key {
        case "value":
            return converted(member.value.string, type: type, member.line, what).map { ($0, ()) }
        case "useInAppDefault":
            guard member.value.json == .bool(true) else {
                problems.add(
                    file, member.line, "\(what) has useInAppDefault: false, which is not allowed",
                    "download the template again")
                return nil
            }
            return (nil, ())
        default:
            unsupported.add(file, member.line, "\(what) uses \(member.key), which is not supported", Self.remedy)
            return nil
        }
    }

    /// Returns the text of a value as a YAML string, so that apps get `1.10`, `TRUE` and JSON exactly as written.
    private mutating func converted(_ text: String?, type: String, _ line: Int, _ what: String) -> String? {
        guard let text else {
            problems.add(file, line, "\(what) is not a string", "download the template again")
            return nil
        }
        let fits =
            switch type {
            case "BOOLEAN": ValueText.isBoolean(text)
            case "NUMBER": ValueText.isNumber(text)
            case "JSON": ValueText.json(text) != nil
            default: true
            }
        guard fits else {
            problems.add(
                file, line, "\(what) is \(VisibleText.quote(text)), which is not valid for the type \(type)",
                "correct it in the template")
            return nil
        }
        return SourceText.quoted(text)
    }

    private mutating func mapping(_ node: SourceNode?, _ what: String) -> [SourceNode.Member] {
        guard let node, !node.isNull else { return [] }
        guard let members = node.members else {
            problems.add(file, node.line, "\(what) cannot be \(node.kind)", "download the template again")
            return []
        }
        return members
    }

    private func isLetter(_ byte: UInt8) -> Bool { (0x61...0x7A).contains(byte | 0x20) }
}
