import RemoteSettingsModel

extension LockFile {
    /// The lock as text: JSON in ASCII, indented by two spaces, with sorted collections, a fixed order of members and a line
    /// end after it. The same lock always has the same bytes.
    package var text: [UInt8] {
        var writer = IndentedJSON()
        writer.open("{")
        writer.member("version", Self.version)
        writer.open("{", key: "collections")
        for (id, collection) in collections.sorted(by: { $0.key < $1.key }) {
            writer.open("{", key: id.description)
            collection.write(to: &writer)
            writer.close("}")
        }
        writer.close("}")
        writer.close("}")
        return writer.finish()
    }
}

extension LockFile.Collection {
    fileprivate func write(to writer: inout IndentedJSON) {
        writer.member("server", server)
        writer.member("timestamp", timestamp.milliseconds)
        writer.member("lastModified", timestamp.rfc3339)
        writer.member("records", records)
        writer.member("attachments", attachments)
        writer.member("attachmentRule", attachmentRule)
        writer.open("[", key: "omitted")
        for omission in omitted {
            writer.open("{")
            writer.member("reason", omission.reason.word)
            writer.member("count", omission.count)
            writer.member("bytes", omission.bytes)
            writer.close("}")
        }
        writer.close("]")
        writer.member("content", content.hex)
        writer.open("{", key: "bundle")
        writer.member("path", bundle.path)
        writer.member("size", bundle.size)
        writer.member("sha256", bundle.sha256.hex)
        writer.close("}")
        switch trust {
        case .unsigned: writer.member("trust", "unsigned")
        case .imported: writer.member("trust", "imported")
        case .signed(let verdict):
            writer.open("{", key: "trust")
            writer.open("{", key: "signed")
            writer.member("signer", verdict.signer)
            writer.member("root", verdict.root.hex)
            writer.member("chainNotAfter", verdict.chainNotAfter.rfc3339)
            writer.member("verifiedAt", verdict.verifiedAt.rfc3339)
            writer.close("}")
            writer.close("}")
        }
    }
}

/// Writes JSON with one member or element per line.
private struct IndentedJSON {
    private var text: [UInt8] = []
    private var depth = 0
    private var isFirst = true

    mutating func open(_ bracket: String, key: String? = nil) {
        begin(key)
        text.append(contentsOf: bracket.utf8)
        depth += 1
        isFirst = true
    }

    mutating func close(_ bracket: String) {
        depth -= 1
        if !isFirst { line() }
        text.append(contentsOf: bracket.utf8)
        isFirst = false
    }

    mutating func member(_ key: String, _ value: String) {
        begin(key)
        JSONString.append(value, .ascii, to: &text)
    }

    mutating func member(_ key: String, _ value: some BinaryInteger) {
        begin(key)
        text.append(contentsOf: String(value).utf8)
    }

    mutating func finish() -> [UInt8] {
        text.append(UInt8(ascii: "\n"))
        return text
    }

    private mutating func begin(_ key: String?) {
        if !isFirst { text.append(UInt8(ascii: ",")) }
        if depth > 0 { line() }
        isFirst = false
        if let key {
            JSONString.append(key, .ascii, to: &text)
            text.append(contentsOf: ": ".utf8)
        }
    }

    private mutating func line() {
        text.append(UInt8(ascii: "\n"))
        text.append(contentsOf: [UInt8](repeating: UInt8(ascii: " "), count: depth * 2))
    }
}
