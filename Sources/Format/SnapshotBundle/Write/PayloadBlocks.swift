import Dispatch
import RemoteSettingsModel

/// A payload that is deflated in blocks on all cores. The blocks are parts of one deflate stream and do not refer to
/// each other.
///
/// Where a block begins depends on the ids and sizes of the records near that point. A change of one record therefore
/// changes only one or two blocks. The others are copied from the old bundle, and git stores them once. The bytes are
/// the same, whatever is copied and however many cores there are, because blocks from another version of zlib are not
/// copied.
///
/// The bytes are defined by these rules:
/// - The first block begins with the payload. A record begins a further block if the block before it has at least L
///   bytes, and if that block has four times L bytes or the hash of the record's id, modulo L, is less than the size of
///   the record in bytes. If there are several blocks, the last one begins after the last record and contains the
///   timestamp.
/// - L is 16,384. It is doubled, up to 524,288, as long as the square of the ratio is more than 2.5 times L / 16,384.
///   The ratio is the size of the payload's first 131,072 bytes, divided by the size that zlib compresses them to at
///   level 1. A payload of at most 16,384 bytes is one block.
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
    /// then its records are like those before them. The size therefore grows with the square of the ratio, which is
    /// measured on the payload's beginning at the fastest level.
    private static func least(_ payload: Bytes, file: String) throws(BundleError) -> Int {
        var least = 16 << 10
        guard payload.count > least else { return least }
        let trial = payload[0..<min(payload.count, 128 << 10)]
        let deflated = try Deflater.forBundles(file, level: 1).block(trial, isLast: true).count
        while least < 512 << 10, 2 * trial.count * trial.count > 5 * (least >> 14) * deflated * deflated { least *= 2 }
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
    /// - Parameter old: the bundle from which equal blocks are copied.
    /// - Returns: the CRC-32 of the payload.
    func write(
        keeping old: BundleReader?, file: String, _ consume: (Span<UInt8>) throws(BundleError) -> Void
    ) throws(BundleError) -> UInt32 {
        // Nothing is copied from a damaged old bundle.
        let kept = old.flatMap { try? KeptBlocks(of: $0, for: self) }
        var crc: UInt32 = 0
        var start = 0
        // Only some blocks are compressed at a time, so that they are never all in memory.
        let width = 8 * max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))
        while start < ranges.count {
            let wave = start..<min(start + width, ranges.count)
            for block in try deflated(wave, kept, file) {
                try block.bytes.withSpan(consume)
                crc = crc32(crc, followedBy: block.crc, count: block.size)
            }
            kept?.discard(wave)
            start = wave.upperBound
        }
        return crc
    }

    private struct Deflated {
        let bytes: Bytes
        let size: Int
        let crc: UInt32
    }

    private func deflated(
        _ wave: Range<Int>, _ kept: KeptBlocks?, _ file: String
    ) throws(BundleError) -> [Deflated] {
        let made = Mutex<[Int: Deflated]>([:])
        DispatchQueue.concurrentPerform(iterations: wave.count) { offset in
            let index = wave.lowerBound + offset
            let text = payload.bytes[ranges[index]]
            guard let bytes = kept?.bytes(index) ?? deflated(index) else { return }
            let block = Deflated(bytes: bytes, size: text.count, crc: crc32(of: text))
            made.withLock { $0[index] = block }
        }
        let blocks = made.withLock { made in wave.compactMap { made[$0] } }
        guard blocks.count == wave.count else {
            throw BundleError(.unwritable, file: file, expected: "memory for compressors", found: "not enough")
        }
        return blocks
    }

    /// Deflates a block; `nil` if there is not enough memory.
    func deflated(_ index: Int) -> Bytes? {
        Deflater(level: level).map { deflater in
            Bytes(deflater.block(payload.bytes[ranges[index]], isLast: index == ranges.count - 1))
        }
    }
}

/// The deflated blocks of a bundle that a new payload also has.
struct KeptBlocks {
    private let entry: PackedEntry
    /// The places in the entry's data, by the number of the block in the new payload.
    private let places: [Int: Range<Int>]

    /// The number of bytes by which blocks are matched before they are compared.
    private static let head = 512

    /// Inflates the bundle's blocks on all cores and compares them. The bundle does not have to be trusted: a block is
    /// used only if it inflates, on its own, to what the new payload has.
    init(of bundle: BundleReader, for blocks: PayloadBlocks) throws(BundleError) {
        let entry = try bundle.entry(1)
        self.entry = entry
        guard entry.isDeflated else {
            places = [:]
            return
        }
        let places = Self.places(of: blocks, in: entry.bytes) { entry.discard($0) }
        let indices = places.keys.sorted()
        // The written bytes must not depend on who made the current bundle. A sample shows whether it was written by a
        // version of zlib that deflates differently.
        let isSame = Set([indices.first, indices.last, indices.isEmpty ? nil : indices[indices.count / 2]])
            .allSatisfy { index in index.map { blocks.deflated($0) == places[$0].map { entry.bytes[$0] } } ?? true }
        self.places = isSame ? places : [:]
    }

    /// Finds the blocks.
    ///
    /// - Parameter done: called with each part of `data` that has been searched.
    private static func places(
        of blocks: PayloadBlocks, in data: Bytes, done: @Sendable (Range<Int>) -> Void
    ) -> [Int: Range<Int>] {
        // The last block has the timestamp and ends the stream.
        let wanted = Dictionary(grouping: blocks.ranges.indices.dropLast()) { index in
            let range = blocks.ranges[index]
            return blocks.payload.bytes[range.lowerBound..<min(range.upperBound, range.lowerBound + head)]
        }
        let ends = ends(in: data, most: 4 * blocks.ranges.count + 64)
        let found = Mutex<[Int: Range<Int>]>([:])
        DispatchQueue.concurrentPerform(iterations: ends.count) { number in
            let place = (number == 0 ? 0 : ends[number - 1])..<ends[number]
            defer { done(place) }
            guard let inflater = try? Inflater(),
                let first = try? inflater.piece(of: data[place], from: 0, size: head).bytes
            else { return }
            // Only a few blocks begin alike.
            for index in wanted[Bytes(first)]?.prefix(4) ?? []
            where inflater.isBlock(data[place], of: blocks.payload.bytes[blocks.ranges[index]]) {
                found.withLock { $0[index] = place }
                break
            }
        }
        return found.withLock { $0 }
    }

    /// The places after what may be the end of a block; none if there are more than `most`.
    private static func ends(in data: Bytes, most: Int) -> [Int] {
        let search = ByteSearch(Deflater.blockEnd)
        return data.withSpan { span in
            var ends: [Int] = []
            var start = 0
            while let next = search.first(in: span.extracting(start..<span.count)) {
                start += next + Deflater.blockEnd.count
                guard ends.count < most else { return [] }
                ends.append(start)
            }
            return ends
        }
    }

    func bytes(_ index: Int) -> Bytes? { places[index].map { entry.bytes[$0] } }

    /// Releases the pages of blocks that were copied.
    func discard(_ indices: Range<Int>) {
        for place in indices.compactMap({ places[$0] }) { entry.discard(place) }
    }
}
