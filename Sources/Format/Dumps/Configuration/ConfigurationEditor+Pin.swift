import RemoteSettingsModel

extension ConfigurationEditor {
    /// Pins a collection. A new pin replaces the current one; all other settings stay.
    ///
    /// - Throws: ``ConfigurationError`` if the collection is not in the file.
    package mutating func setPin(_ pin: Pin, of id: CollectionID) throws(ConfigurationError) {
        _ = try removePin(of: id)
        var lines = self.lines
        let place = try place(of: id)
        let indent = String(repeating: " ", count: place.indent)
        let step = String(repeating: " ", count: place.indent - place.keyIndent)
        var entry = ["\(indent)pin:", "\(indent)\(step)at: \(pin.at)  # \(pin.at.rfc3339)"]
        if let reason = pin.reason { entry.append("\(indent)\(step)reason: \(Self.quoted(reason))") }
        if let until = pin.until { entry.append("\(indent)\(step)until: \(Pin.dateText(until))") }
        lines.insert(contentsOf: entry, at: place.line + 1)
        try adopt(lines) { configuration in
            configuration.collections.first { $0.id == id }?.pin == pin
        }
    }

    /// Removes a collection's pin.
    ///
    /// - Returns: the removed pin; `nil` if there was none.
    /// - Throws: ``ConfigurationError`` if the collection is not in the file.
    package mutating func removePin(of id: CollectionID) throws(ConfigurationError) -> Pin? {
        let before = try ConfigurationReader.read(text, file: file)
        guard let settings = before.collections.first(where: { $0.id == id }) else { throw notThere(id) }
        guard let pin = settings.pin else { return nil }
        guard let key = try place(of: id).settings?.members?.first(where: { $0.key.string == "pin" })?.key else {
            throw byHand(nil)
        }
        var lines = self.lines
        let line = key.line - 1
        guard lines[line].prefix(key.column - 1).allSatisfy({ $0 == " " }) else { throw byHand(key.line) }
        lines.removeSubrange(line..<Self.end(of: line, indent: key.column - 1, in: lines))
        try adopt(lines) { configuration in
            configuration.collections.contains { $0.id == id && $0.pin == nil }
                && configuration.collections.count == before.collections.count
        }
        return pin
    }

    private struct Place {
        /// The line of the collection's name, counted from 0.
        var line: Int
        var keyIndent: Int
        /// The indentation of its settings.
        var indent: Int
        /// Its settings, if they are not in brackets; `nil` if there are none.
        var settings: YAMLNode?
    }

    private func place(of id: CollectionID) throws(ConfigurationError) -> Place {
        let block = try collectionsBlock()
        let root = try ConfigurationReader.compose(text, file: file)
        guard let key = block.keys.first(where: { $0.name == id.description }),
            let value = root["collections"]?[id.description]
        else { throw notThere(id) }
        var place = Place(line: key.line, keyIndent: block.indent, indent: block.indent * 2, settings: nil)
        guard let members = value.members else { return place }
        guard !value.isFlow, let first = members.first?.key, first.line - 1 > key.line else {
            throw byHand(key.line + 1)
        }
        place.settings = value
        place.indent = first.column - 1
        return place
    }

    private func notThere(_ id: CollectionID) -> ConfigurationError {
        ConfigurationError(file: file, problem: "it does not name \(id)", remedy: "add it with: rsdump add \(id)")
    }

    /// A double-quoted scalar of YAML (YAML 1.2, 7.3.1).
    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"") + "\""
    }
}
