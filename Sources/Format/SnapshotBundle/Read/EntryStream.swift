import RemoteSettingsModel

/// Reads one entry's contents from end to end, in pieces, and checks its size and CRC-32.
struct EntryStream {
    let isStored: Bool
    /// Bytes, uncompressed.
    let size: Int
    let crc: UInt32
    let data: Range<Int>
    let bytes: Bytes
    let file: String
    let name: String
    /// The file from which `bytes` are mapped, if they are; pages that were read are released.
    let mapping: MappedFile?

    private static let inputPiece = 1 << 20
    private static let outputPiece = 256 << 10

    /// - Parameter inflater: one that is used for entry after entry, because making one costs as much as inflating a
    ///   small entry; `nil` for one of its own.
    func read(with inflater: Inflater? = nil, _ consume: (Span<UInt8>) throws -> Void) throws {
        var foundCRC: UInt32 = 0
        var foundSize = 0
        let checked: (Span<UInt8>) throws -> Void = { piece in
            foundCRC = crc32(of: piece, continuing: foundCRC)
            foundSize += piece.count
            try consume(piece)
        }
        if isStored {
            try readStored(checked)
        } else {
            try readDeflated(with: inflater, checked)
        }
        guard foundSize == size, foundCRC == crc else {
            throw damaged(
                expected: "\(size) bytes with CRC-32 \(crc)",
                found: "\(foundSize) bytes with CRC-32 \(foundCRC)")
        }
    }

    private func readStored(_ consume: (Span<UInt8>) throws -> Void) throws {
        var offset = data.lowerBound
        while offset < data.upperBound {
            let end = min(offset + Self.inputPiece, data.upperBound)
            try bytes[offset..<end].withSpan { (span) throws in try consume(span) }
            mapping?.discard(offset..<end)
            offset = end
        }
    }

    private func readDeflated(with known: Inflater?, _ consume: (Span<UInt8>) throws -> Void) throws {
        known?.reset()
        let inflater = try known ?? mapped { () throws(InflateError) in try Inflater() }
        let input = bytes[data]
        var buffer = [UInt8](repeating: 0, count: min(size, Self.outputPiece - 1) + 1)
        var (consumed, discarded, produced) = (0, 0, 0)
        while true {
            let step = try mapped { () throws(InflateError) in
                try inflater.inflate(input, from: consumed, into: &buffer)
            }
            consumed += step.consumed
            produced += step.produced
            guard produced <= size else { throw damaged(expected: "\(size) bytes", found: "more") }
            if step.produced > 0 {
                try consume(buffer.span.extracting(0..<step.produced))
            }
            if consumed - discarded >= Self.inputPiece {
                mapping?.discard(data.lowerBound + discarded..<data.lowerBound + consumed)
                discarded = consumed
            }
            if step.isEnd { break }
            guard step.consumed > 0 || step.produced > 0 else {
                throw damaged(expected: "a whole deflate stream", found: InflateError.tooShort.found)
            }
        }
        guard consumed == input.count else {
            throw damaged(expected: "the end of the stream", found: InflateError.trailingBytes.found)
        }
    }

    private func mapped<Value>(_ body: () throws(InflateError) -> Value) throws(BundleError) -> Value {
        do throws(InflateError) {
            return try body()
        } catch {
            throw damaged(expected: "a deflate stream", found: error.found)
        }
    }

    private func damaged(expected: String, found: String) -> BundleError {
        BundleError(.damaged, file: file, entry: name, expected: expected, found: found)
    }
}
