/// An immutable slice of shared bytes.
///
/// Slicing never copies. Slices share storage, which is freed when the last of them is released. The storage is an
/// array, or memory that Swift does not manage (a mapped file, or data in the program).
public struct Bytes: Sendable {
    private enum Storage: Sendable {
        case array([UInt8])
        case memory(BorrowedMemory)
    }

    private let storage: Storage
    private let range: Range<Int>

    /// Wraps an array without copying it.
    public init(_ array: [UInt8] = []) {
        storage = .array(array)
        range = 0..<array.count
    }

    /// Wraps borrowed memory without copying it. The memory is released with the last slice.
    package init(_ memory: BorrowedMemory) {
        storage = .memory(memory)
        range = 0..<memory.count
    }

    /// Copies a string's UTF-8.
    public init(utf8 text: String) {
        self.init(Array(text.utf8))
    }

    private init(storage: Storage, range: Range<Int>) {
        self.storage = storage
        self.range = range
    }

    /// The number of bytes.
    public var count: Int { range.count }
    /// Whether there are no bytes.
    public var isEmpty: Bool { range.isEmpty }

    /// The slice at `offsets`, which must be within `0..<count`.
    package subscript(offsets: Range<Int>) -> Bytes {
        precondition(offsets.lowerBound >= 0 && offsets.upperBound <= count, "the slice is outside its bytes")
        return Bytes(
            storage: storage,
            range: range.lowerBound + offsets.lowerBound..<range.lowerBound + offsets.upperBound)
    }

    /// Calls `body` with the bytes in place, without copying them.
    @inlinable
    public func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try unsafe withUnsafeBytes { (buffer) throws(Failure) -> Result in
            try body(unsafe Span(_unsafeElements: buffer.bindMemory(to: UInt8.self)))
        }
    }

    /// Calls `body` with a pointer to the bytes, without copying them. The pointer is valid only during the call.
    public func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        switch storage {
        case .array(let array):
            try unsafe array.span.extracting(range).withUnsafeBytes(body)
        case .memory(let memory):
            try unsafe memory.withUnsafeBytes { (whole) throws(Failure) -> Result in
                try unsafe body(UnsafeRawBufferPointer(rebasing: whole[range]))
            }
        }
    }

    /// A copy of the bytes.
    public var array: [UInt8] {
        if case .array(let array) = storage, range == 0..<array.count { return array }
        return unsafe withUnsafeBytes { unsafe Array($0) }
    }

    /// The bytes as a string. Invalid UTF-8 is replaced by U+FFFD.
    public var text: String {
        unsafe withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    }

    /// Returns whether the bytes begin with `prefix`. An empty prefix always matches.
    package func starts(with prefix: some Collection<UInt8>) -> Bool {
        unsafe withUnsafeBytes { unsafe $0.starts(with: prefix) }
    }
}

extension Bytes: Hashable {
    public static func == (left: Bytes, right: Bytes) -> Bool {
        left.withSpan { a in right.withSpan { b in a.hasSameBytes(as: b) } }
    }

    public func hash(into hasher: inout Hasher) {
        unsafe withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

extension Bytes: CustomStringConvertible {
    public var description: String { "\(count) bytes" }
}

extension Span<UInt8> {
    /// Returns whether the bytes are equal. Compares eight bytes at a time.
    package func hasSameBytes(as other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { a in
            unsafe other.withUnsafeBytes { b in
                if unsafe a.baseAddress == b.baseAddress { return true }
                var index = 0
                while index + 8 <= a.count {
                    let (x, y) = unsafe (
                        a.loadUnaligned(fromByteOffset: index, as: UInt64.self),
                        b.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    )
                    if x != y { return false }
                    index += 8
                }
                while index < a.count {
                    if unsafe a[index] != b[index] { return false }
                    index += 1
                }
                return true
            }
        }
    }

    /// The bytes as a string. Invalid UTF-8 is replaced by U+FFFD.
    var text: String { unsafe withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) } }

    /// Compares bytes. The result is negative if these come first, and 0 if they are equal. Ids and plain keys are
    /// ASCII, for which this is also the order of code points.
    func compare(with other: Span<UInt8>) -> Int {
        for index in 0..<Swift.min(count, other.count) where self[index] != other[index] {
            return self[index] < other[index] ? -1 : 1
        }
        return count - other.count
    }
}

extension [UInt8] {
    package mutating func append(contentsOf bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }

    mutating func append(contentsOf bytes: Bytes) { bytes.withSpan { append(contentsOf: $0) } }
}
