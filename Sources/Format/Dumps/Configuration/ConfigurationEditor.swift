import RemoteSettingsModel

/// Edits `dumps.yaml` as text. Comments, order and spelling elsewhere in the file stay as they are.
///
/// Every result is parsed again. An edit that would have another effect than intended is refused.
package struct ConfigurationEditor {
    package private(set) var text: String
    let file: String

    /// Reads the text to edit.
    ///
    /// - Parameter text: the file's content; `nil` to start a new file.
    /// - Throws: ``ConfigurationError`` if the file is already invalid.
    package init(_ text: String?, file: String) throws(ConfigurationError) {
        self.text = text ?? Self.start
        self.file = file
        _ = try ConfigurationReader.read(self.text, file: file)
    }

    /// The beginning of a new file.
    static let start = """
        # Which Remote Settings collections are kept as snapshot bundles here. Refresh them with: rsdump refresh
        version: 1

        # prod, stage, dev, or the base URL of a server (https://…/v1 or /v2).
        server: prod

        collections:

        """

    /// Adds a collection, as ``add(_:attachments:)-([CollectionID],_)`` does.
    ///
    /// - Returns: `false` if it was already there. Nothing is changed then.
    package mutating func add(_ id: CollectionID, attachments: String?) throws(ConfigurationError) -> Bool {
        try !add([id], attachments: attachments).isEmpty
    }

    /// Adds collections in one edit. The text is parsed as often as for a single collection.
    ///
    /// - Parameter attachments: `all` or `none`; `nil` to use the file's default.
    /// - Returns: the collections that were not there before. If there are none, nothing is changed.
    package mutating func add(
        _ ids: [CollectionID], attachments: String?
    ) throws(ConfigurationError) -> Set<CollectionID> {
        let before = Set(try ConfigurationReader.read(text, file: file).collections.map(\.id))
        let new = Set(ids).subtracting(before)
        guard !new.isEmpty else { return [] }
        for ids in Dictionary(grouping: before.union(new), by: \.ignoringCase).values where ids.count > 1 {
            throw .sameBundle(ids[0], ids[1], file: file, line: nil)
        }
        let lines = self.lines
        let block = try collectionsBlock()
        let indent = String(repeating: " ", count: block.indent)
        var edited: [String] = []
        var copied = 0
        for (line, id) in block.places(for: ids.filter(new.contains)) {
            edited += lines[copied..<line]
            copied = line
            edited.append("\(indent)\(id):")
            if let attachments { edited.append("\(indent)\(indent)attachments: \(attachments)") }
        }
        try adopt(edited + lines[copied...]) { Set($0.collections.map(\.id)) == before.union(new) }
        return new
    }

    /// Removes a collection and its settings. Comments stay.
    ///
    /// - Returns: `false` if it was not there. Nothing is changed then.
    package mutating func remove(_ id: CollectionID) throws(ConfigurationError) -> Bool {
        let before = try ConfigurationReader.read(text, file: file)
        guard before.collections.contains(where: { $0.id == id }) else { return false }
        let block = try collectionsBlock()
        guard let key = block.keys.first(where: { $0.name == id.description }) else { throw byHand(nil) }
        var lines = self.lines
        lines.removeSubrange(key.line..<Self.end(of: key.line, indent: block.indent, in: lines))
        try adopt(lines) {
            $0.collections.count == before.collections.count - 1 && !$0.collections.contains { $0.id == id }
        }
        return true
    }

    /// Sets the server.
    package mutating func setServer(_ server: String) throws(ConfigurationError) {
        guard try ConfigurationReader.read(text, file: file).server != server else { return }
        var lines = self.lines
        let root = try ConfigurationReader.compose(text, file: file)
        if let value = root["server"] {
            let line = lines[value.line - 1]
            guard let colon = line.firstIndex(of: ":") else { throw byHand(value.line) }
            let comment = line.firstRange(of: " #").map { "  " + line[$0.lowerBound...].drop { $0 == " " } } ?? ""
            lines[value.line - 1] = line[...colon] + " " + server + comment
        } else {
            lines.insert("server: \(server)", at: try topLevelLine())
        }
        try adopt(lines) { $0.server == server }
    }

    /// Adds a root certificate to the trusted ones.
    package mutating func addRoot(_ root: SHA256Digest) throws(ConfigurationError) {
        guard try !ConfigurationReader.read(text, file: file).trust.roots.contains(root) else { return }
        var lines = self.lines
        let document = try ConfigurationReader.compose(text, file: file)
        let trust = document.members?.first { $0.key.string == "trust" }
        if let trust, let members = trust.value.members, !trust.value.isFlow {
            if let roots = members.first(where: { $0.key.string == "roots" }) {
                guard case .sequence(let items) = roots.value.content, !roots.value.isFlow, let last = items.last else {
                    throw byHand(roots.key.line)
                }
                let indent = String(repeating: " ", count: Self.indentation(lines[last.line - 1]))
                lines.insert("\(indent)- \"\(root)\"", at: last.line)
            } else {
                lines.insert(contentsOf: ["  roots:", "    - \"\(root)\""], at: trust.key.line)
            }
        } else if trust == nil {
            lines.insert(contentsOf: ["trust:", "  roots:", "    - \"\(root)\"", ""], at: try topLevelLine())
        } else {
            throw byHand(trust?.key.line)
        }
        try adopt(lines) { $0.trust.roots.contains(root) }
    }
}

extension ConfigurationEditor {
    struct Block {
        var indent: Int
        /// The keys with their lines, which count from 0.
        var keys: [(name: String, line: Int)]
        var endLine: Int

        /// The places for new collections.
        ///
        /// If the existing collections are sorted, each new one goes before the first that follows it in the alphabet.
        /// Otherwise the new ones go to the end, in the given order.
        ///
        /// - Returns: each collection once, with the line to insert it before, sorted by line.
        func places(for ids: [CollectionID]) -> [(line: Int, id: CollectionID)] {
            var seen: Set<CollectionID> = []
            let ids = ids.filter { seen.insert($0).inserted }
            let names = keys.map(\.name)
            guard names == names.sorted() else { return ids.map { (endLine, $0) } }
            var later = keys[...]
            return ids.sorted { $0.description < $1.description }.map { id in
                later = later.drop { $0.name <= id.description }
                return (later.first?.line ?? endLine, id)
            }
        }
    }

    /// The lines, each with the carriage return that may end it. Scalars are split, because Swift counts CR and LF as
    /// one character.
    var lines: [String] {
        text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    }

    func collectionsBlock() throws(ConfigurationError) -> Block {
        let root = try ConfigurationReader.compose(text, file: file)
        let lines = self.lines
        guard let pair = root.members?.first(where: { $0.key.string == "collections" }) else {
            throw ConfigurationError(
                file: file, problem: "there is no \"collections:\"", remedy: "add a line \"collections:\" at the end")
        }
        let keyLine = pair.key.line
        guard let members = pair.value.members else { return Block(indent: 2, keys: [], endLine: keyLine) }
        var keys: [(name: String, line: Int)] = []
        for (key, _) in members {
            guard let name = key.string else { throw byHand(keyLine) }
            // In the flow form `{a: b}`, the key has more than spaces before it.
            guard lines[key.line - 1].prefix(key.column - 1).allSatisfy({ $0 == " " }) else { throw byHand(keyLine) }
            keys.append((name, key.line - 1))
        }
        guard let last = keys.last else { return Block(indent: 2, keys: [], endLine: keyLine) }
        let indent = Self.indentation(lines[last.line])
        return Block(indent: indent, keys: keys, endLine: Self.end(of: last.line, indent: indent, in: lines))
    }

    /// The line for a new key of the file's top level: before `collections:` and the comments right above it.
    private func topLevelLine() throws(ConfigurationError) -> Int {
        let root = try ConfigurationReader.compose(text, file: file)
        guard let key = root.members?.first(where: { $0.key.string == "collections" })?.key else {
            return lines.count - 1
        }
        var line = key.line - 1
        let lines = self.lines
        while line > 0, lines[line - 1].hasPrefix("#") { line -= 1 }
        return line
    }

    mutating func adopt(
        _ lines: [String], _ isMeant: (DumpsConfiguration) -> Bool
    ) throws(ConfigurationError) {
        // New lines end as the first line does.
        let hasReturns = self.lines.count > 1 && self.lines[0].unicodeScalars.last == "\r"
        let ended = lines.enumerated().map { number, line in
            hasReturns && number < lines.count - 1 && line.unicodeScalars.last != "\r" ? line + "\r" : line
        }
        let edited = ended.joined(separator: "\n")
        guard let read = try? ConfigurationReader.read(edited, file: file), isMeant(read) else { throw byHand(nil) }
        text = edited
    }

    func byHand(_ line: Int?) -> ConfigurationError {
        ConfigurationError(
            file: file, line: line,
            problem: "rsdump cannot edit this line without changing others",
            remedy: "edit the file by hand")
    }

    /// The line after a key and everything that is indented more deeply. Blank lines and comments at the end do not
    /// belong to the key.
    static func end(of key: Int, indent: Int, in lines: [String]) -> Int {
        let rest = lines.indices.dropFirst(key + 1)
        let own = rest.prefix { isBlankOrComment(lines[$0]) || indentation(lines[$0]) > indent }
        return (own.last { !isBlankOrComment(lines[$0]) } ?? key) + 1
    }

    static func indentation(_ line: String) -> Int { line.prefix { $0 == " " }.count }

    static func isBlankOrComment(_ line: String) -> Bool {
        let content = line.drop { $0 == " " || $0 == "\t" || $0 == "\r" }
        return content.isEmpty || content.first == "#"
    }
}
