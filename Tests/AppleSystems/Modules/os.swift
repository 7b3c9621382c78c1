// swift-format-ignore-file
// The parts of Apple's module os that this package uses.

/// os/lock.h: os_unfair_lock_s, a structure with a 32-bit field that is never read.
public struct os_unfair_lock_s {
    public var _os_unfair_lock_opaque: UInt32
    public init() { _os_unfair_lock_opaque = 0 }
}
public typealias os_unfair_lock = os_unfair_lock_s  // os/lock.h

public func os_unfair_lock_lock(_ lock: UnsafeMutablePointer<os_unfair_lock_s>) { fatalError() }  // os/lock.h
public func os_unfair_lock_unlock(_ lock: UnsafeMutablePointer<os_unfair_lock_s>) { fatalError() }  // os/lock.h
