import RemoteSettingsModel

extension Manifest {
    /// The text of `manifest.json`.
    ///
    /// It is ASCII JSON: the head on one line, then one line for each entry and each file. There is no other white
    /// space, and the order of the members is fixed.
    package var text: [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity(1024 + files.count * 256)
        func append(_ part: String) { text.append(contentsOf: part.utf8) }

        append(head.text)
        append(",\n\"entries\":[\n")
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
            JSONString.append(file.location, .ascii, to: &text)
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

extension BundleHead {
    /// The first line of `manifest.json`.
    var text: String {
        "{\"format\":\(BundleFormat.version),\"bucket\":\"\(collection.bucket)\""
            + ",\"collection\":\"\(collection.name)\",\"timestamp\":\(timestamp.milliseconds)"
            + ",\"records\":\(records),\"attachments\":\(attachments),\"omitted\":\(omitted)"
            + ",\"trust\":\"\(trust.rawValue)\""
    }
}
