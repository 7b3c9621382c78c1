import RemoteSettingsModel

/// Reads the fixed text of a manifest from left to right.
///
/// Every byte of the text is prescribed: no white space but the line ends, members in one order, one spelling for every
/// value. It is therefore read in one pass, the head from the first bytes alone, and anything else is refused. General
/// JSON readers can read manifests as well.
struct ManifestScanner {
    let file: String
    var at: Int

    mutating func head(_ raw: RawSpan) throws(BundleError) -> BundleHead {
        let format = try number(after: "{\"format\":", raw)
        guard format == BundleFormat.version else {
            throw BundleError(
                .unknownVersion, file: file, entry: BundleFormat.manifest, expected: "format \(BundleFormat.version)",
                found: "format \(format)")
        }
        let bucket = try word(after: ",\"bucket\":\"", raw)
        let name = try word(after: ",\"collection\":\"", raw)
        guard let collection = try? CollectionID(bucket: bucket, name: name) else {
            throw failure(expected: "valid ids of bucket and collection", found: "\(bucket)/\(name)")
        }
        let timestamp = Timestamp(milliseconds: UInt64(try number(after: ",\"timestamp\":", raw)))
        let records = try number(after: ",\"records\":", raw)
        let attachments = try number(after: ",\"attachments\":", raw)
        let omitted = try number(after: ",\"omitted\":", raw)
        let trust = try word(after: ",\"trust\":\"", raw)
        guard let trust = Provenance.Kind(rawValue: trust) else {
            throw failure(expected: "signed, unsigned or imported", found: trust)
        }
        return BundleHead(
            collection: collection, timestamp: timestamp, records: records, attachments: attachments,
            omitted: omitted, trust: trust)
    }

    mutating func manifest(_ raw: RawSpan) throws(BundleError) -> Manifest {
        let head = try head(raw)
        try expect(",\n\"entries\":[\n", raw)
        var entries: [Manifest.Entry] = []
        repeat {
            let name = try word(after: "{\"name\":\"", raw)
            let size = try number(after: ",\"size\":", raw)
            let digest = try digest(after: ",\"sha256\":\"", raw)
            try expect("}", raw)
            entries.append(Manifest.Entry(name: name, size: size, sha256: digest))
        } while entries.count < 3 && accept(",\n", raw)
        try expect("\n],\n\"files\":[\n", raw)
        var files: [Manifest.File] = []
        if !accept("]}\n", raw) {
            repeat { files.append(try attachment(raw)) } while accept(",\n", raw)
            try expect("\n]}\n", raw)
        }
        guard at == raw.byteCount else { throw failure(expected: "the end", found: "more") }
        return Manifest(head: head, entries: entries, files: files)
    }

    private mutating func attachment(_ raw: RawSpan) throws(BundleError) -> Manifest.File {
        let digest = try digest(after: "{\"sha256\":\"", raw)
        let size = try number(after: ",\"size\":", raw)
        let location = try string(after: ",\"location\":\"", raw)
        var records = [try word(after: ",\"records\":[\"", raw)]
        while accept(",\"", raw) { records.append(try word(raw)) }
        try expect("]", raw)
        var omitted: OmissionReason?
        if accept(",\"omitted\":\"", raw) {
            let word = try word(raw)
            omitted = OmissionReason(word)
            guard omitted != nil else { throw failure(expected: "a reason", found: "\"\(word)\"") }
        }
        try expect("}", raw)
        return Manifest.File(sha256: digest, size: size, location: location, records: records, omitted: omitted)
    }
}

extension ManifestScanner {
    func failure(expected: String, found: String) -> BundleError {
        BundleError(
            .malformed, file: file, entry: "\(BundleFormat.manifest), byte \(at)", expected: expected, found: found)
    }

    private mutating func accept(_ literal: StaticString, _ raw: RawSpan) -> Bool {
        let count = literal.utf8CodeUnitCount
        guard count <= raw.byteCount - at else { return false }
        for index in 0..<count {
            let byte = unsafe literal.utf8Start[index]
            guard raw.little(at + index, as: UInt8.self) == byte else { return false }
        }
        at += count
        return true
    }

    mutating func expect(_ literal: StaticString, _ raw: RawSpan) throws(BundleError) {
        guard accept(literal, raw) else {
            throw failure(
                expected: "`\(literal)`",
                found: "`\(ZIPEntry.text(raw, at..<min(raw.byteCount, at + 40)))`")
        }
    }

    /// A whole number without sign, leading zeros or more than 18 digits.
    private mutating func number(after literal: StaticString, _ raw: RawSpan) throws(BundleError) -> Int {
        try expect(literal, raw)
        let start = at
        var value: UInt64 = 0
        while at < raw.byteCount {
            let byte = raw.little(at, as: UInt8.self)
            guard byte >= 0x30, byte <= 0x39, at - start < 18 else { break }
            value = value * 10 + UInt64(byte - 0x30)
            at += 1
        }
        let digits = at - start
        guard digits > 0, digits == 1 || raw.little(start, as: UInt8.self) != 0x30 else {
            throw failure(expected: "a number", found: ZIPEntry.text(raw, start..<min(raw.byteCount, start + 20)))
        }
        guard let number = Int(exactly: value) else {
            throw failure(expected: "a number that fits into \(Int.bitWidth) bits", found: "\(value)")
        }
        return number
    }

    /// 64 lower-case hexadecimal digits and the closing quote.
    private mutating func digest(after literal: StaticString, _ raw: RawSpan) throws(BundleError) -> SHA256Digest {
        let text = try word(after: literal, raw)
        guard let digest = SHA256Digest(hex: text) else {
            throw failure(expected: "64 lower-case hexadecimal digits", found: text)
        }
        return digest
    }

    /// A string without escapes, after its opening quote.
    private mutating func word(after literal: StaticString = "", _ raw: RawSpan) throws(BundleError) -> String {
        let text = try string(after: literal, raw)
        guard text.utf8.allSatisfy({ $0 != 0x22 && $0 != 0x5C && $0 < 0x7F }) else {
            throw failure(expected: "a plain word", found: "another")
        }
        return text
    }
}
