#if canImport(Darwin)
import os

/// A value that only one thread at a time can use. It provides the interface of Swift's `Mutex`, which requires iOS 18,
/// with the system's unfair lock.
///
/// A waiting thread passes its priority to the thread that has locked the mutex. The lock is not recursive: the system
/// terminates the process if a thread locks it twice.
@safe
public struct Mutex<Value: ~Copyable>: ~Copyable {
    // The lock's address must not change, which stored properties of structs and classes do not guarantee.
    @usableFromInline let lock: UnsafeMutablePointer<os_unfair_lock_s>
    @usableFromInline let value: UnsafeMutablePointer<Value>

    /// Creates an unlocked mutex.
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

    /// Calls the closure with exclusive access to the value. Returns the closure's result, or rethrows its error.
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
// Other systems include Swift's own `Mutex` in every toolchain.
@_exported import Synchronization
#endif
