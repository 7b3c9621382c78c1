import RemoteSettingsModel

/// Compares and checks names of the form `attachments/<sha256>` without copying them, eight digits at a time.
enum AttachmentName {
    private static let prefixLength = 12

    /// Returns whether the name is `attachments/` and 64 lower-case hexadecimal digits.
    @inline(__always)
    static func isValid(_ raw: RawSpan, _ name: Range<Int>) -> Bool {
        guard name.count == BundleFormat.attachmentNameLength else { return false }
        let text = raw.extracting(name.lowerBound..<name.lowerBound + BundleFormat.attachmentNameLength)
        guard text.bigWord(0) == 0x6174_7461_6368_6D65,  // "attachme"
            text.little(8, as: UInt32.self) == 0x2F73_746E  // "nts/"
        else { return false }
        let ones: UInt64 = 0x0101_0101_0101_0101
        let high: UInt64 = ones << 7
        var valid = high
        for step in 0..<8 {
            let word = text.bigWord(prefixLength + step * 8)
            // Adding a constant to each byte below 0x80 sets bit 7 if the byte is at least 0x80 minus that constant.
            let digit = (word &+ ones &* 0x50) & ~(word &+ ones &* 0x46)
            let letter = (word &+ ones &* 0x1F) & ~(word &+ ones &* 0x19)
            valid &= (digit | letter) & ~word
        }
        return valid == high
    }

    /// Compares the digits of the names at two offsets. The result is negative, zero or positive.
    @inline(__always)
    static func compare(_ leftName: Int, in left: RawSpan, with rightName: Int, in right: RawSpan) -> Int {
        for step in 0..<8 {
            let a = left.bigWord(leftName + prefixLength + step * 8)
            let b = right.bigWord(rightName + prefixLength + step * 8)
            if a != b { return a < b ? -1 : 1 }
        }
        return 0
    }
}
