import RemoteSettingsModel

/// A text editor for `dumps.yaml`. It preserves comments, order and formatting in the rest of the file.
///
/// Every result is parsed again. An edit that would not have exactly the intended effect is refused.
package struct ConfigurationEditor {
    package private(set) var text: String
    let file: String

    /// Creates an editor.
    ///
    /// - Parameter text: the file's content; `nil` to start a new file.
    /// - Throws: ``Failure`` if the file is already invalid.
    package init(_ text: String?, file: String) throws(Failure) {
        self.text = text ?? Self.start
        self.file = file
        _ = try ConfigurationReader.read(self.text, file: file)
    }

    /// The initial content of a new file.
    static let start = """
        # The Remote Settings collections that are stored here as snapshot bundles. Update them with: rsdump refresh
        version: 1

        # prod, stage, dev, or the base URL of a server (https://…/v1 or /v2).
        server: prod

        collections:

        """

    /// Adds a collection. See ``add(_:attachments:)-([CollectionID],_)``.
    ///
    /// - Returns: `false` if it was already listed; in that case, nothing is changed.
    package mutating func add(_ id: CollectionID, attachments: String?) throws(Failure) -> Bool {
        try !add([id], attachments: attachments).isEmpty
    }

    /// Adds collections in one edit, so that the text is parsed no more often than for a single collection.
    ///
    /// - Parameter attachments: `all` or `none`; `nil` to use the file's default.
    /// - Returns: the collections that were not listed before. If there are none, nothing is changed.
    package mutating func add(_ ids: [CollectionID], attachments: String?) throws(Failure) -> Set<CollectionID> {
        var expected = try ConfigurationReader.read(text, file: file)
        let before = Set(expected.collections.map(\.id))
        let new = Set(ids).subtracting(before)
        guard !new.isEmpty else { return [] }
        for ids in Dictionary(grouping: before.union(new), by: \.ignoringCase).values where ids.count > 1 {
            throw .sameBundle(ids[0], ids[1], file: file, line: nil)
        }
        let block = try collectionsBlock()
        let indent = String(repeating: " ", count: block.indent)
        var edited = EditedText(text)
        // Insert from the last position to the first, so that the other positions remain valid.
        for (position, id) in block.places(for: ids.filter(new.contains)).reversed() {
            let settings = attachments.map { ["\(indent)\(indent)attachments: \($0)"] } ?? []
            edited.insert(["\(indent)\(id):"] + settings, at: position)
        }
        for id in new {
            var collection = expected.settings(of: id)
            if let attachments { collection.attachments = AttachmentRule(attachments == "all" ? .all : .none) }
            expected.collections.append(collection)
        }
        expected.collections.sort { $0.id < $1.id }
        try adopt(edited, expecting: expected)
        return new
    }

    /// Removes a collection and its settings. Comments are kept.
    ///
    /// - Returns: `false` if it was not listed; in that case, nothing is changed.
    package mutating func remove(_ id: CollectionID) throws(Failure) -> Bool {
        var expected = try ConfigurationReader.read(text, file: file)
        guard expected.collections.contains(where: { $0.id == id }) else { return false }
        let block = try collectionsBlock()
        guard let key = block.keys.first(where: { $0.name == id.description }) else { throw byHand(nil) }
        var edited = EditedText(text)
        edited.replace(key.start..<edited.end(of: key.start, indent: block.indent), with: "")
        expected.collections.removeAll { $0.id == id }
        try adopt(edited, expecting: expected)
        return true
    }

    /// Sets the server.
    package mutating func setServer(_ server: String) throws(Failure) {
        var expected = try ConfigurationReader.read(text, file: file)
        guard expected.server != server else { return }
        var edited = EditedText(text)
        if let value = try ConfigurationReader.compose(text, file: file)["server"] {
            edited.replace(value.range, with: server)
        } else {
            edited.insert(["server: \(server)"], at: try topLevelPosition())
        }
        expected.server = server
        try adopt(edited, expecting: expected)
    }

    /// Adds a root certificate to the trusted ones.
    package mutating func addRoot(_ root: SHA256Digest) throws(Failure) {
        var expected = try ConfigurationReader.read(text, file: file)
        guard !expected.trust.roots.contains(root) else { return }
        var edited = EditedText(text)
        let document = try ConfigurationReader.compose(text, file: file)
        let trust = document.members?.first { $0.key.string == "trust" }
        if let trust, let members = trust.value.members, !trust.value.isFlow {
            if let roots = members.first(where: { $0.key.string == "roots" }) {
                guard case .sequence(let items) = roots.value.content, !roots.value.isFlow, let last = items.last else {
                    throw byHand(roots.key.line)
                }
                let line = edited.lineStart(of: last.range.lowerBound)
                let indent = String(repeating: " ", count: edited.scalars[line...].prefix { $0 == " " }.count)
                edited.insert(["\(indent)- \"\(root)\""], at: edited.nextLine(after: last.range.upperBound))
            } else {
                let place = edited.nextLine(after: trust.key.range.upperBound)
                edited.insert(["  roots:", "    - \"\(root)\""], at: place)
            }
        } else if trust == nil {
            edited.insert(["trust:", "  roots:", "    - \"\(root)\"", ""], at: try topLevelPosition())
        } else {
            throw byHand(trust?.key.line)
        }
        expected.trust.roots.append(root)
        try adopt(edited, expecting: expected)
    }

    struct Block {
        var indent: Int
        /// The keys with the start positions of their lines.
        var keys: [(name: String, start: Int)]
        var end: Int

        /// Returns the positions at which to insert new collections.
        ///
        /// If the existing collections are sorted, the new ones are inserted in alphabetical order. Otherwise they are
        /// appended in the given order.
        ///
        /// - Returns: each collection once, with its position, sorted by position.
        func places(for ids: [CollectionID]) -> [(position: Int, id: CollectionID)] {
            let ids = ids.uniqued()
            let names = keys.map(\.name)
            guard names == names.sorted() else { return ids.map { (end, $0) } }
            var later = keys[...]
            return ids.sorted { $0.description < $1.description }.map { id in
                later = later.drop { $0.name <= id.description }
                return (later.first?.start ?? end, id)
            }
        }
    }

    func collectionsBlock() throws(Failure) -> Block {
        let root = try ConfigurationReader.compose(text, file: file)
        let edited = EditedText(text)
        guard let pair = root.members?.first(where: { $0.key.string == "collections" }) else {
            throw Failure(
                place: file, problem: "the file has no \"collections:\"",
                remedy: "add a line \"collections:\" at the end")
        }
        var block = Block(indent: 2, keys: [], end: edited.nextLine(after: pair.key.range.upperBound))
        for (key, _) in pair.value.members ?? [] {
            // In the flow form `{a: b}`, a key can be preceded by something other than spaces. Such a file must be
            // edited by hand.
            guard let name = key.string, let indent = edited.indent(of: key.range.lowerBound) else {
                throw byHand(pair.key.line)
            }
            block.indent = indent
            block.keys.append((name, edited.lineStart(of: key.range.lowerBound)))
            block.end = edited.end(of: key.range.upperBound, indent: indent)
        }
        return block
    }

    /// Returns the position for a new top-level key of the file: before `collections:` and the comments right above it.
    private func topLevelPosition() throws(Failure) -> Int {
        let root = try ConfigurationReader.compose(text, file: file)
        let edited = EditedText(text)
        guard let key = root.members?.first(where: { $0.key.string == "collections" })?.key else {
            return edited.scalars.count
        }
        var position = edited.lineStart(of: key.range.lowerBound)
        while position > 0 {
            let above = edited.lineBefore(position)
            guard edited.scalars[above] == "#" else { break }
            position = above
        }
        return position
    }

    /// Replaces the text with an edited one, if that has exactly the expected configuration.
    mutating func adopt(_ edited: EditedText, expecting expected: DumpsConfiguration) throws(Failure) {
        let edited = edited.text
        guard (try? ConfigurationReader.read(edited, file: file)) == expected else { throw byHand(nil) }
        text = edited
    }

    func byHand(_ line: Int?) -> Failure {
        Failure(
            place: file, line: line,
            problem: "rsdump cannot make this change without changing other lines",
            remedy: "edit the file by hand")
    }
}
