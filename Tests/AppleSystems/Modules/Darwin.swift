// swift-format-ignore-file
// The parts of the C library of Apple systems that this package uses, as imported by Swift. The source of each
// declaration is a manual page (man 2 open: "open(2)"), a header, or a file of Swift's overlay
// (stdlib/public/Platform). The types are those of 64-bit systems. Pointers are implicitly unwrapped optionals, as the
// headers do not specify whether they may be null.

@_exported import DarwinStatus

// MARK: Types

public typealias pid_t = Int32  // sys/_types/_pid_t.h
public typealias suseconds_t = Int32  // sys/_types/_suseconds_t.h
public typealias useconds_t = UInt32  // sys/_types/_useconds_t.h
public typealias socklen_t = UInt32  // sys/_types/_socklen_t.h
public typealias sa_family_t = UInt8  // sys/_types/_sa_family_t.h
public typealias in_port_t = UInt16  // sys/_types/_in_port_t.h
public typealias in_addr_t = UInt32  // sys/_types/_in_addr_t.h
public typealias rlim_t = UInt64  // sys/resource.h

public struct clockid_t: RawRepresentable, Equatable, Sendable {  // time.h: a C enum, which Swift imports as a structure
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public init(_ rawValue: UInt32) { self.rawValue = rawValue }
}
public var CLOCK_REALTIME: clockid_t { clockid_t(0) }  // time.h
public var CLOCK_THREAD_CPUTIME_ID: clockid_t { clockid_t(16) }  // time.h

public struct timeval: Sendable {  // sys/_types/_timeval.h
    public var tv_sec: time_t, tv_usec: suseconds_t
    public init(tv_sec: time_t, tv_usec: suseconds_t) { (self.tv_sec, self.tv_usec) = (tv_sec, tv_usec) }
    public init() { self.init(tv_sec: 0, tv_usec: 0) }
}

public struct dirent {  // dirent(5); d_name is char[1024] on Apple systems
    public var d_ino: UInt64 = 0, d_seekoff: UInt64 = 0, d_reclen: UInt16 = 0, d_namlen: UInt16 = 0, d_type: UInt8 = 0
    public var d_name: (CChar, CChar, CChar, CChar, CChar, CChar, CChar, CChar) = (0, 0, 0, 0, 0, 0, 0, 0)
    public init() {}
}
public struct DIR {}  // dirent.h

@unsafe public struct tm {  // time.h; unsafe for its pointer
    public var tm_sec: Int32 = 0, tm_min: Int32 = 0, tm_hour: Int32 = 0, tm_mday: Int32 = 0, tm_mon: Int32 = 0
    public var tm_year: Int32 = 0, tm_wday: Int32 = 0, tm_yday: Int32 = 0, tm_isdst: Int32 = 0, tm_gmtoff: Int = 0
    public var tm_zone: UnsafeMutablePointer<CChar>!
    public init() {}
}

public struct sockaddr: Sendable {  // sys/socket.h
    public var sa_len: UInt8 = 0, sa_family: sa_family_t = 0
    public init() {}
}
public struct in_addr: Sendable {  // netinet/in.h
    public var s_addr: in_addr_t
    public init(s_addr: in_addr_t) { self.s_addr = s_addr }
    public init() { self.init(s_addr: 0) }
}
public struct sockaddr_in: Sendable {  // netinet/in.h
    public var sin_len: UInt8 = 0, sin_family: sa_family_t = 0, sin_port: in_port_t = 0, sin_addr = in_addr()
    public init() {}
}
public struct linger: Sendable {  // sys/socket.h
    public var l_onoff: Int32, l_linger: Int32
    public init(l_onoff: Int32, l_linger: Int32) { (self.l_onoff, self.l_linger) = (l_onoff, l_linger) }
}
public struct rlimit: Sendable {  // getrlimit(2)
    public var rlim_cur: rlim_t, rlim_max: rlim_t
    public init(rlim_cur: rlim_t, rlim_max: rlim_t) { (self.rlim_cur, self.rlim_max) = (rlim_cur, rlim_max) }
    public init() { self.init(rlim_cur: 0, rlim_max: 0) }
}
public struct rusage: Sendable {  // getrusage(2)
    public var ru_utime = timeval(), ru_stime = timeval(), ru_maxrss = 0
    public init() {}
}
public struct winsize: Sendable {  // tty(4)
    public var ws_row: UInt16 = 0, ws_col: UInt16 = 0, ws_xpixel: UInt16 = 0, ws_ypixel: UInt16 = 0
    public init() {}
}

// MARK: Constants

public var errno: Int32 {  // intro(2); overlay: Platform.swift
    get { 0 }
    set {}
}
// open(2)
public let O_RDONLY: Int32 = 0, O_WRONLY: Int32 = 1, O_NONBLOCK: Int32 = 0x4, O_APPEND: Int32 = 0x8
public let O_NOFOLLOW: Int32 = 0x100, O_CREAT: Int32 = 0x200, O_EXCL: Int32 = 0x800, O_DIRECTORY: Int32 = 0x100000
public let O_CLOEXEC: Int32 = 0x1000000
// openat(2): fcntl.h
public let AT_FDCWD: Int32 = -2
// fstatat(2)
public let AT_SYMLINK_NOFOLLOW: Int32 = 0x20
// unlinkat(2)
public let AT_REMOVEDIR: Int32 = 0x80
// access(2)
public let F_OK: Int32 = 0
// fcntl(2)
public let F_SETFD: Int32 = 2, F_FULLFSYNC: Int32 = 51, F_DUPFD_CLOEXEC: Int32 = 67, FD_CLOEXEC: Int32 = 1
// stat(2); overlay: Platform.swift
public let S_IFMT: mode_t = 0o170000, S_IFREG: mode_t = 0o100000, S_IFDIR: mode_t = 0o040000, S_IFLNK: mode_t = 0o120000
// flock(2)
public let LOCK_EX: Int32 = 2, LOCK_NB: Int32 = 4, LOCK_UN: Int32 = 8
// lseek(2)
public let SEEK_SET: Int32 = 0
// mmap(2)
public let PROT_READ: Int32 = 1, PROT_WRITE: Int32 = 2, MAP_PRIVATE: Int32 = 2, MAP_ANONYMOUS: Int32 = 0x1000
// madvise(2)
public let MADV_DONTNEED: Int32 = 4
// intro(2)
public let EPERM: Int32 = 1, ENOENT: Int32 = 2, EINTR: Int32 = 4, EACCES: Int32 = 13, EFAULT: Int32 = 14
public let EEXIST: Int32 = 17, EXDEV: Int32 = 18, ENOTDIR: Int32 = 20, EISDIR: Int32 = 21, EINVAL: Int32 = 22
public let EFBIG: Int32 = 27, EROFS: Int32 = 30, EPIPE: Int32 = 32, EAGAIN: Int32 = 35, EWOULDBLOCK: Int32 = 35
public let EADDRINUSE: Int32 = 48, EADDRNOTAVAIL: Int32 = 49, ECONNABORTED: Int32 = 53, ELOOP: Int32 = 62
public let ENAMETOOLONG: Int32 = 63, ENOTEMPTY: Int32 = 66
// sigaction(2)
public let SIGKILL: Int32 = 9
// sys/socket.h
public let AF_INET: Int32 = 2, SOCK_STREAM: Int32 = 1, SOL_SOCKET: Int32 = 0xffff, SO_LINGER: Int32 = 0x80
public let SO_NOSIGPIPE: Int32 = 0x1022, SHUT_WR: Int32 = 1
// netinet/in.h
public let IPPROTO_TCP: Int32 = 6
// tcp(4)
public let TCP_NODELAY: Int32 = 1
// netinet/tcp.h
public let TCP_NOTSENT_LOWAT: Int32 = 0x201
// getrlimit(2)
public let RLIMIT_NOFILE: Int32 = 8
// getrusage(2)
public let RUSAGE_SELF: Int32 = 0
// sysconf(3)
public let _SC_NPROCESSORS_ONLN: Int32 = 58
// stdin(4)
public let STDIN_FILENO: Int32 = 0
// stdout(4)
public let STDOUT_FILENO: Int32 = 1
// dlopen(3)
public let RTLD_NOW: Int32 = 2, RTLD_LOCAL: Int32 = 4
// overlay: Platform.swift
public var MAP_FAILED: UnsafeMutableRawPointer! { unsafe UnsafeMutableRawPointer(bitPattern: -1) }

public var TIOCGWINSZ: UInt { 0x40087468 }  // tty(4); overlay: TiocConstants.swift

// MARK: Files

public typealias CString = UnsafePointer<CChar>  // not on Apple systems; shortens the lines below

public func open(_ path: CString, _ flags: Int32) -> Int32 { absent() }  // open(2); overlay: Platform.swift
public func open(_ path: CString, _ flags: Int32, _ mode: mode_t) -> Int32 { absent() }  // open(2); overlay: Platform.swift
public func openat(_ fd: Int32, _ path: CString, _ flags: Int32) -> Int32 { absent() }  // openat(2); overlay: Platform.swift
public func openat(_ fd: Int32, _ path: CString, _ flags: Int32, _ mode: mode_t) -> Int32 { absent() }  // the same
public func fcntl(_ fd: Int32, _ command: Int32) -> Int32 { absent() }  // fcntl(2); overlay: Platform.swift
public func fcntl(_ fd: Int32, _ command: Int32, _ value: Int32) -> Int32 { absent() }  // fcntl(2); overlay: Platform.swift
public func fcntl(_ fd: Int32, _ command: Int32, _ ptr: UnsafeMutableRawPointer) -> Int32 { absent() }  // the same
@discardableResult public func close(_ fd: Int32) -> Int32 { absent() }  // close(2)
@discardableResult public func read(_ fd: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int) -> Int { absent() }  // read(2)
@discardableResult public func write(_ fd: Int32, _ buffer: UnsafeRawPointer!, _ count: Int) -> Int { absent() }  // write(2)
@discardableResult public func pread(
    _ fd: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int, _ offset: off_t
) -> Int { absent() }  // pread(2)
@discardableResult public func pwrite(
    _ fd: Int32, _ buffer: UnsafeRawPointer!, _ count: Int, _ offset: off_t
) -> Int { absent() }  // pwrite(2)
@discardableResult public func lseek(_ fd: Int32, _ offset: off_t, _ whence: Int32) -> off_t { absent() }  // lseek(2)
@discardableResult public func fsync(_ fd: Int32) -> Int32 { absent() }  // fsync(2)
@discardableResult public func flock(_ fd: Int32, _ operation: Int32) -> Int32 { absent() }  // flock(2)
@discardableResult public func ftruncate(_ fd: Int32, _ size: off_t) -> Int32 { absent() }  // ftruncate(2)
@discardableResult public func pipe(_ ends: UnsafeMutablePointer<Int32>!) -> Int32 { absent() }  // pipe(2)
@discardableResult public func pthread_main_np() -> Int32 { absent() }  // pthread_main_np(3)
@discardableResult public func isatty(_ fd: Int32) -> Int32 { absent() }  // isatty(3)
@discardableResult public func fstat(_ fd: Int32, _ status: UnsafeMutablePointer<DarwinStatus.stat>!) -> Int32 { absent() }  // fstat(2)
@discardableResult public func stat(
    _ path: CString!, _ status: UnsafeMutablePointer<DarwinStatus.stat>!
) -> Int32 { absent() }  // stat(2)
@discardableResult public func lstat(_ path: CString!, _ status: UnsafeMutablePointer<DarwinStatus.stat>!) -> Int32 { absent() }  // lstat(2)
@discardableResult public func fstatat(
    _ fd: Int32, _ path: CString!, _ status: UnsafeMutablePointer<DarwinStatus.stat>!, _ flag: Int32
) -> Int32 { absent() }  // fstatat(2)
@discardableResult public func access(_ path: CString!, _ mode: Int32) -> Int32 { absent() }  // access(2)
@discardableResult public func unlink(_ path: CString!) -> Int32 { absent() }  // unlink(2)
@discardableResult public func unlinkat(_ fd: Int32, _ path: CString!, _ flag: Int32) -> Int32 { absent() }  // unlinkat(2)
@discardableResult public func rmdir(_ path: CString!) -> Int32 { absent() }  // rmdir(2)
@discardableResult public func mkdir(_ path: CString!, _ mode: mode_t) -> Int32 { absent() }  // mkdir(2)
@discardableResult public func mkdirat(_ fd: Int32, _ path: CString!, _ mode: mode_t) -> Int32 { absent() }  // mkdirat(2)
@discardableResult public func mkfifo(_ path: CString!, _ mode: mode_t) -> Int32 { absent() }  // mkfifo(2)
@discardableResult public func utimensat(
    _ fd: Int32, _ path: CString!, _ times: UnsafePointer<timespec>!, _ flag: Int32
) -> Int32 { absent() }  // utimensat(2)
@discardableResult public func chmod(_ path: CString!, _ mode: mode_t) -> Int32 { absent() }  // chmod(2)
@discardableResult public func umask(_ mask: mode_t) -> mode_t { absent() }  // umask(2)
@discardableResult public func rename(_ path: CString!, _ target: CString!) -> Int32 { absent() }  // rename(2)
@discardableResult public func renameat(
    _ fd: Int32, _ path: CString!, _ other: Int32, _ target: CString!
) -> Int32 { absent() }  // renameat(2)
public let XATTR_NOFOLLOW: Int32 = 1  // setxattr(2)
@discardableResult public func setxattr(
    _ path: CString!, _ name: CString!, _ value: UnsafeRawPointer!, _ size: Int, _ position: UInt32, _ options: Int32
) -> Int32 { absent() }  // setxattr(2)
@discardableResult public func getxattr(
    _ path: CString!, _ name: CString!, _ value: UnsafeMutableRawPointer!, _ size: Int, _ position: UInt32,
    _ options: Int32
) -> Int { absent() }  // getxattr(2)
@discardableResult public func link(_ path: CString!, _ other: CString!) -> Int32 { absent() }  // link(2)
@discardableResult public func symlink(_ path: CString!, _ link: CString!) -> Int32 { absent() }  // symlink(2)
@discardableResult public func symlinkat(_ path: CString!, _ fd: Int32, _ link: CString!) -> Int32 { absent() }  // symlinkat(2)
@discardableResult public func readlink(
    _ path: CString!, _ buffer: UnsafeMutablePointer<CChar>!, _ size: Int
) -> Int { absent() }  // readlink(2)
public func fdopendir(_ fd: Int32) -> UnsafeMutablePointer<DIR>! { absent() }  // opendir(3)
public func readdir(_ directory: UnsafeMutablePointer<DIR>!) -> UnsafeMutablePointer<dirent>! { absent() }  // readdir(3)
public func rewinddir(_ directory: UnsafeMutablePointer<DIR>!) { absent() }  // rewinddir(3)
@discardableResult public func closedir(_ directory: UnsafeMutablePointer<DIR>!) -> Int32 { absent() }  // closedir(3)
@discardableResult public func atexit(_ call: (@convention(c) () -> Void)!) -> Int32 { absent() }  // atexit(3)
@discardableResult public func mkstemp(_ template: UnsafeMutablePointer<CChar>!) -> Int32 { absent() }  // mkstemp(3)
public func realpath(
    _ path: CString!, _ resolved: UnsafeMutablePointer<CChar>!
) -> UnsafeMutablePointer<CChar>! { absent() }  // realpath(3)
public func getcwd(_ buffer: UnsafeMutablePointer<CChar>!, _ size: Int) -> UnsafeMutablePointer<CChar>! { absent() }  // getcwd(3)
public func mmap(
    _ address: UnsafeMutableRawPointer!, _ length: Int, _ protection: Int32, _ flags: Int32, _ fd: Int32, _ offset: off_t
) -> UnsafeMutableRawPointer! { absent() }  // mmap(2)
@discardableResult public func munmap(_ address: UnsafeMutableRawPointer!, _ length: Int) -> Int32 { absent() }  // munmap(2)
@discardableResult public func madvise(
    _ address: UnsafeMutableRawPointer!, _ length: Int, _ advice: Int32
) -> Int32 { absent() }  // madvise(2)

@discardableResult public func ioctl(_ fd: Int32, _ request: UInt, _ ptr: UnsafeMutableRawPointer) -> Int32 { absent() }  // ioctl(2); overlay: Platform.swift

// MARK: Memory and strings

public func free(_ pointer: UnsafeMutableRawPointer!) { absent() }  // free(3)
public func strlen(_ text: CString!) -> Int { absent() }  // strlen(3)
public func strcmp(_ one: CString!, _ other: CString!) -> Int32 { absent() }  // strcmp(3)
public func strerror(_ code: Int32) -> UnsafeMutablePointer<CChar>! { absent() }  // strerror(3)
public func getenv(_ name: CString!) -> UnsafeMutablePointer<CChar>! { absent() }  // getenv(3)
@discardableResult public func setenv(_ name: CString!, _ value: CString!, _ overwrite: Int32) -> Int32 { absent() }  // setenv(3)
@discardableResult public func unsetenv(_ name: CString!) -> Int32 { absent() }  // unsetenv(3)

@discardableResult public func setlocale(_ category: Int32, _ locale: CString!) -> UnsafeMutablePointer<CChar>! { absent() }  // setlocale(3)
public var LC_ALL: Int32 { 0 }  // setlocale(3)

// MARK: Processes, threads and time

public func exit(_ status: Int32) -> Never { absent() }  // exit(3)
public func getpid() -> pid_t { absent() }  // getpid(2)
public func geteuid() -> uid_t { absent() }  // geteuid(2)
@discardableResult public func kill(_ process: pid_t, _ signal: Int32) -> Int32 { absent() }  // kill(2)
@discardableResult public func usleep(_ microseconds: useconds_t) -> Int32 { absent() }  // usleep(3)
@discardableResult public func sleep(_ seconds: UInt32) -> UInt32 { absent() }  // sleep(3)
@discardableResult public func clock_gettime(
    _ clock: clockid_t, _ time: UnsafeMutablePointer<timespec>!
) -> Int32 { absent() }  // clock_gettime(3)
@discardableResult public func time(_ time: UnsafeMutablePointer<time_t>!) -> time_t { absent() }  // time(3)
@discardableResult public func localtime_r(
    _ time: UnsafePointer<time_t>!, _ parts: UnsafeMutablePointer<tm>!
) -> UnsafeMutablePointer<tm>! { absent() }  // localtime(3)
public func tzset() { absent() }  // tzset(3)
public func getpagesize() -> Int32 { absent() }  // getpagesize(3)
public func getloadavg(_ loads: UnsafeMutablePointer<Double>!, _ count: Int32) -> Int32 { absent() }  // getloadavg(3)
public func sysconf(_ name: Int32) -> Int { absent() }  // sysconf(3)
@discardableResult public func getrlimit(_ resource: Int32, _ limit: UnsafeMutablePointer<rlimit>!) -> Int32 { absent() }  // getrlimit(2)
@discardableResult public func setrlimit(_ resource: Int32, _ limit: UnsafePointer<rlimit>!) -> Int32 { absent() }  // setrlimit(2)
@discardableResult public func getrusage(_ who: Int32, _ usage: UnsafeMutablePointer<rusage>!) -> Int32 { absent() }  // getrusage(2)
public func dlopen(_ path: CString!, _ mode: Int32) -> UnsafeMutableRawPointer! { absent() }  // dlopen(3)
public func dlsym(_ handle: UnsafeMutableRawPointer!, _ name: CString!) -> UnsafeMutableRawPointer! { absent() }  // dlsym(3)
@discardableResult public func dlclose(_ handle: UnsafeMutableRawPointer!) -> Int32 { absent() }  // dlclose(3)

// MARK: Sockets


public func socket(_ domain: Int32, _ type: Int32, _ protocol: Int32) -> Int32 { absent() }  // socket(2)
public func bind(_ fd: Int32, _ address: UnsafePointer<sockaddr>!, _ length: socklen_t) -> Int32 { absent() }  // bind(2)
public func listen(_ fd: Int32, _ backlog: Int32) -> Int32 { absent() }  // listen(2)
public func accept(
    _ fd: Int32, _ address: UnsafeMutablePointer<sockaddr>!, _ length: UnsafeMutablePointer<socklen_t>!
) -> Int32 { absent() }  // accept(2)
@discardableResult public func getsockname(
    _ fd: Int32, _ address: UnsafeMutablePointer<sockaddr>!, _ length: UnsafeMutablePointer<socklen_t>!
) -> Int32 { absent() }  // getsockname(2)
@discardableResult public func setsockopt(
    _ fd: Int32, _ level: Int32, _ option: Int32, _ value: UnsafeRawPointer!, _ length: socklen_t
) -> Int32 { absent() }  // setsockopt(2)
@discardableResult public func send(_ fd: Int32, _ buffer: UnsafeRawPointer!, _ count: Int, _ flags: Int32) -> Int { absent() }  // send(2)
@discardableResult public func recv(
    _ fd: Int32, _ buffer: UnsafeMutableRawPointer!, _ count: Int, _ flags: Int32
) -> Int { absent() }  // recv(2)
@discardableResult public func shutdown(_ fd: Int32, _ how: Int32) -> Int32 { absent() }  // shutdown(2)

// MARK: Mathematics (overlay: tgmath.swift.gyb)

public func log(_ value: Double) -> Double { absent() }  // log(3)
public func pow(_ base: Double, _ exponent: Double) -> Double { absent() }  // pow(3)
public func round(_ value: Double) -> Double { absent() }  // round(3)
public func fmod(_ value: Double, _ divisor: Double) -> Double { absent() }  // fmod(3)

private func absent() -> Never { fatalError("a stand-in has no behaviour") }
