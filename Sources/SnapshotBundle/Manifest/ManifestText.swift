import RemoteSettingsModel

extension Manifest {
    /// The text of `manifest.json`.
    ///
    /// One line for the head, then one line for every entry and every file: JSON without other white space, in ASCII,
    /// its members in this order.
    public var text: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(1024 + files.count * 256)
        func append(_ part: String) { text.append(contentsOf: part.utf8) }

        append("{\"format\":\(BundleFormat.version),\"bucket\":\"\(head.collection.bucket)\"")
        append(",\"collection\":\"\(head.collection.name)\",\"timestamp\":\(head.timestamp.milliseconds)")
        append(",\"records\":\(head.records),\"attachments\":\(head.attachments),\"omitted\":\(head.omitted)")
        append(",\"trust\":\"\(head.trust.rawValue)\",\n\"entries\":[\n")
        for (index, entry) in entries.enumerated() {
            if index > 0 { append(",\n") }
            append("{\"name\":\"\(entry.name)\",\"size\":\(entry.size),\"sha256\":\"\(entry.sha256.hex)\"}")
        }
        append("\n],\n\"files\":[\n")
        for (index, file) in files.enumerated() {
            if index > 0 { append(",\n") }
            append("{\"sha256\":\"")
            append(file.sha256.hex)
            append("\",\"size\":\(file.size),\"location\":")
            ASCIIString.append(file.location, to: &text)
            append(",\"records\":[")
            for (index, id) in file.records.enumerated() {
                append(index > 0 ? ",\"" : "\"")
                append(id)
                append("\"")
            }
            append("]")
            if let reason = file.omitted {
                append(",\"omitted\":\"\(reason.word)\"")
            }
            append("}")
        }
        append(files.isEmpty ? "]}\n" : "\n]}\n")
        return text
    }
}

/// A JSON string in ASCII, with as few escapes as that needs: `"` and `\` by a backslash, every other character that
/// is not printable ASCII by `\u` and four lower-case hexadecimal digits for each of its UTF-16 code units.
package enum ASCIIString {
    package static func append(_ string: String, to text: inout [UInt8]) {
        text.append(UInt8(ascii: "\""))
        for unit in string.utf16 {
            switch unit {
            case 0x22, 0x5C:
                text.append(UInt8(ascii: "\\"))
                text.append(UInt8(truncatingIfNeeded: unit))
            case 0x20...0x7E:
                text.append(UInt8(truncatingIfNeeded: unit))
            default:
                text.append(contentsOf: "\\u".utf8)
                for shift in [12, 8, 4, 0] as [UInt16] {
                    let digit = UInt8(truncatingIfNeeded: unit >> shift & 15)
                    text.append(digit < 10 ? 0x30 + digit : 0x57 + digit)
                }
            }
        }
        text.append(UInt8(ascii: "\""))
    }
}
