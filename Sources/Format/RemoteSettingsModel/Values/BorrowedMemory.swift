/// Read-only memory that Swift does not manage: a mapped file, or data in the program.
///
/// The memory must remain valid and unchanged until `release` is called, once, when this object is deallocated.
@safe
package final class BorrowedMemory: Sendable {
    // Threads can share the memory because it is read-only, which the pointer type cannot express.
    private nonisolated(unsafe) let buffer: UnsafeRawBufferPointer
    private let release: @Sendable (UnsafeRawBufferPointer) -> Void

    /// Takes ownership of memory until this object is deallocated.
    ///
    /// - Parameters:
    ///   - buffer: the memory.
    ///   - release: frees the memory. It is called once, from any thread.
    @unsafe
    package init(_ buffer: UnsafeRawBufferPointer, release: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) {
        unsafe self.buffer = buffer
        unsafe self.release = release
    }

    deinit { unsafe release(buffer) }

    /// The size in bytes.
    var count: Int { unsafe buffer.count }

    func withUnsafeBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { withExtendedLifetime(self) {} }
        return try unsafe body(buffer)
    }
}
