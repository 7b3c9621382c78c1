import ConfigParameters
import RemoteSettingsModel
import TargetFilter

/// A probable mistake in a parameter set.
package struct ParameterFinding: Hashable, Sendable {
    package enum Problem: Hashable, Sendable {
        /// More than one record of the key has no filter, but only one of them can apply.
        case severalDefaults
        /// The record's filter cannot be parsed, so the record never applies.
        case invalidFilter(Failure)
        /// The record never applies, because the record with this id precedes it and has the same filter, or none.
        case shadowed(by: String)
        /// The key's values have different types. `kinds` are the types of the finding's records, in the same order.
        case changingType(kinds: [String])
        /// Every record of the key has a filter. If no filter matches, an app uses its own default.
        case noDefault
        /// The key is missing from the app's defaults, so an app without this collection has no value for it.
        case missingInAppDefault
        /// The type of the key's values differs from that of the app's default.
        case otherTypeThanInAppDefault(kinds: [String], inAppDefault: String)
    }

    package let key: String
    /// The ids of the affected records, sorted.
    package let records: [String]
    package let problem: Problem
}

extension ParameterFinding {
    /// Whether the finding is certainly a mistake. Other findings may be intended.
    package var isError: Bool {
        switch problem {
        case .severalDefaults, .invalidFilter: true
        case .shadowed, .changingType, .noDefault, .missingInAppDefault, .otherTypeThanInAppDefault:
            false
        }
    }
}

extension ParameterFinding: CustomStringConvertible {
    package var description: String {
        let named = Counted.list(records)
        return switch problem {
        case .severalDefaults:
            "\(key): more than one record has no filter (\(named)); only one of them can apply; give the others a "
                + "filter, or remove them"
        case .invalidFilter(let error): "\(key): the record \(named) never applies: \(error)"
        case .shadowed(let earlier):
            "\(key): the record \(named) never applies: every device that matches its filter gets \(earlier) instead"
        case .changingType(let kinds):
            "\(key): its values have different types: "
                + Counted.list(zip(records, kinds).map { "\($0) is \($1)" })
        case .noDefault:
            "\(key): every record has a filter (\(named)); if none matches, the app uses its own default"
        case .missingInAppDefault:
            "\(key): this key is missing from the app's defaults, so an app has no value before its first sync; add it "
                + "to the defaults"
        case .otherTypeThanInAppDefault(let kinds, let inAppDefault):
            "\(key): the app's default is \(inAppDefault), but "
                + Counted.list(zip(records, kinds).map { "\($0) is \($1)" })
        }
    }
}

extension ParameterSet {
    /// Returns probable mistakes in the set, sorted by key. Does not evaluate filters.
    ///
    /// - Parameter inAppDefaults: the app's own defaults, to compare keys and types; `nil` to skip this comparison.
    package func findings(inAppDefaults: InAppDefaults? = nil) -> [ParameterFinding] {
        keys.sorted().flatMap { findings(for: $0.string, inAppDefaults) }
    }

    private func findings(for key: String, _ inAppDefaults: InAppDefaults?) -> [ParameterFinding] {
        let candidates = candidates(for: key).sorted { $0.id < $1.id }
        var findings: [ParameterFinding] = []
        func find(_ problem: ParameterFinding.Problem, in records: [ParameterRecord]) {
            findings.append(ParameterFinding(key: key, records: records.map(\.id), problem: problem))
        }
        let unconditional = candidates.filter { !$0.hasFilter }
        if unconditional.count > 1 { find(.severalDefaults, in: unconditional) }
        if unconditional.isEmpty { find(.noDefault, in: candidates) }
        for candidate in candidates {
            guard let text = candidate.filter else { continue }
            do throws(Failure) {
                _ = try FilterExpression(parsing: text)
            } catch {
                find(.invalidFilter(error), in: [candidate])
            }
        }
        var asked: [ExactString?: String] = [:]
        for candidate in self.candidates(for: key) {
            if candidate.hasFilter, let earlier = asked[candidate.filter?.exact] ?? asked[nil as ExactString?] {
                find(.shadowed(by: earlier), in: [candidate])
            } else {
                asked[candidate.filter?.exact] = candidate.id
            }
        }
        let typed = candidates.compactMap { candidate in candidate.kind.map { (candidate, $0) } }
        if Set(typed.map(\.1)).count > 1 { find(.changingType(kinds: typed.map(\.1)), in: typed.map(\.0)) }
        guard let inAppDefaults else { return findings }
        guard let inAppDefault = inAppDefaults.values[key] else {
            find(.missingInAppDefault, in: candidates)
            return findings
        }
        let expected = Self.kind(of: Bytes(JSONText.compact(inAppDefault)))
        let others = typed.filter { $0.1 != expected && !$0.0.isText(of: inAppDefault) }
        if inAppDefaults.hasTypes, !others.isEmpty {
            find(.otherTypeThanInAppDefault(kinds: others.map(\.1), inAppDefault: expected), in: others.map(\.0))
        }
        return findings
    }
}

/// The default values in the app itself, which it uses until it has the collection.
package struct InAppDefaults: Sendable {
    package let values: [ExactString: JSONValue]
    /// Whether the values are typed. Android's `<defaultsMap>` has only strings, which the app converts.
    package let hasTypes: Bool
}

extension ParameterRecord {
    /// The name of the value's type for messages; `nil` if there is no value.
    package var kind: String? {
        guard case .value(let json) = content else { return nil }
        return ParameterSet.kind(of: json)
    }

    /// Returns whether the value is a string that an app can convert to the type of `other`, by Firebase's rules.
    fileprivate func isText(of other: JSONValue) -> Bool {
        guard case .value(let json) = content, let text = (try? JSONValue(parsing: json))?.string
        else { return false }
        return switch other {
        case .bool: ValueText.isBoolean(text)
        case .number: ValueText.isNumber(text)
        case .array: ValueText.json(text)?.array != nil
        case .object: if case .object? = ValueText.json(text) { true } else { false }
        case .null, .string: false
        }
    }
}

extension ParameterSet {
    /// Returns the name of a value's type for messages.
    fileprivate static func kind(of json: Bytes) -> String {
        json.withSpan { span in
            switch span.isEmpty ? 0 : span[0] {
            case UInt8(ascii: "\""): "a string"
            case UInt8(ascii: "{"): "an object"
            case UInt8(ascii: "["): "an array"
            case UInt8(ascii: "t"), UInt8(ascii: "f"): "a boolean"
            case UInt8(ascii: "n"): "null"
            default: "a number"
            }
        }
    }
}
