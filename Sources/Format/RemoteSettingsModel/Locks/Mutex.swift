#if canImport(Darwin)
import os

/// A value that only one thread at a time may use. It is the system's unfair lock behind the interface of Swift's
/// `Mutex`, which requires iOS 18.
///
/// A waiting thread lends its priority to the thread that holds the lock. The lock is not recursive: the system ends a
/// process in which a thread locks it twice.
@safe
public struct Mutex<Value: ~Copyable>: ~Copyable {
    // The lock must keep its address, which a stored property of a struct or class does not guarantee.
    @usableFromInline let lock: UnsafeMutablePointer<os_unfair_lock_s>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    /// Makes a mutex that no thread holds.
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

    /// Calls the closure with the value while no other thread uses it. Returns or throws what the closure does.
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
// On other systems, Swift's own `Mutex` is part of every toolchain.
@_exported import Synchronization
#endif
