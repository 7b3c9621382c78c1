import FileStorage
import RemoteSettingsModel

/// The JSON file that a project keeps of a collection: `{"data": [record…], "timestamp": N}`.
enum DumpDocument {
    /// Reads the file; its metadata is made up, as such files have none.
    ///
    /// - Parameter style: what the project's files look like. Where this one looks different, its metadata says so, and
    ///   the file can be written again as it was.
    /// - Throws: `FileError` or ``ExchangeError``.
    static func read(_ path: String, of id: CollectionID, style: DumpStyle, limits: Limits) throws -> ImportedCollection
    {
        guard let text = try FileStore.read(path, limit: limits.changesetBytes) else {
            throw ExchangeError(
                .badInput, path, expected: "a file", found: "none", remedy: "name another path")
        }
        do {
            var reader = JSONReader(text, limits: limits)
            var data: Bytes?
            var timestamp: UInt64?
            try reader.beginObject()
            while let key = try reader.nextKey() {
                switch key {
                case "data": data = try reader.skipValue()
                case "timestamp": timestamp = try reader.unsignedInteger()
                default: _ = try reader.skipValue()
                }
            }
            try reader.finish()
            guard let data else { throw JSONError(.missingKey("data"), at: 0) }
            guard let timestamp else { throw JSONError(.missingKey("timestamp"), at: 0) }
            let metadata = JSONText.compact(DumpMetadata.make(id, DumpStyle.seen(in: text, of: style)))
            var changeset = Array("{\"metadata\":".utf8) + metadata
            changeset += Array(",\"timestamp\":\(timestamp),\"changes\":".utf8) + data.array + [UInt8(ascii: "}")]
            return try ImportedCollection(id, changeset: Changeset(parsing: Bytes(changeset), limits: limits))
        } catch let error where error is JSONError || error is ChangesetError {
            throw ExchangeError(
                .badInput, path, expected: "a collection's records, {\"data\": […], \"timestamp\": …}",
                found: "\(error)",
                remedy: "take the file from its project again")
        }
    }
}

/// The metadata of a collection that was imported without any.
enum DumpMetadata {
    /// - Parameter style: where the file looked unlike its project's others.
    static func make(_ id: CollectionID, _ style: DumpStyle?) -> JSONValue {
        var members = [
            JSONValue.Member(key: "bucket", value: .string(id.bucket)),
            JSONValue.Member(key: "id", value: .string(id.name)),
        ]
        if let style {
            let layout: [JSONValue.Member] = [
                .init(key: "indent", value: .number(JSONNumber(style.indent))),
                .init(key: "newline", value: .bool(style.endsWithNewline)),
            ]
            members.append(.init(key: "layout", value: .object(layout)))
        }
        return .object(members)
    }

    /// The style that the metadata asks for, in place of the project's.
    static func style(_ metadata: JSONValue, of style: DumpStyle) -> DumpStyle {
        guard let layout = metadata["layout"], let indent = layout["indent"]?.number?.uint64, indent <= 16,
            let newline = layout["newline"]?.bool
        else { return style }
        var own = style
        own.indent = Int(indent)
        own.endsWithNewline = newline
        return own
    }
}

extension DumpStyle {
    /// This style with the indentation and the last line end of a text; `nil` where they are the style's.
    static func seen(in text: Bytes, of style: DumpStyle) -> DumpStyle? {
        var own = style
        text.withSpan { span in
            own.endsWithNewline = span.count > 0 && span[span.count - 1] == UInt8(ascii: "\n")
            var indent = 0
            while indent + 2 < span.count, indent < 16, span[1] == UInt8(ascii: "\n"),
                span[indent + 2] == UInt8(ascii: " ")
            { indent += 1 }
            own.indent = indent
        }
        return own == style ? nil : own
    }
}
