@_spi(CustomByteBufferAllocator) import NIOCore
import RemoteSettingsModel
import Synchronization

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// NIO's buffers over memory that a bundle has in place, so that an answer is written from the mapped file.
///
/// The buffers are only ever read: their memory cannot be written to.
enum MappedBuffer {
    /// Below this, copying costs less than wrapping.
    private static let smallest = 4096

    static func make(_ bytes: Bytes) -> ByteBuffer {
        unsafe bytes.withUnsafeBytes { memory in
            guard bytes.isInPlace, memory.count >= smallest, let base = memory.baseAddress else {
                return unsafe ByteBuffer(bytes: memory)
            }
            let address = UInt(bitPattern: base)
            lent.withLock { $0[address, default: Loan(bytes: bytes)].count += 1 }
            return unsafe ByteBuffer(
                takingOwnershipOf: UnsafeMutableRawBufferPointer(mutating: memory), allocator: allocator)
        }
    }

    /// Memory that buffers point to, and how many of them.
    private struct Loan {
        var bytes: Bytes
        var count = 0
    }

    // NIO tells the address alone when a buffer is given back.
    private static let lent = Mutex<[UInt: Loan]>([:])

    private static let allocator = unsafe ByteBufferAllocator(
        allocate: { unsafe malloc($0) }, reallocate: { pointer, _, size in unsafe realloc(pointer, size) },
        deallocate: { pointer in unsafe MappedBuffer.giveBack(pointer) },
        copy: { target, source, count in unsafe target.copyMemory(from: source, byteCount: count) })

    private static func giveBack(_ pointer: UnsafeMutableRawPointer) {
        let address = UInt(bitPattern: pointer)
        // What is released here may unmap a file; not under the lock.
        let released = lent.withLock { lent -> (isLoan: Bool, Loan?) in
            guard var loan = lent[address] else { return (false, nil) }
            loan.count -= 1
            lent[address] = loan.count > 0 ? loan : nil
            return (true, loan)
        }
        if !released.isLoan { unsafe free(pointer) }
    }
}
