/// Read-only memory that is not Swift's own: a mapped file, or data that is part of the program.
///
/// The memory must stay as it is, and stay valid, until `release` is called, which happens once, when nothing refers to
/// this object any longer.
@safe
public final class BorrowedMemory: Sendable {
    // Read-only from here on, so that sharing it between threads is sound although the pointer type cannot say so.
    private nonisolated(unsafe) let buffer: UnsafeRawBufferPointer
    private let release: @Sendable (UnsafeRawBufferPointer) -> Void

    /// - Parameters:
    ///   - buffer: the memory.
    ///   - release: frees the memory; called once, from any thread.
    @unsafe
    public init(_ buffer: UnsafeRawBufferPointer, release: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
        unsafe self.buffer = buffer
        unsafe self.release = release
    }

    deinit {
        unsafe release(buffer)
    }

    /// The size in bytes.
    public var count: Int { unsafe buffer.count }

    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try unsafe body(buffer)
    }
}
