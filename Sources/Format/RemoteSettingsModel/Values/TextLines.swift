// The lines of text files written by people or other programs. They are split as bytes, because such a file may not be
// UTF-8, and because Swift treats CR LF as one character.

extension Span<UInt8> {
    /// Returns the length in bytes of the line ending (LF, CRLF or CR) at an offset; 0 if there is none.
    ///
    /// - Parameter isYAML: whether U+0085, U+2028 and U+2029 are also line endings, as in YAML 1.1.
    package func lineEnd(at offset: Int, isYAML: Bool = false) -> Int {
        func has(_ bytes: UInt8...) -> Bool {
            bytes.count <= count - offset && bytes.indices.allSatisfy { self[offset + $0] == bytes[$0] }
        }
        switch self[offset] {
        case 0x0A: return 1
        case 0x0D: return has(0x0D, 0x0A) ? 2 : 1
        case 0xC2 where isYAML: return has(0xC2, 0x85) ? 2 : 0
        case 0xE2 where isYAML: return has(0xE2, 0x80, 0xA8) || has(0xE2, 0x80, 0xA9) ? 3 : 0
        default: return 0
        }
    }

    /// Returns the number of the line that contains an offset, starting at 1.
    package func line(at offset: Int, isYAML: Bool = false) -> Int {
        var (line, position) = (1, 0)
        while position < Swift.min(offset, count) {
            let end = lineEnd(at: position, isYAML: isYAML)
            if end > 0 { line += 1 }  // bounded: by the bytes
            position += Swift.max(end, 1)  // bounded: by the bytes
        }
        return line
    }
}

extension Bytes {
    /// The lines without their line endings.
    package var lines: [Bytes] {
        var lines: [Bytes] = []
        var start = 0
        withSpan { span in
            var position = 0
            while position < span.count {
                let end = span.lineEnd(at: position)
                if end > 0 {
                    lines.append(self[start..<position])
                    start = position + end  // bounded: by the bytes
                }
                position += Swift.max(end, 1)  // bounded: by the bytes
            }
        }
        if start < count { lines.append(self[start..<count]) }
        return lines
    }

    /// The bytes without a leading UTF-8 byte order mark.
    package var withoutByteOrderMark: Bytes { starts(with: [0xEF, 0xBB, 0xBF]) ? self[3..<count] : self }

    /// Returns these bytes with lines appended. The line ending is CRLF if the first line has it, otherwise LF.
    package func appending(lines: [String]) -> Bytes {
        let bytes = array
        let end: [UInt8] =
            bytes.firstIndex(of: 0x0A).map { bytes[..<$0].last == 0x0D } ?? false ? [0x0D, 0x0A] : [0x0A]
        let isComplete = bytes.isEmpty || bytes.last == 0x0A
        return Bytes(bytes + (isComplete ? [] : end) + lines.flatMap { Array($0.utf8) + end })
    }
}
