import Dispatch

/// Memory that one thread fills from its start to its end, while others read what is there already.
@safe
package final class GrowingMemory: Sendable {
    // A byte is written before ``filled`` passes it, and never again: sharing the memory is sound, although the
    // pointer's type cannot say so.
    private nonisolated(unsafe) let buffer: UnsafeMutableRawBufferPointer
    private let filled = Atomic(0)
    private let isBegun = Atomic(false)
    private let isEnded = Atomic(false)
    /// Counts what there is to see for a thread that waits in ``follow(_:)``.
    private let news = DispatchSemaphore(value: 0)

    package init(count: Int) {
        unsafe buffer = .allocate(byteCount: count, alignment: 1)
    }

    deinit {
        unsafe buffer.deallocate()
    }

    /// How many bytes there are once it is filled.
    package var capacity: Int { unsafe buffer.count }

    /// How many bytes are there.
    package var count: Int { filled.load(ordering: .acquiring) }

    /// Lets `body` write the memory. A second call does nothing.
    ///
    /// - Parameter body: its second argument is called with the number of bytes that are written for good.
    func fill<Failure: Error>(
        _ body: (UnsafeMutableRawBufferPointer, (Int) -> Void) throws(Failure) -> Void
    ) throws(Failure) {
        guard !isBegun.exchange(true, ordering: .relaxed) else { return }
        defer { end() }
        try unsafe body(buffer) {
            filled.store(min($0, capacity), ordering: .releasing)
            news.signal()
        }
    }

    /// Says that nothing more will come.
    package func end() {
        isEnded.store(true, ordering: .releasing)
        news.signal()
    }

    /// Calls `body` with the bytes as they come, each once and in their order, and returns when all are there or
    /// nothing more will come. For one thread.
    ///
    /// It waits for the thread that fills the memory, which must have begun the work that ends with ``end()``.
    package func follow(_ body: (Span<UInt8>) -> Void) {
        var seen = 0
        while true {
            let hasEnded = isEnded.load(ordering: .acquiring)
            let count = count
            if count > seen {
                bytes[seen..<count].withSpan(body)
                seen = count
            } else if hasEnded {
                return
            } else {
                news.wait()
            }
        }
    }

    /// The bytes that are there. They stay as long as any slice of them.
    package var bytes: Bytes {
        unsafe Bytes(
            BorrowedMemory(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])) { [self] _ in
                withExtendedLifetime(self) {}
            })
    }
}
