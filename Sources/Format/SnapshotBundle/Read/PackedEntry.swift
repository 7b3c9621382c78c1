import RemoteSettingsModel

/// An entry in its compressed form, to be sent on without inflating it.
package struct PackedEntry: Sendable {
    /// Bytes, uncompressed.
    package let size: Int
    /// CRC-32 of the uncompressed bytes, as the archive's directory says.
    package let crc: UInt32
    /// Whether ``bytes`` are a raw deflate stream (RFC 1951).
    package let isDeflated: Bool
    /// The entry's data, in place.
    package let bytes: Bytes
}

extension BundleReader {
    /// An attachment in its compressed form. Its bytes are not checked.
    ///
    /// - Returns: `nil` if the bundle has no such file.
    /// - Throws: ``BundleError`` if the archive's structure is wrong.
    package func packedAttachment(_ digest: SHA256Digest) throws(BundleError) -> PackedEntry? {
        guard let index = directory.index(of: digest) else { return nil }
        let (entry, data, _) = try directory.open(index)
        return PackedEntry(
            size: entry.size, crc: entry.crc, isDeflated: entry.method == ZIPLayout.deflated,
            bytes: directory.bytes[data])
    }
}

extension PackedEntry {
    /// The uncompressed bytes, piece by piece.
    package func unpacking() throws(BundleError) -> Unpacking { try Unpacking(self) }

    /// Inflates an entry piece by piece, on demand. Not shared between threads.
    package final class Unpacking {
        private let entry: PackedEntry
        private let inflater: Inflater?
        private var consumed = 0

        init(_ entry: PackedEntry) throws(BundleError) {
            self.entry = entry
            do throws(InflateError) {
                inflater = entry.isDeflated ? try Inflater() : nil
            } catch {
                throw Self.damaged(error.found)
            }
        }

        /// Fills `piece` from its start with the bytes that come next.
        ///
        /// - Returns: how many; 0 at the end.
        package func next(into piece: inout [UInt8]) throws(BundleError) -> Int {
            guard let inflater else {
                let count = min(piece.count, entry.bytes.count - consumed)
                let next = entry.bytes[consumed..<consumed + count]
                consumed += count
                piece.replaceSubrange(0..<count, with: next.array)
                return count
            }
            while true {
                let step: Inflater.Step
                do throws(InflateError) {
                    step = try inflater.inflate(entry.bytes, from: consumed, into: &piece)
                } catch {
                    throw Self.damaged(error.found)
                }
                consumed += step.consumed
                if step.produced > 0 || step.isEnd { return step.produced }
                guard step.consumed > 0 else { throw Self.damaged(InflateError.tooShort.found) }
            }
        }

        private static func damaged(_ found: String) -> BundleError {
            BundleError(.damaged, file: "a bundle", expected: "a deflate stream", found: found)
        }
    }
}
