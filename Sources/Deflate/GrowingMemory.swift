import RemoteSettingsModel
import Synchronization

/// Memory that one thread fills from its start to its end, while others read what is there already.
@safe
package final class GrowingMemory: Sendable {
    // A byte is written before ``filled`` passes it, and never again: sharing the memory is sound, although the pointer's
    // type cannot say so.
    private nonisolated(unsafe) let buffer: UnsafeMutableRawBufferPointer
    private let filled = Atomic(0)
    private let isBegun = Atomic(false)

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
        try unsafe body(buffer) { filled.store(min($0, capacity), ordering: .releasing) }
    }

    /// The bytes that are there. They stay as long as any slice of them.
    package var bytes: Bytes {
        unsafe Bytes(
            BorrowedMemory(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[..<count])) { [self] _ in
                withExtendedLifetime(self) {}
            })
    }
}
