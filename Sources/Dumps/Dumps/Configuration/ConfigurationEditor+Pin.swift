import RemoteSettingsModel

extension ConfigurationEditor {
    /// Pins a collection. A new pin replaces the current one; all other settings are kept.
    ///
    /// - Throws: ``Failure`` if the collection is not in the file.
    package mutating func setPin(_ pin: Pin, of id: CollectionID) throws(Failure) {
        var editor = self
        _ = try editor.removePin(of: id)
        let place = try editor.place(of: id)
        let indent = String(repeating: " ", count: place.indent)
        let step = String(repeating: " ", count: max(place.indent - place.keyIndent, 1))
        var entry = ["\(indent)pin:", "\(indent)\(step)at: \(pin.at)  # \(pin.at.rfc3339)"]
        if let reason = pin.reason { entry.append("\(indent)\(step)reason: \(Self.quoted(reason))") }
        if let until = pin.until { entry.append("\(indent)\(step)until: \(Pin.dateText(until))") }
        var edited = EditedText(editor.text)
        edited.insert(entry, at: edited.nextLine(after: place.key.upperBound))
        try editor.adopt(edited, expecting: editor.configuration(with: pin, of: id))
        self = editor
    }

    /// Removes a collection's pin.
    ///
    /// - Returns: the removed pin; `nil` if there was none.
    /// - Throws: ``Failure`` if the collection is not in the file.
    package mutating func removePin(of id: CollectionID) throws(Failure) -> Pin? {
        let before = try ConfigurationReader.read(text, file: file).collections
        guard let settings = before.first(where: { $0.id == id }) else { throw notThere(id) }
        guard let pin = settings.pin else { return nil }
        guard let key = try place(of: id).settings?.members?.first(where: { $0.key.string == "pin" })?.key else {
            throw byHand(nil)
        }
        var edited = EditedText(text)
        let start = key.range.lowerBound
        guard let indent = edited.indent(of: start) else { throw byHand(key.line) }
        edited.replace(edited.lineStart(of: start)..<edited.end(of: key.range.upperBound, indent: indent), with: "")
        try adopt(edited, expecting: configuration(with: nil, of: id))
        return pin
    }

    /// Returns the current configuration with the pin of a collection replaced.
    private func configuration(with pin: Pin?, of id: CollectionID) throws(Failure) -> DumpsConfiguration {
        var configuration = try ConfigurationReader.read(text, file: file)
        for index in configuration.collections.indices where configuration.collections[index].id == id {
            configuration.collections[index].pin = pin
        }
        return configuration
    }

    private struct Place {
        /// The range of the collection's name.
        var key: Range<Int>
        var keyIndent: Int
        /// The indentation of the collection's settings.
        var indent: Int
        /// The collection's settings, if they are not in brackets; `nil` if there are none.
        var settings: YAMLNode?
    }

    private func place(of id: CollectionID) throws(Failure) -> Place {
        let block = try collectionsBlock()
        let root = try ConfigurationReader.compose(text, file: file)
        guard let (key, value) = root["collections"]?.members?.first(where: { $0.key.string == id.description })
        else { throw notThere(id) }
        var place = Place(key: key.range, keyIndent: block.indent, indent: block.indent * 2, settings: nil)
        guard let members = value.members else { return place }
        guard !value.isFlow, let first = members.first?.key, first.line > key.line,
            let indent = EditedText(text).indent(of: first.range.lowerBound)
        else { throw byHand(key.line) }
        place.settings = value
        place.indent = indent
        return place
    }

    private func notThere(_ id: CollectionID) -> Failure {
        let known = (try? ConfigurationReader.read(text, file: file))?.collections.map(\.id) ?? []
        return .notConfigured([id], file, known: known)
    }

    /// Returns a double-quoted YAML scalar (YAML 1.2, 7.3.1).
    private static func quoted(_ text: String) -> String {
        // Iterates over scalars, because Swift combines a quotation mark and a following combining mark into one
        // character.
        "\"" + text.unicodeScalars.map { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }.joined() + "\""
    }
}
