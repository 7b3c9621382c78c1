import Dispatch
import RemoteSettingsModel

/// A payload that is deflated in blocks on all cores. The blocks are parts of one deflate stream and do not refer to
/// each other.
///
/// Where a block begins depends on the ids and sizes of the records near that point. A change of one record therefore
/// changes only one or two blocks, and git stores the others once. Every block is deflated anew, so the bytes depend
/// neither on an earlier bundle nor on the number of cores.
///
/// The bytes are defined by these rules:
/// - The first block begins with the payload. A record begins a further block if the block before it has at least L
///   bytes, and if that block has four times L bytes or the hash of the record's id, modulo L, is less than the size of
///   the record in bytes. If there are several blocks, the last one begins after the last record and contains the
///   timestamp.
/// - L is 16,384. It is doubled, up to 524,288, as long as the square of the ratio is more than 2.5 times L / 16,384,
///   and its cube more than 8 times L / 16,384. The ratio is the size of the payload's first 131,072 bytes, divided by
///   the size that zlib compresses them to at level 1. A payload of at most 16,384 bytes is one block.
/// - The hash begins with `h`, the 64-bit FNV-1a of the id. Then `h = (h ^ h >> 33) * 0xff51afd7ed558ccd`, and the hash
///   is `h ^ h >> 33`, all modulo 2^64.
/// - zlib deflates each block on its own at level 7 (or 9 if it is the only one), with a window of 32 KiB and a memory
///   level of 8. Each block is flushed at its end (`Z_SYNC_FLUSH`: an empty stored block, up to a whole byte). The last
///   one is finished (`Z_FINISH`).
struct PayloadBlocks {
    let payload: Payload
    let ranges: [Range<Int>]
    /// Only the last two blocks may be smaller than this, and a block of four times this size gets no further records.
    /// A record begins a block with a probability of its size divided by this.
    let least: Int

    /// Divides a payload.
    ///
    /// - Parameter file: the bundle's name, for error messages.
    /// - Throws: ``BundleError`` if there is not enough memory.
    init(_ payload: Payload, file: String) throws(BundleError) {
        let least = try Self.least(payload.bytes, file: file)
        var ranges: [Range<Int>] = []
        var (start, end) = (0, 0)
        payload.forEachPlace { place, id in
            let size = place.lowerBound - start
            if size >= least, size >= 4 * least || Self.isStart(id, size: place.count, spread: least) {
                ranges.append(start..<place.lowerBound)
                start = place.lowerBound
            }
            end = place.upperBound
        }
        // After the records comes the timestamp, which changes every time.
        if start > 0 {
            ranges.append(start..<end)
            start = end
        }
        ranges.append(start..<payload.bytes.count)
        self.payload = payload
        self.ranges = ranges
        self.least = least
    }

    /// The smallest size of a block. Each new block costs bytes. It costs more if the payload deflates well, because
    /// then its records are like those before them. The size therefore grows with the ratio, which is measured on the
    /// payload's beginning at the fastest level. The cube keeps blocks small where the ratio is less than 3: they cost
    /// little there, and a changed record then costs git half as much.
    private static func least(_ payload: Bytes, file: String) throws(BundleError) -> Int {
        var least = 16 << 10
        guard payload.count > least else { return least }
        let trial = payload[0..<min(payload.count, 128 << 10)]
        let deflated = try Deflater.forBundles(file, level: 1).block(trial, isLast: true).count
        let (square, cube) = (trial.count * trial.count, trial.count * trial.count * trial.count)
        while least < 512 << 10, 2 * square > 5 * (least >> 14) * deflated * deflated,
            cube > 8 * (least >> 14) * deflated * deflated * deflated
        {
            least *= 2
        }
        return least
    }

    /// The highest level for a single block. For several blocks, the highest level whose result is within 1 % of the
    /// smallest one and that takes half the time.
    private var level: Int32 { ranges.count == 1 ? 9 : 7 }

    /// Whether a record begins a block. The hash is 64-bit FNV-1a, whose low bits are mixed with the high ones.
    private static func isStart(_ id: Span<UInt8>, size: Int, spread: Int) -> Bool {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in id.indices { hash = (hash ^ UInt64(id[index])) &* 0x100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        return (hash ^ hash >> 33) % UInt64(spread) < UInt64(clamping: size)
    }

    /// Passes the deflated blocks to `consume` in their order.
    ///
    /// - Returns: the CRC-32 of the payload.
    func write(
        file: String, _ consume: (Span<UInt8>) throws(BundleError) -> Void
    ) throws(BundleError) -> UInt32 {
        var crc: UInt32 = 0
        var start = 0
        // Only some blocks are compressed at a time, so that they are never all in memory.
        let width = 8 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        while start < ranges.count {
            let wave = start..<min(start + width, ranges.count)
            for block in try deflated(wave, file) {
                try block.bytes.withSpan(consume)
                crc = crc32(crc, followedBy: block.crc, count: block.size)
            }
            start = wave.upperBound
        }
        return crc
    }

    private struct Deflated {
        let bytes: Bytes
        let size: Int
        let crc: UInt32
    }

    private func deflated(_ wave: Range<Int>, _ file: String) throws(BundleError) -> [Deflated] {
        let made = Mutex<[Int: Deflated]>([:])
        DispatchQueue.concurrentPerform(iterations: wave.count) { offset in
            let index = wave.lowerBound + offset
            let text = payload.bytes[ranges[index]]
            guard let bytes = deflated(index) else { return }
            let block = Deflated(bytes: bytes, size: text.count, crc: crc32(of: text))
            made.withLock { $0[index] = block }
        }
        let blocks = made.withLock { made in wave.compactMap { made[$0] } }
        guard blocks.count == wave.count else {
            throw BundleError(.storage, file: file, found: "not enough memory for compression")
        }
        return blocks
    }

    /// Deflates a block; `nil` if there is not enough memory.
    private func deflated(_ index: Int) -> Bytes? {
        Deflater(level: level).map { deflater in
            Bytes(deflater.block(payload.bytes[ranges[index]], isLast: index == ranges.count - 1))
        }
    }
}
