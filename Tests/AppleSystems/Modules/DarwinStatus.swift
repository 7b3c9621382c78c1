// swift-format-ignore-file
// The structure stat and the types of its fields. They are not in Darwin, which has a function of the same name: Swift
// allows both in one module only if it is a C module.

public typealias mode_t = UInt16  // sys/_types/_mode_t.h
public typealias dev_t = Int32  // sys/_types/_dev_t.h
public typealias ino_t = UInt64  // sys/_types/_ino_t.h, with 64-bit inodes
public typealias nlink_t = UInt16  // sys/_types/_nlink_t.h
public typealias off_t = Int64  // sys/_types/_off_t.h
public typealias uid_t = UInt32  // sys/_types/_uid_t.h
public typealias gid_t = UInt32  // sys/_types/_gid_t.h
public typealias blkcnt_t = Int64  // sys/_types/_blkcnt_t.h
public typealias blksize_t = Int32  // sys/_types/_blksize_t.h
public typealias time_t = Int  // sys/_types/_time_t.h

public struct timespec: Sendable {  // sys/_types/_timespec.h
    public var tv_sec: time_t, tv_nsec: Int
    public init(tv_sec: time_t, tv_nsec: Int) { (self.tv_sec, self.tv_nsec) = (tv_sec, tv_nsec) }
    public init() { self.init(tv_sec: 0, tv_nsec: 0) }
}

public struct stat: Sendable {  // stat(2)
    public var st_dev: dev_t = 0, st_mode: mode_t = 0, st_nlink: nlink_t = 0, st_ino: ino_t = 0
    public var st_uid: uid_t = 0, st_gid: gid_t = 0, st_rdev: dev_t = 0
    public var st_atimespec = timespec(), st_mtimespec = timespec(), st_ctimespec = timespec()
    public var st_birthtimespec = timespec()
    public var st_size: off_t = 0, st_blocks: blkcnt_t = 0, st_blksize: blksize_t = 0
    public var st_flags: UInt32 = 0, st_gen: UInt32 = 0
    public init() {}
}
