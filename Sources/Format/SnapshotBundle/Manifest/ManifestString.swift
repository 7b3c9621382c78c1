import RemoteSettingsModel

extension ManifestScanner {
    /// A string after its opening quote, and its closing quote, in the one spelling that `JSONString` has for it in
    /// ASCII.
    mutating func string(after literal: StaticString, _ raw: RawSpan) throws(BundleError) -> String {
        try expect(literal, raw)
        let start = at
        while at < raw.byteCount {
            let byte = raw.little(at, as: UInt8.self)
            if byte == 0x22 {
                at += 1
                return unsafe raw.extracting(start..<at - 1).withUnsafeBytes { buffer in
                    unsafe String(decoding: buffer, as: UTF8.self)
                }
            }
            guard byte >= 0x20, byte < 0x7F else { throw failure(expected: "printable ASCII", found: "byte \(byte)") }
            if byte == 0x5C { return try escaped(raw, from: start) }
            at += 1
        }
        throw failure(expected: "the end of a string", found: "the end of the text")
    }

    private mutating func escaped(_ raw: RawSpan, from start: Int) throws(BundleError) -> String {
        var units: [UInt16] = (start..<at).map { UInt16(raw.little($0, as: UInt8.self)) }
        while at < raw.byteCount {
            let byte = raw.little(at, as: UInt8.self)
            at += 1
            switch byte {
            case 0x22:
                guard let string = String(validating: units, as: UTF16.self) else {
                    throw failure(expected: "paired surrogates", found: "a lone one")
                }
                return string
            case 0x5C: units.append(try escape(raw))
            case 0x20...0x7E: units.append(UInt16(byte))
            default: throw failure(expected: "printable ASCII", found: "byte \(byte)")
            }
        }
        throw failure(expected: "the end of a string", found: "the end of the text")
    }

    private mutating func escape(_ raw: RawSpan) throws(BundleError) -> UInt16 {
        guard at < raw.byteCount else { throw failure(expected: "an escape", found: "the end of the text") }
        let kind = raw.little(at, as: UInt8.self)
        at += 1
        if kind == 0x22 || kind == 0x5C { return UInt16(kind) }
        guard kind == UInt8(ascii: "u"), raw.byteCount - at >= 4 else {
            throw failure(expected: "\\\", \\\\ or \\u", found: "another escape")
        }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            let digit = raw.little(at, as: UInt8.self)
            switch digit {
            case 0x30...0x39: unit = unit << 4 | UInt16(digit - 0x30)
            case 0x61...0x66: unit = unit << 4 | UInt16(digit - 0x57)
            default: throw failure(expected: "lower-case hexadecimal digits", found: "byte \(digit)")
            }
            at += 1
        }
        guard !(0x20...0x7E).contains(unit) else {
            throw failure(expected: "printable ASCII as it is", found: "an escape of it")
        }
        return unit
    }
}
