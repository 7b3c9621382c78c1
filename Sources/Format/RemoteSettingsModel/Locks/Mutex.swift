#if canImport(Darwin)
import os

/// A value that one thread at a time may use. It is the system's unfair lock with the interface of Swift's `Mutex`,
/// which needs iOS 18.
///
/// A thread that waits lends its priority to the one that holds the lock. The lock is not recursive: the system
/// ends a process that locks it twice in one thread.
@safe
public struct Mutex<Value: ~Copyable>: ~Copyable {
    // The lock must keep its address. A stored property of a struct or class does not guarantee that.
    @usableFromInline let lock: UnsafeMutablePointer<os_unfair_lock_s>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    /// A mutex that no thread holds.
    public init(_ initialValue: consuming sending Value) {
        unsafe lock = .allocate(capacity: 1)
        unsafe lock.initialize(to: os_unfair_lock_s())
        unsafe value = .allocate(capacity: 1)
        unsafe value.initialize(to: initialValue)
    }

    deinit {
        unsafe value.deinitialize(count: 1)
        unsafe value.deallocate()
        unsafe lock.deallocate()
    }

    /// Calls the closure with the value while no other thread has it. Returns or throws what the closure does.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe os_unfair_lock_lock(lock)
        defer { unsafe os_unfair_lock_unlock(lock) }
        return try unsafe body(&value.pointee)
    }
}

extension Mutex: @unchecked Sendable where Value: ~Copyable {}
#else
// On other systems, Swift's own is part of every toolchain.
@_exported import Synchronization
#endif
