import AuthoredText
import Catalogue
import ContentSignature
import RemoteSettingsModel
import Yams

/// Reads `dumps.yaml` strictly: an unknown key, a wrong type or an impossible value is an error that names its line.
package struct ConfigurationReader {
    private let file: String

    /// - Parameter text: the file's content.
    /// - Throws: ``ConfigurationError``.
    package static func read(_ text: String, file: String) throws(ConfigurationError) -> DumpsConfiguration {
        try ConfigurationReader(file: file).configuration(from: text)
    }

    /// The document's root with its marks, for an editor that keeps comments.
    static func compose(_ text: String, file: String) throws(ConfigurationError) -> Node.Mapping {
        let reader = ConfigurationReader(file: file)
        return try reader.mapping(try reader.compose(text), "the file")
    }

    private func configuration(from text: String) throws(ConfigurationError) -> DumpsConfiguration {
        let root = try mapping(try compose(text), "the file")
        var configuration = DumpsConfiguration()
        let known = [
            "version", "server", "allow-plain-http", "trust", "release", "attachments", "budget", "notify",
            "collections",
        ]
        for (key, value) in root {
            switch key.string {
            case "version":
                // Yams converts numbers with Foundation, and its first use takes a fraction of a millisecond.
                guard value.string.flatMap({ Int($0) }) ?? value.int == DumpsConfiguration.version else {
                    throw error(
                        value, "unknown version \(shown(value))",
                        remedy:
                            "this rsdump knows version \(DumpsConfiguration.version); a newer file needs a newer rsdump"
                    )
                }
            case "server": configuration.server = try string(value, "server")
            case "allow-plain-http": configuration.allowsPlainHTTP = try bool(value, "allow-plain-http")
            case "trust": configuration.trust = try trust(value)
            case "release": configuration.release = try release(value)
            case "attachments": configuration.attachments = try rule(value)
            case "budget": (configuration.budget, configuration.totalBudget) = try budget(value, isOfAll: true)
            case "notify": configuration.notificationTargets = try notificationTargets(value)
            case "collections": break
            default: throw unknown(key, known)
            }
        }
        guard root["version"] != nil else {
            throw ConfigurationError(
                file: file, line: 1, problem: "the version is missing", remedy: "begin the file with \"version: 1\"")
        }
        if let collections = root["collections"] {
            configuration.collections = try self.collections(collections, of: configuration)
        }
        if configuration.release != nil, configuration.settings(of: Catalogue.collection).pin != nil {
            throw ConfigurationError(
                file: file, problem: "\(Catalogue.collection) is pinned, although release: asks for its present state",
                remedy: "take the pin away; to go back to an older release, take the directory back with git")
        }
        return configuration
    }

    private func collections(
        _ node: Node, of configuration: DumpsConfiguration
    ) throws(ConfigurationError) -> [DumpsConfiguration.Collection] {
        if isNull(node) { return [] }
        var collections: [DumpsConfiguration.Collection] = []
        var ids: [String: CollectionID] = [:]
        for (key, value) in try mapping(node, "collections") {
            let name = try string(key, "the collection's name")
            let id = try Result { () throws(InvalidIdentifier) in try CollectionID(name) }
                .mapError { error(key, "\($0)", remedy: "write it as BUCKET/COLLECTION, such as main/regions") }.get()
            if let other = ids.updateValue(id, forKey: id.ignoringCase) {
                throw .sameBundle(id, other, file: file, line: key.mark?.line)
            }
            var collection = configuration.settings(of: id)
            if !isNull(value) {
                for (setting, content) in try mapping(value, "\(id)") {
                    switch setting.string {
                    case "attachments": collection.attachments = try rule(content)
                    case "pin": collection.pin = try pin(content)
                    case "budget":
                        let own = try budget(content, isOfAll: false).budget
                        collection.budget.bundle = own.bundle ?? configuration.budget.bundle
                        collection.budget.attachment = own.attachment ?? configuration.budget.attachment
                    default: throw unknown(setting, ["attachments", "pin", "budget"])
                    }
                }
            }
            collections.append(collection)
        }
        return collections.sorted { $0.id < $1.id }
    }

    private func trust(_ node: Node) throws(ConfigurationError) -> DumpsConfiguration.Trust {
        var trust = DumpsConfiguration.Trust()
        for (key, value) in try mapping(node, "trust") {
            switch key.string {
            case "roots":
                guard case .sequence(let items) = value else {
                    throw error(value, "roots is \(kind(value))", remedy: "write a list of SHA-256 hashes")
                }
                for item in items { trust.roots.append(try rootHash(item)) }
            case "signer": trust.signer = try string(value, "signer")
            case "accept-unsigned": trust.acceptsUnsigned = try bool(value, "accept-unsigned")
            default: throw unknown(key, ["roots", "signer", "accept-unsigned"])
            }
        }
        return trust
    }

    private func rootHash(_ node: Node) throws(ConfigurationError) -> SHA256Digest {
        let text = try string(node, "a root")
        guard let hash = try? TrustAnchors.rootHash(text) else {
            throw error(
                node, "\(shown(node)) is not a SHA-256 hash",
                remedy: "write 64 hexadecimal digits, with or without colons")
        }
        return hash
    }

    private func rule(_ node: Node) throws(ConfigurationError) -> AttachmentRule {
        let remedy = "write all, none, or a mapping with include, max-size and max-total"
        switch node {
        case .scalar:
            switch node.string {
            case "all": return AttachmentRule(.all)
            case "none": return AttachmentRule(.none)
            default: throw error(node, "attachments is \(shown(node))", remedy: remedy)
            }
        case .mapping(let mapping):
            var rule = AttachmentRule()
            for (key, value) in mapping {
                switch key.string {
                case "include":
                    let expression = try string(value, "include")
                    rule.selection = .include(expression)
                    _ = try Result { () throws(AttachmentSelectionError) in try AttachmentSelector(rule) }
                        .mapError { error(value, "\($0)", remedy: "correct the expression") }.get()
                case "max-size": rule.maxSize = try size(value, "max-size")
                case "max-total": rule.maxTotal = try size(value, "max-total")
                default: throw unknown(key, ["include", "max-size", "max-total"])
                }
            }
            return rule
        default: throw error(node, "attachments is \(kind(node))", remedy: remedy)
        }
    }

    func size(_ node: Node, _ what: String) throws(ConfigurationError) -> UInt64 {
        guard case .scalar(let scalar) = node, let bytes = ByteSize.parse(scalar.string) else {
            throw error(node, "\(what) is \(shown(node))", remedy: "write a size above zero, such as 20 MiB")
        }
        return bytes
    }
}

extension ConfigurationReader {
    private func compose(_ text: String) throws(ConfigurationError) -> Node {
        try YAMLText.check(Bytes(utf8: text), file: file, canBeJSON: false)
        let composed: Node?
        do {
            // Some editors begin a file with a byte order mark. In a string, libyaml would read it as text.
            let scalars = text.unicodeScalars
            let marked = scalars.first == "\u{FEFF}" ? String(scalars.dropFirst()) : text
            // Only texts are read from the nodes, and the default resolver would compile seven regular expressions.
            composed = try Yams.compose(yaml: marked, .basic)
        } catch let error as YamlError {
            throw invalidYAML(error, text)
        } catch {
            throw ConfigurationError(file: file, problem: "\(error)", remedy: "correct the YAML")
        }
        guard let composed else {
            throw ConfigurationError(
                file: file, problem: "the file is empty", remedy: "rsdump add BUCKET/COLLECTION fills it")
        }
        return composed
    }

    private func invalidYAML(_ error: YamlError, _ text: String) -> ConfigurationError {
        func located(_ line: Int?, _ problem: String) -> ConfigurationError {
            ConfigurationError(file: file, line: line, problem: "not YAML: \(problem)", remedy: "correct this line")
        }
        switch error {
        case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
            .composer(_, let problem, let mark, _):
            return located(mark.line, problem)
        case .reader(let problem, _, _, _): return located(nil, problem)
        case .duplicatedKeysInMapping(let duplicates, let context):
            let names = duplicates.sorted()
            return ConfigurationError(
                file: file, line: secondLine(of: names, from: context.mark, in: text),
                problem: "\(names.joined(separator: ", ")) appears here a second time", remedy: "keep one of them")
        default: return located(nil, "\(error)")
        }
    }

    /// The line of a key's second occurrence. YAML's own error names only the line at which the mapping begins.
    private func secondLine(of names: [String], from start: Mark, in text: String) -> Int {
        let indent = String(repeating: " ", count: start.column - 1)
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
        var seen: Set<String> = []
        for (index, line) in lines.enumerated().dropFirst(start.line - 1) {
            guard let name = names.first(where: { line.hasPrefix("\(indent)\($0):") }) else { continue }
            if !seen.insert(name).inserted { return index + 1 }
        }
        return start.line
    }

    func mapping(_ node: Node, _ what: String) throws(ConfigurationError) -> Node.Mapping {
        guard case .mapping(let mapping) = node else {
            throw error(node, "\(what) is \(kind(node))", remedy: "write key: value pairs")
        }
        return mapping
    }

    func string(_ node: Node, _ what: String) throws(ConfigurationError) -> String {
        guard case .scalar(let scalar) = node, !scalar.string.isEmpty else {
            throw error(node, "\(what) is \(kind(node))", remedy: "write a text")
        }
        return scalar.string
    }

    private func bool(_ node: Node, _ what: String) throws(ConfigurationError) -> Bool {
        switch node.string {
        case "true": return true
        case "false": return false
        default: throw error(node, "\(what) is \(shown(node))", remedy: "write true or false")
        }
    }

    private func isNull(_ node: Node) -> Bool {
        guard case .scalar(let scalar) = node else { return false }
        return scalar.style == .plain && (scalar.string.isEmpty || scalar.string == "~" || scalar.string == "null")
    }

    func unknown(_ key: Node, _ known: [String]) -> ConfigurationError {
        error(key, "unknown key \(shown(key))", remedy: "known here: \(known.joined(separator: ", "))")
    }

    func error(_ node: Node, _ problem: String, remedy: String) -> ConfigurationError {
        ConfigurationError(file: file, line: node.mark?.line, problem: problem, remedy: remedy)
    }

    func shown(_ node: Node) -> String {
        if case .scalar(let scalar) = node { String(reflecting: String(scalar.string.prefix(80))) } else { kind(node) }
    }

    private func kind(_ node: Node) -> String {
        switch node {
        case .mapping: "a mapping"
        case .sequence: "a list"
        case .alias: "an alias"
        case .scalar(let scalar): scalar.string.isEmpty ? "empty" : String(reflecting: String(scalar.string.prefix(80)))
        }
    }
}
