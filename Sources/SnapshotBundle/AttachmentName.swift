import RemoteSettingsModel

/// The hexadecimal part of `attachments/<sha256>`, as eight words whose order is the text's order.
struct AttachmentName {
    let words: SIMD8<UInt64>

    /// Reads the name at `offset`, which must be ``BundleFormat/attachmentNameLength`` bytes long.
    @inline(__always)
    init(_ raw: RawSpan, at offset: Int) {
        let start = offset + 12
        var words = SIMD8<UInt64>()
        for index in 0..<8 {
            words[index] = raw.bigWord(start + index * 8)
        }
        self.words = words
    }

    @inline(__always)
    func isBefore(_ other: SIMD8<UInt64>) -> Bool {
        for index in 0..<8 where words[index] != other[index] {
            return words[index] < other[index]
        }
        return false
    }

    /// Whether the name is `attachments/` and 64 lower-case hexadecimal digits.
    @inline(__always)
    static func isValid(_ raw: RawSpan, _ name: Range<Int>) -> Bool {
        guard name.count == BundleFormat.attachmentNameLength,
            raw.bigWord(name.lowerBound) == 0x6174_7461_6368_6D65,  // "attachme"
            raw.little(name.lowerBound + 8, as: UInt32.self) == 0x2F73_746E  // "nts/"
        else { return false }
        var valid = SIMDMask<SIMD16<Int8>>(repeating: true)
        for part in 0..<4 {
            let digits = unsafe raw.unsafeLoadUnaligned(
                fromByteOffset: name.lowerBound + 12 + part * 16, as: SIMD16<UInt8>.self)
            let decimal = (digits &- 48) .< 10
            let letter = (digits &- 97) .< 6
            valid = valid .& (decimal .| letter)
        }
        return all(valid)
    }
}

extension SHA256Digest {
    /// The lower-case hexadecimal digits, as an ``AttachmentName`` has them.
    fileprivate func words(of hex: [UInt8]) -> SIMD8<UInt64> {
        var words = SIMD8<UInt64>()
        for (index, digit) in hex.enumerated() {
            words[index / 8] = words[index / 8] << 8 | UInt64(digit)
        }
        return words
    }

    var hexWords: SIMD8<UInt64> { words(of: Array(hex.utf8)) }
}
