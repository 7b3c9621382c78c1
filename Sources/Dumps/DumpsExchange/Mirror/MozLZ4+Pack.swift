import CLZ4
import RemoteSettingsModel

extension MozLZ4 {
    /// Packs the segments into one LZ4 block.
    ///
    /// - Returns: `nil` if there are more bytes than one LZ4 block can hold, about 2 GB.
    package static func pack(_ segments: [Bytes]) -> Bytes? {
        let input = segments.flatMap(\.array)
        guard let size = Int32(exactly: input.count), size <= LZ4_MAX_INPUT_SIZE else { return nil }
        var output = magic
        for shift in [0, 8, 16, 24] as [Int32] { output.append(UInt8(truncatingIfNeeded: size >> shift)) }
        let head = output.count
        let bound = Int(LZ4_compressBound(size))
        output.append(contentsOf: repeatElement(0, count: bound))
        let written = unsafe input.withUnsafeBytes { source in
            unsafe output.withUnsafeMutableBytes { target -> Int32 in
                guard let source = unsafe source.bindMemory(to: CChar.self).baseAddress,
                    let target = unsafe target.bindMemory(to: CChar.self).baseAddress
                else { return 0 }
                return unsafe LZ4_compress_default(source, target + head, size, Int32(bound))
            }
        }
        guard written > 0 else { return nil }
        output.removeLast(bound - Int(written))
        return Bytes(output)
    }
}
