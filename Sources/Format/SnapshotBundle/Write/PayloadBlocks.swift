import Dispatch
import RemoteSettingsModel

/// A payload that is deflated in blocks on all cores. The blocks are parts of one deflate stream and do not refer to
/// each other.
///
/// The boundaries of the blocks depend on the ids and sizes of nearby records. A change of one record therefore changes
/// only one or two blocks, and git can store the other blocks once for both versions. Every block is always deflated
/// again, so the bytes depend neither on an earlier bundle nor on the number of cores.
///
/// These rules define the bytes:
/// - The first block begins with the payload. A record begins a new block if the current block has at least four times
///   L bytes. It also begins one if the current block has at least L bytes, and the hash of the record's id, modulo L,
///   is less than the size of the record in bytes. If there are several blocks, the last one begins after the last
///   record and contains the timestamp.
/// - L is 16,384. It is doubled, up to 524,288, as long as the square of the ratio is more than 2.5 times L / 16,384,
///   and its cube more than 8 times L / 16,384. The ratio is the size of the payload's first 131,072 bytes, divided by
///   their size after zlib has compressed them at level 1. A payload of at most 16,384 bytes is one block.
/// - The hash begins with `h`, the 64-bit FNV-1a of the id. Then `h = (h ^ h >> 33) * 0xff51afd7ed558ccd`, and the hash
///   is `h ^ h >> 33`, all modulo 2^64.
/// - zlib deflates each block separately at level 7 (or 9 if it is the only one), with a window of 32 KiB and a memory
///   level of 8. Each block is flushed with `Z_SYNC_FLUSH` (an empty stored block, up to a whole byte), and the last
///   one is finished with `Z_FINISH`.
struct PayloadBlocks {
    let payload: Payload
    let ranges: [Range<Int>]
    /// The minimum size of a block, called L above. Only the last two blocks may be smaller. A block of four times this
    /// size gets no further records. The probability that a record begins a block is its size divided by this.
    let least: Int

    /// Divides a payload into blocks.
    ///
    /// - Parameter file: the bundle's name, for error messages.
    /// - Throws: ``Failure`` if there is not enough memory.
    init(_ payload: Payload, file: String) throws(Failure) {
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
        // If there are several blocks, the timestamp is in a separate one, because it changes every time.
        if start > 0 {
            ranges.append(start..<end)
            start = end
        }
        ranges.append(start..<payload.bytes.count)
        self.payload = payload
        self.ranges = ranges
        self.least = least
    }

    /// Returns the minimum size of a block. Each block boundary makes the bundle larger. The loss is greater if the
    /// payload compresses well, because then each record resembles the previous ones. So the size grows with the
    /// compression ratio, which is measured on the beginning of the payload at the fastest level. The condition with
    /// the cube keeps blocks small if the ratio is less than 3: boundaries then cost little, and git needs only half as
    /// much space for a changed record.
    private static func least(_ payload: Bytes, file: String) throws(Failure) -> Int {
        var least = 16 << 10
        guard payload.count > least else { return least }
        let trial = payload[0..<min(payload.count, 128 << 10)]
        let deflated = try Deflater.forBundles(file, level: 1).block(trial, isLast: true).count
        let (square, cube) = (trial.count * trial.count, trial.count * trial.count * trial.count)
        while least < 512 << 10, 2 * square > 5 * (least >> 14) * deflated * deflated,
            cube > 8 * (least >> 14) * deflated * deflated * deflated
        { least *= 2 }
        return least
    }

    /// The compression level: the highest one for a single block. For several blocks it is 7, which takes half the time
    /// of 9, for a result that is at most 1 % larger.
    private var level: Int32 { ranges.count == 1 ? 9 : 7 }

    /// Returns whether a record begins a block. The hash is 64-bit FNV-1a, whose low bits are then mixed with the high
    /// ones.
    private static func isStart(_ id: Span<UInt8>, size: Int, spread: Int) -> Bool {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for index in id.indices { hash = (hash ^ UInt64(id[index])) &* 0x100_0000_01B3 }
        hash = (hash ^ hash >> 33) &* 0xFF51_AFD7_ED55_8CCD
        return (hash ^ hash >> 33) % UInt64(spread) < UInt64(clamping: size)
    }

    /// Passes the deflated blocks to `consume` in order.
    ///
    /// - Returns: the CRC-32 of the payload.
    func write(file: String, _ consume: (Span<UInt8>) throws(Failure) -> Void) throws(Failure) -> UInt32 {
        var crc: UInt32 = 0
        var start = 0
        // Compress only a limited number of blocks at a time, so that they are never all in memory.
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

    private func deflated(_ wave: Range<Int>, _ file: String) throws(Failure) -> [Deflated] {
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
            throw Failure(.storage, file: file, found: "not enough memory for compression")
        }
        return blocks
    }

    /// Returns a deflated block; `nil` if there is not enough memory.
    private func deflated(_ index: Int) -> Bytes? {
        Deflater(level: level).map { deflater in
            Bytes(deflater.block(payload.bytes[ranges[index]], isLast: index == ranges.count - 1))
        }
    }
}
