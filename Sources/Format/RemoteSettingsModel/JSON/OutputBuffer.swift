/// A buffer for bytes that are being written. It grows as necessary, and hands over its memory at the end.
///
/// An array would check on every write whether it is shared. This buffer cannot be shared.
@safe
struct OutputBuffer: ~Copyable {
    private var memory: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int = 64) {
        self.capacity = max(64, capacity)
        unsafe memory = .allocate(byteCount: self.capacity, alignment: 16)
    }

    deinit {
        unsafe memory.deallocate()
    }

    /// Everything that has been written, without copying it.
    consuming func bytes() -> Bytes {
        let written = unsafe UnsafeRawBufferPointer(start: memory, count: count)
        discard self
        return unsafe Bytes(BorrowedMemory(written) { unsafe $0.deallocate() })
    }

    /// Makes room for `more` bytes.
    @inline(__always)
    mutating func reserve(_ more: Int) {
        if more > capacity - count { grow(more) }
    }

    @inline(never)
    private mutating func grow(_ more: Int) {
        let larger = max(count + more, capacity * 2)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
        unsafe moved.copyMemory(from: memory, byteCount: count)
        unsafe memory.deallocate()
        unsafe memory = moved
        capacity = larger
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        unsafe memory.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count += 1
    }

    /// Appends the first `length` bytes of a word, starting with the lowest.
    @inline(__always)
    mutating func append(_ word: UInt64, length: Int) {
        reserve(8)
        unsafe memory.storeBytes(of: word.littleEndian, toByteOffset: count, as: UInt64.self)
        count += length
    }

    mutating func append(_ text: StaticString) {
        reserve(text.utf8CodeUnitCount)
        unsafe (memory + count).copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
        count += text.utf8CodeUnitCount
    }

    mutating func append(_ text: String) {
        for byte in text.utf8 { append(byte) }
    }

    mutating func append(_ input: Span<UInt8>, _ range: Range<Int>) {
        guard !range.isEmpty else { return }
        reserve(range.count)
        unsafe input.extracting(range).withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe (memory + count).copyMemory(from: start, byteCount: bytes.count)
        }
        count += range.count
    }

    /// Appends a part of another buffer.
    mutating func append(_ other: borrowing OutputBuffer, _ range: Range<Int>) {
        precondition(range.upperBound <= other.count)
        reserve(range.count)
        unsafe (memory + count).copyMemory(from: other.memory + range.lowerBound, byteCount: range.count)
        count += range.count
    }

    /// Removes everything from `length` on.
    mutating func truncate(to length: Int) {
        precondition(length <= count)
        count = length
    }

    /// The byte at `index`, which must have been written.
    @inline(__always)
    subscript(index: Int) -> UInt8 {
        precondition(index >= 0 && index < count)
        return unsafe memory.load(fromByteOffset: index, as: UInt8.self)
    }

    func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let whole = unsafe UnsafeRawBufferPointer(start: memory, count: count)
        return try body(unsafe Span(_unsafeElements: whole.bindMemory(to: UInt8.self)))
    }
}
