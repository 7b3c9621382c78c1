/// A SHA-256 hash (FIPS 180-4). This type only stores the value; `ContentHasher` computes it.
public struct SHA256Digest: Hashable, Sendable {
    // Four words instead of an array, because digests are compared and hashed often, which must not allocate memory.
    private let words: (UInt64, UInt64, UInt64, UInt64)

    /// Creates a digest from the bytes of a hash.
    ///
    /// - Returns: `nil` unless there are exactly 32 bytes.
    package init?(_ bytes: some Sequence<UInt8>) {
        var iterator = bytes.makeIterator()
        func word() -> UInt64? {
            var value: UInt64 = 0
            for _ in 0..<8 {
                guard let byte = iterator.next() else { return nil }
                value = value << 8 | UInt64(byte)
            }
            return value
        }
        guard let a = word(), let b = word(), let c = word(), let d = word(), iterator.next() == nil else { return nil }
        words = (a, b, c, d)
    }

    /// Creates a digest from the output of the hash function.
    ///
    /// - Returns: `nil` unless there are exactly 32 bytes.
    package init?(raw: RawSpan) {
        guard raw.byteCount == 32 else { return nil }
        words = (Self.word(raw, at: 0), Self.word(raw, at: 8), Self.word(raw, at: 16), Self.word(raw, at: 24))
    }

    private static func word(_ raw: RawSpan, at offset: Int) -> UInt64 {
        unsafe UInt64(bigEndian: raw.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    /// Parses 64 lower-case hexadecimal digits; `nil` for anything else.
    ///
    /// A hash has only one text form, so comparing text and comparing bytes give the same result.
    package init?(hex: String) {
        var hex = hex
        guard let words = hex.withUTF8({ unsafe Self.words($0.span) }) else { return nil }
        self.words = words
    }

    private static func words(_ hex: Span<UInt8>) -> (UInt64, UInt64, UInt64, UInt64)? {
        guard hex.count == 64, let a = word(hex, at: 0), let b = word(hex, at: 16), let c = word(hex, at: 32),
            let d = word(hex, at: 48)
        else { return nil }
        return (a, b, c, d)
    }

    private static func word(_ hex: Span<UInt8>, at start: Int) -> UInt64? {
        var value: UInt64 = 0
        for index in start..<start + 16 {
            guard let digit = hexValue(hex[index]) else { return nil }
            value = value << 4 | UInt64(digit)
        }
        return value
    }

    /// The 32 bytes.
    package var bytes: [UInt8] {
        unsafe withUnsafeBytes(of: (words.0.bigEndian, words.1.bigEndian, words.2.bigEndian, words.3.bigEndian)) {
            unsafe Array($0)
        }
    }

    /// The hash as 64 lower-case hexadecimal digits.
    public var hex: String {
        unsafe String(unsafeUninitializedCapacity: 64) { target in
            var index = 0
            for word in [words.0, words.1, words.2, words.3] {
                for shift in stride(from: 60, through: 0, by: -4) {
                    let digit = UInt8(truncatingIfNeeded: word >> UInt64(shift) & 15)
                    unsafe target[index] = digit + (digit < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") - 10)
                    index += 1
                }
            }
            return index
        }
    }

    private static func hexValue(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }

    public static func == (left: SHA256Digest, right: SHA256Digest) -> Bool { left.words == right.words }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(words.0)
        hasher.combine(words.3)
    }
}

extension SHA256Digest: Codable {
    /// Decodes 64 lower-case hexadecimal digits.
    ///
    /// - Throws: `DecodingError` for anything else.
    public init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        guard let digest = SHA256Digest(hex: try value.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: value, debugDescription: "not 64 lower-case hexadecimal digits")
        }
        self = digest
    }

    /// Encodes ``hex``.
    public func encode(to encoder: any Encoder) throws { try hex.encode(to: encoder) }
}

extension SHA256Digest: Comparable, CustomStringConvertible {
    public static func < (left: SHA256Digest, right: SHA256Digest) -> Bool { left.words < right.words }

    public var description: String { hex }
}
