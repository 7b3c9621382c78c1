// swift-format-ignore-file
// What this package uses of the module os of Apple systems. It behaves like the original, so that the lock over it can be
// tried on Linux.
import Glibc
import Synchronization

/// os/lock.h: os_unfair_lock_s, a structure with one field of 32 bits that nobody reads.
public struct os_unfair_lock_s {
    public var _os_unfair_lock_opaque: UInt32
    public init() { _os_unfair_lock_opaque = 0 }
}
public typealias os_unfair_lock = os_unfair_lock_s  // os/lock.h

/// os/lock.h: os_unfair_lock_lock(os_unfair_lock_t lock)
public func os_unfair_lock_lock(_ lock: UnsafeMutablePointer<os_unfair_lock_s>) {
    let word = unsafe UnsafeMutableRawPointer(lock).assumingMemoryBound(to: Atomic<UInt32>.self)
    while unsafe !word.pointee.compareExchange(expected: 0, desired: 1, ordering: .acquiring).exchanged { sched_yield() }
}

/// os/lock.h: os_unfair_lock_unlock(os_unfair_lock_t lock)
public func os_unfair_lock_unlock(_ lock: UnsafeMutablePointer<os_unfair_lock_s>) {
    let word = unsafe UnsafeMutableRawPointer(lock).assumingMemoryBound(to: Atomic<UInt32>.self)
    unsafe word.pointee.store(0, ordering: .releasing)
}
