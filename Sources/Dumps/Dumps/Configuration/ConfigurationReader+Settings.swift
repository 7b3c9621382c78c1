import RemoteSettingsModel
import SnapshotBundle

extension ConfigurationReader {
    /// Parses `pin: TIMESTAMP`, or a mapping of `at`, `reason` and `until`.
    func pin(_ node: YAMLNode) throws(Failure) -> Pin {
        guard case .mapping(let mapping) = node.content else { return Pin(at: try timestamp(node)) }
        var at: Timestamp?
        var pin = Pin(at: Timestamp(milliseconds: 0))
        for (key, value) in mapping {
            switch key.string {
            case "at": at = try timestamp(value)
            case "reason": pin.reason = try reason(value)
            case "until": pin.until = try lastDay(value)
            default: throw unknown(key, ["at", "reason", "until"])
            }
        }
        guard let at else {
            throw error(node, "the pin has no timestamp", remedy: "write at: with the collection's timestamp")
        }
        pin.at = at
        return pin
    }

    /// Parses a mapping of `error`, `until` and `reason`.
    func acknowledgement(_ node: YAMLNode) throws(Failure) -> Acknowledgement {
        var kind: FailureClass?
        var until: Timestamp?
        var reason: String?
        for (key, value) in try mapping(node, "acknowledged") {
            switch key.string {
            case "error":
                kind = value.string.flatMap(FailureClass.init)
                if kind == nil {
                    let kinds = FailureClass.allCases.map(\.rawValue).joined(separator: ", ")
                    throw refused(value, "the acknowledged error", remedy: "write one of \(kinds)")
                }
            case "until": until = try lastDay(value)
            case "reason": reason = try self.reason(value)
            default: throw unknown(key, ["error", "until", "reason"])
            }
        }
        guard let kind, let until else {
            throw error(
                node, "acknowledged has no \(kind == nil ? "error" : "until")",
                remedy: kind == nil
                    ? "write error: with the code of the failure in refresh --format json"
                    : "write until: with a date, such as 2026-12-31")
        }
        return Acknowledgement(kind: kind, until: until, reason: reason)
    }

    private func reason(_ node: YAMLNode) throws(Failure) -> String {
        let reason = try string(node, "reason")
        guard Pin.isReason(reason) else {
            throw error(node, "reason is not a single line of 1 to 500 printable characters", remedy: "correct it")
        }
        return reason
    }

    private func lastDay(_ node: YAMLNode) throws(Failure) -> Timestamp {
        guard case .scalar(let scalar) = node.content, let date = Pin.date(scalar.string) else {
            throw refused(node, "until", remedy: "write a date, such as 2026-12-31")
        }
        return date
    }

    private func timestamp(_ node: YAMLNode) throws(Failure) -> Timestamp {
        guard case .scalar(let scalar) = node.content, scalar.string.count <= 18,
            let timestamp = Timestamp(scalar.string),
            timestamp.milliseconds > 0
        else {
            throw error(
                node, "a pin cannot be at \(shown(node))",
                remedy:
                    "write the collection's timestamp in milliseconds; rsdump pin BUCKET/COLLECTION --at DATE finds it")
        }
        return timestamp
    }
}

extension Duration {
    /// Parses a duration: a whole number of at most 6 digits, followed by `d`, `h` or `m` for days, hours or minutes.
    package init?(age text: String) {
        let factors: [Character: Int] = ["d": 86_400, "h": 3600, "m": 60]
        guard let unit = text.last, let factor = factors[unit], text.utf8.count <= 7, let count = Int(text.dropLast()),
            count >= 0
        else { return nil }
        self = .seconds(count * factor)
    }
}

extension ConfigurationReader {
    func compression(_ node: YAMLNode) throws(Failure) -> BundleWriter.Compression {
        switch node.string {
        case "deflate": return .deflate
        case "stored": return .stored
        default: throw refused(node, "compression", remedy: "write deflate or stored")
        }
    }

    /// Parses a mapping of `bundle` and `attachment`. If `isOfAll` is set, `total` is allowed too.
    func budget(_ node: YAMLNode, isOfAll: Bool) throws(Failure) -> (budget: Budget, total: UInt64?) {
        let known = isOfAll ? ["bundle", "attachment", "total"] : ["bundle", "attachment"]
        var budget = Budget()
        var total: UInt64?
        for (key, value) in try mapping(node, "budget") {
            switch key.string {
            case "bundle": budget.bundle = try size(value, "bundle")
            case "attachment": budget.attachment = try size(value, "attachment")
            case "total" where isOfAll: total = try size(value, "total")
            default: throw unknown(key, known)
            }
        }
        return (budget, total)
    }

    /// Parses a mapping of guards. A guard that is not in the mapping keeps its value.
    func guards(_ node: YAMLNode, into guards: inout Guards) throws(Failure) {
        for (key, value) in try mapping(node, "guards") {
            guard key.string != "field-types" else {
                throw error(
                    key, "the guard field-types no longer exists",
                    remedy: "write the types as a schema: schema: {properties: {FIELD: {type: string}}}")
            }
            guard let name = key.string.flatMap(Guards.Name.init(rawValue:)) else {
                throw unknown(key, Guards.Name.allCases.map(\.rawValue))
            }
            switch name {
            case .notEmptied: guards.keepsRecords = try bool(value, name.rawValue)
            case .minRecords:
                guard let count = count(value) else {
                    throw refused(value, name.rawValue, remedy: "write a number of records")
                }
                guards.minRecords = count
            case .maxRemoved: guards.maxRemoved = try limit(value, name)
            case .maxChanged: guards.maxChanged = try limit(value, name)
            case .maxAdded: guards.maxAdded = try limit(value, name)
            case .maxGrowth:
                guard let percent = percent(value) else {
                    throw refused(value, name.rawValue, remedy: "write a percentage, such as 50%")
                }
                guards.maxGrowth = percent
            case .requiredIDs:
                guard case .sequence(let items) = value.content else {
                    throw refused(value, name.rawValue, remedy: "write a list of ids")
                }
                guards.requiredIDs = []
                for item in items { guards.requiredIDs.append(try string(item, "an id")) }
            case .schema: guards.schema = try schema(value)
            }
        }
    }

    private func limit(_ node: YAMLNode, _ name: Guards.Name) throws(Failure) -> Guards.Limit {
        if let percent = percent(node) { return .percent(percent) }
        if let count = count(node) { return .records(count) }
        throw refused(node, name.rawValue, remedy: "write a number of records, or 10% for a percentage")
    }

    private func count(_ node: YAMLNode) -> Int? {
        guard let text = node.string, text.utf8.count <= 9, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return Int(text)
    }

    /// Parses a percentage from 0 to 999,999, such as `10%` or `0.25%`.
    private func percent(_ node: YAMLNode) -> Guards.Percent? {
        guard let text = node.string, text.hasSuffix("%"), text.utf8.count <= 10 else { return nil }
        let parts = text.dropLast().split(separator: ".", omittingEmptySubsequences: false)
        guard (1...2).contains(parts.count),
            parts.allSatisfy({ !$0.isEmpty && $0.utf8.allSatisfy { (0x30...0x39).contains($0) } }),
            let whole = Int(parts[0]), whole <= 999_999
        else { return nil }
        guard parts.count == 2 else { return .init(hundredths: whole * 100) }
        guard parts[1].utf8.count <= 2, let decimals = Int(parts[1]) else { return nil }
        return .init(hundredths: whole * 100 + (parts[1].utf8.count == 1 ? decimals * 10 : decimals))
    }

    private func schema(_ node: YAMLNode) throws(Failure) -> JSONValue? {
        if node.string == "none" { return nil }
        guard node.string != "metadata" else {
            throw error(
                node, "schema: metadata is no longer allowed, because no signature covers metadata",
                remedy: "copy the schema from the collection's metadata to this place")
        }
        guard case .mapping = node.content else {
            throw refused(node, "schema", remedy: "write none, or a JSON Schema of the records")
        }
        let source = try SourceReader(file: file).node(node)
        _ = try mapFailure(of: try RecordSchema(source.json)) {
            Failure(
                place: file, line: source.line(at: $0.path), problem: "invalid schema: \($0.problem)",
                remedy: $0.remedy)
        }
        return source.json
    }
}
