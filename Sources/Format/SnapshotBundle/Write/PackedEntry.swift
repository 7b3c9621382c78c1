import RemoteSettingsModel

/// An entry of a bundle in its stored or compressed form.
package struct PackedEntry: Sendable {
    /// The size in bytes, uncompressed.
    package let size: Int
    /// The CRC-32 of the uncompressed bytes, from the ZIP directory.
    package let crc: UInt32
    /// Whether ``bytes`` are a raw deflate stream (RFC 1951).
    package let isDeflated: Bool
    /// The entry's data, as a slice of the bundle.
    package let bytes: Bytes
    /// The name of the bundle, for error messages.
    let file: String
    let name: String
    /// The file that ``bytes`` are mapped from; `nil` for bytes in memory.
    let mapping: MappedFile?
    let start: Int

    private static let inputPiece = 1 << 20
    private static let outputPiece = 256 << 10

    /// Releases memory pages whose data has been read.
    func discard(_ range: Range<Int>) { mapping?.discard(start + range.lowerBound..<start + range.upperBound) }

    /// Reads the contents from start to end, piece by piece, and checks their size and CRC-32. Memory pages that have
    /// been read are released.
    ///
    /// - Parameter inflater: an inflater to reuse, because creating one takes as long as inflating a small entry; `nil`
    ///   to create one.
    func read(with inflater: Inflater? = nil, _ consume: (Span<UInt8>) throws -> Void) throws {
        var foundCRC: UInt32 = 0
        var foundSize = 0
        let checked: (Span<UInt8>) throws -> Void = { piece in
            foundCRC = crc32(of: piece, continuing: foundCRC)
            foundSize += piece.count
            guard foundSize <= size else { throw damaged(expected: "\(size) bytes", found: "more") }
            try consume(piece)
        }
        try isDeflated ? readDeflated(with: inflater, checked) : readStored(checked)
        guard foundSize == size, foundCRC == crc else {
            throw damaged(
                expected: "\(size) bytes with CRC-32 \(crc)", found: "\(foundSize) bytes with CRC-32 \(foundCRC)")
        }
    }

    private func readStored(_ consume: (Span<UInt8>) throws -> Void) throws {
        for start in stride(from: 0, to: bytes.count, by: Self.inputPiece) {
            let piece = start..<min(start.saturatingAdding(Self.inputPiece), bytes.count)
            try bytes[piece].withSpan { (span) throws in try consume(span) }
            discard(piece)
        }
    }

    private func readDeflated(with inflater: Inflater?, _ consume: (Span<UInt8>) throws -> Void) throws {
        let unpacking = try Unpacking(self, inflater)
        var buffer = [UInt8](repeating: 0, count: min(size, Self.outputPiece - 1) + 1)
        var discarded = 0
        while case let count = try unpacking.next(into: &buffer), count > 0 {
            try consume(buffer.span.extracting(0..<count))
            if unpacking.consumed - discarded >= Self.inputPiece {
                discard(discarded..<unpacking.consumed)
                discarded = unpacking.consumed
            }
        }
        guard unpacking.consumed == bytes.count else {
            throw damaged(found: "there are bytes after the end of the deflate stream")
        }
    }

    func damaged(expected: String? = nil, found: String) -> Failure {
        Failure(.damaged, file: file, entry: name, expected: expected, found: found)
    }
}

extension PackedEntry {
    /// Returns an object that provides the uncompressed bytes piece by piece, without checking them.
    package func unpacking() throws(Failure) -> Unpacking { try Unpacking(self, nil) }

    /// Inflates an entry piece by piece, on demand. It is not safe to use from several threads.
    package final class Unpacking {
        private let entry: PackedEntry
        private let inflater: Inflater?
        fileprivate private(set) var consumed = 0

        fileprivate init(_ entry: PackedEntry, _ known: Inflater?) throws(Failure) {
            self.entry = entry
            known?.reset()
            guard entry.isDeflated, known == nil else {
                inflater = known
                return
            }
            inflater = try mapFailure(of: try Inflater()) { entry.damaged(found: "cannot decompress the entry: \($0)") }
        }

        /// Fills `piece` from its start with the next bytes.
        ///
        /// - Returns: the number of bytes; 0 after the last ones.
        package func next(into piece: inout [UInt8]) throws(Failure) -> Int {
            guard let inflater else {
                let count = min(piece.count, entry.bytes.count - consumed)
                let next = entry.bytes[consumed..<consumed + count]
                consumed += count
                piece.replaceSubrange(0..<count, with: next.array)
                return count
            }
            while true {
                let step = try mapFailure(of: try inflater.inflate(entry.bytes, from: consumed, into: &piece)) {
                    entry.damaged(found: "cannot decompress the entry: \($0)")
                }
                consumed += step.consumed
                if step.produced > 0 || step.isEnd { return step.produced }
                guard step.consumed > 0 else { throw entry.damaged(found: "the deflate stream is incomplete") }
            }
        }
    }
}

extension BundleReader {
    /// Returns an attachment in its stored or compressed form. Its bytes are not checked.
    ///
    /// - Returns: `nil` if the bundle does not contain it.
    /// - Throws: ``Failure`` if the ZIP structure is wrong.
    package func packedAttachment(_ digest: SHA256Digest) throws(Failure) -> PackedEntry? {
        guard let index = directory.index(of: digest) else { return nil }
        return try entry(index)
    }

    /// The compression with which the bundle was written, inferred from its entries.
    package var compression: BundleWriter.Compression {
        if (0..<directory.count).allSatisfy({ !directory.isDeflated(at: $0) }) { return .stored }
        return directory.isDeflated(at: 1) ? .deflate : .storedRecords
    }

    /// Returns bytes in which an entry is at its place: those of the whole file, or a copy of an attachment.
    func bytes(of index: Int) throws(Failure) -> Bytes {
        guard let mapping, index >= directory.fixedCount else { return directory.bytes }
        return try mapping.copy([directory.range(of: index), directory.recordRange(of: index)])
    }

    func entry(_ index: Int) throws(Failure) -> PackedEntry {
        let bytes = try bytes(of: index)
        let (entry, place, _) = try directory.open(index, in: bytes)
        return PackedEntry(
            size: entry.size, crc: entry.crc, isDeflated: entry.method == ZIPLayout.deflated, bytes: bytes[place],
            file: name, name: directory.name(at: index), mapping: mapping,
            start: place.lowerBound)
    }

    /// Returns an entry's bytes: a slice of the file if it is stored, otherwise inflated and checked against their
    /// CRC-32.
    func contents(_ index: Int, checksCRC: Bool = true) throws(Failure) -> Bytes {
        let entry = try entry(index)
        guard entry.isDeflated else { return entry.bytes }
        let output: Bytes
        do throws(Failure) {
            output = Bytes(try Inflater.inflate(entry.bytes, size: entry.size))
        } catch {
            throw entry.damaged(expected: "\(entry.size) bytes after decompression", found: "\(error)")
        }
        guard checksCRC else { return output }
        let found = crc32(of: output)
        guard found == entry.crc else { throw entry.damaged(expected: "CRC-32 \(entry.crc)", found: "\(found)") }
        return output
    }
}
