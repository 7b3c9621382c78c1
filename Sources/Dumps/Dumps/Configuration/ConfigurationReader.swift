import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

/// A strict parser of `dumps.yaml`. For an unknown key, a wrong type or an invalid value, it throws an error with the
/// line.
package struct ConfigurationReader {
    let file: String

    /// Parses a configuration.
    ///
    /// - Parameter text: the file's content.
    /// - Throws: ``Failure``.
    package static func read(_ text: String, file: String) throws(Failure) -> DumpsConfiguration {
        try ConfigurationReader(file: file).configuration(from: text)
    }

    /// Returns the root of the document with its positions, for an editor that preserves comments.
    static func compose(_ text: String, file: String) throws(Failure) -> YAMLNode {
        let reader = ConfigurationReader(file: file)
        let root = try reader.compose(text)
        _ = try reader.mapping(root, "the file")
        return root
    }

    private func configuration(from text: String) throws(Failure) -> DumpsConfiguration {
        let root = try compose(text)
        var configuration = DumpsConfiguration()
        let known = [
            "version", "requires", "server", "allow-plain-http", "trust", "attachments", "compression", "budget",
            "guards", "collections",
        ]
        // Check the version first, because a file for a later rsdump may contain settings that this version does not
        // know.
        if let requirement = root["requires"] { configuration.requires = try checkedRequirement(requirement) }
        for (key, value) in try mapping(root, "the file") {
            switch key.string {
            case "version":
                guard value.string.flatMap({ Int($0) }) == DumpsConfiguration.version else {
                    throw error(
                        value, "unknown version \(shown(value))",
                        remedy:
                            "write \(DumpsConfiguration.version), or update rsdump if the file is for a newer version"
                    )
                }
            case "server":
                configuration.server = try string(value, "server")
                do { _ = try ServerURL(configuration.server, allowPlainHTTP: true) } catch {
                    throw self.error(value, "\(error)", remedy: "correct the server")
                }
            case "allow-plain-http": configuration.allowsPlainHTTP = try bool(value, "allow-plain-http")
            case "trust": configuration.trust = try trust(value)
            case "catalogue": configuration.hasCatalogue = true
            case "attachments": configuration.attachments = try rule(value)
            case "compression": configuration.compression = try compression(value)
            case "budget": (configuration.budget, configuration.totalBudget) = try budget(value, isOfAll: true)
            case "guards": try guards(value, into: &configuration.guards)
            case "requires", "collections": break
            default: throw unknown(key, known)
            }
        }
        guard root["version"] != nil else {
            throw Failure(
                place: file, line: 1, problem: "the version is missing", remedy: "begin the file with \"version: 1\"")
        }
        if let collections = root["collections"] {
            configuration.collections = try self.collections(collections, of: configuration)
        }
        return configuration
    }

    /// Checks `requires: ">= 0.2"` against the version of this tool.
    private func checkedRequirement(_ node: YAMLNode) throws(Failure) -> String {
        let text = try string(node, "requires")
        let wanted =
            text.hasPrefix(">=") ? DumpsConfiguration.version(String(text.dropFirst(2).drop { $0 == " " })) : nil
        guard let wanted else {
            throw refused(node, "requires", remedy: "write the lowest version, such as \">= 0.2\"")
        }
        guard !DumpsConfiguration.toolVersion.lexicographicallyPrecedes(wanted) else {
            throw error(
                node, "the file requires \(text), but this rsdump is \(DumpsConfiguration.tool)",
                remedy: "update rsdump")
        }
        return text
    }

    private func collections(
        _ node: YAMLNode, of configuration: DumpsConfiguration
    ) throws(Failure) -> [DumpsConfiguration.Collection] {
        if isNull(node) { return [] }
        var collections: [DumpsConfiguration.Collection] = []
        var ids: [ExactString: CollectionID] = [:]
        for (key, value) in try mapping(node, "collections") {
            let name = try string(key, "the collection's name")
            let id = try mapFailure(of: try CollectionID(name)) {
                error(key, "\($0)", remedy: "write it as BUCKET/COLLECTION, such as main/markets")
            }
            if let other = ids.updateValue(id, forKey: id.ignoringCase.exact) {
                throw .sameBundle(id, other, file: file, line: key.line)
            }
            var collection = configuration.settings(of: id)
            if !isNull(value) {
                for (setting, content) in try mapping(value, "\(id)") {
                    switch setting.string {
                    case "attachments": collection.attachments = try rule(content)
                    case "compression": collection.compression = try compression(content)
                    case "pin": collection.pin = try pin(content)
                    case "acknowledged": collection.acknowledged = try acknowledgement(content)
                    case "budget":
                        let own = try budget(content, isOfAll: false).budget
                        collection.budget.bundle = own.bundle ?? configuration.budget.bundle
                        collection.budget.attachment = own.attachment ?? configuration.budget.attachment
                    case "guards": try guards(content, into: &collection.guards)
                    default:
                        throw unknown(
                            setting, ["attachments", "compression", "pin", "acknowledged", "budget", "guards"])
                    }
                }
            }
            collections.append(collection)
        }
        return collections.sorted { $0.id < $1.id }
    }

    private func trust(_ node: YAMLNode) throws(Failure) -> DumpsConfiguration.Trust {
        var trust = DumpsConfiguration.Trust()
        for (key, value) in try mapping(node, "trust") {
            switch key.string {
            case "roots":
                guard case .sequence(let items) = value.content else {
                    throw error(value, "roots cannot be \(kind(value))", remedy: "write a list of SHA-256 hashes")
                }
                for item in items { trust.roots.append(try rootHash(item)) }
            case "signer": trust.signer = try string(value, "signer")
            case "accept-unsigned": trust.acceptsUnsigned = try bool(value, "accept-unsigned")
            default: throw unknown(key, ["roots", "signer", "accept-unsigned"])
            }
        }
        return trust
    }

    private func rootHash(_ node: YAMLNode) throws(Failure) -> SHA256Digest {
        let text = try string(node, "a root")
        guard let hash = try? TrustAnchors.rootHash(text) else {
            throw error(
                node, "\(shown(node)) is not a SHA-256 hash",
                remedy: "write 64 hexadecimal digits, with or without colons")
        }
        return hash
    }

    private func rule(_ node: YAMLNode) throws(Failure) -> AttachmentRule {
        let remedy = "write all, none, or a mapping with include, max-size and max-total"
        switch node.content {
        case .scalar:
            switch node.string {
            case "all": return AttachmentRule(.all)
            case "none": return AttachmentRule(.none)
            default: throw refused(node, "attachments", remedy: remedy)
            }
        case .mapping(let mapping):
            var rule = AttachmentRule()
            for (key, value) in mapping {
                switch key.string {
                case "include":
                    let expression = try string(value, "include")
                    rule.selection = .include(expression)
                    _ = try mapFailure(of: try AttachmentSelector(rule)) {
                        error(value, "include is not a filter expression: \($0)", remedy: "correct the expression")
                    }
                case "max-size": rule.maxSize = try size(value, "max-size")
                case "max-total": rule.maxTotal = try size(value, "max-total")
                default: throw unknown(key, ["include", "max-size", "max-total"])
                }
            }
            return rule
        default: throw error(node, "attachments cannot be \(kind(node))", remedy: remedy)
        }
    }

    func size(_ node: YAMLNode, _ what: String) throws(Failure) -> UInt64 {
        guard case .scalar(let scalar) = node.content, let bytes = ByteSize.parse(scalar.string) else {
            throw refused(node, what, remedy: "write a size above zero, such as 20 MiB")
        }
        return bytes
    }

    private func compose(_ text: String) throws(Failure) -> YAMLNode {
        guard let root = try YAMLNode.composed(Bytes(utf8: text), file: file, canBeJSON: false) else {
            throw Failure(
                place: file, problem: "the file is empty", remedy: "add a collection with: rsdump add BUCKET/COLLECTION"
            )
        }
        return root
    }

    func mapping(_ node: YAMLNode, _ what: String) throws(Failure) -> [YAMLNode.Member] {
        guard case .mapping(let mapping) = node.content else {
            throw error(node, "\(what) cannot be \(kind(node))", remedy: "write key: value pairs")
        }
        return mapping
    }

    func string(_ node: YAMLNode, _ what: String) throws(Failure) -> String {
        guard case .scalar(let scalar) = node.content, !scalar.string.isEmpty else {
            throw error(node, "\(what) cannot be \(kind(node))", remedy: "write a string")
        }
        return scalar.string
    }

    func bool(_ node: YAMLNode, _ what: String) throws(Failure) -> Bool {
        switch node.string {
        case "true": return true
        case "false": return false
        default: throw refused(node, what, remedy: "write true or false")
        }
    }

    private func isNull(_ node: YAMLNode) -> Bool {
        guard case .scalar(let scalar) = node.content else { return false }
        return scalar.isPlain && (scalar.string.isEmpty || scalar.string == "~" || scalar.string == "null")
    }

    func unknown(_ key: YAMLNode, _ known: [String]) -> Failure {
        let similar = key.string?.mostSimilar(in: known).map { "did you mean \($0)?" }
        return error(
            key, "unknown key \(shown(key))", remedy: similar ?? "the keys here are \(known.joined(separator: ", "))")
    }

    func error(_ node: YAMLNode, _ problem: String, remedy: String) -> Failure {
        Failure(place: file, line: node.line, problem: problem, remedy: remedy)
    }

    /// Returns an error for a value that a key cannot have.
    func refused(_ node: YAMLNode, _ what: String, remedy: String) -> Failure {
        error(node, "\(what) cannot be \(shown(node))", remedy: remedy)
    }

    func shown(_ node: YAMLNode) -> String {
        if case .scalar(let scalar) = node.content {
            VisibleText.quote(scalar.string)
        } else {
            kind(node)
        }
    }

    private func kind(_ node: YAMLNode) -> String {
        switch node.content {
        case .mapping: "a mapping"
        case .sequence: "a list"
        case .scalar(let scalar):
            scalar.string.isEmpty ? "empty" : VisibleText.quote(scalar.string)
        }
    }
}
