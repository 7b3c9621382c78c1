// swift-format-ignore-file
// What this package uses of the C library of Apple systems, as Swift imports it there. The source of each declaration is a
// page of the manual (man 2 open: "open(2)"), a header, or a file of Swift's overlay (stdlib/public/Platform). The types
// are those of 64-bit systems. A pointer is an implicitly unwrapped optional, as the headers do not say whether it may be null.

@_exported import DarwinStatus

// MARK: Types

public typealias pid_t = Int32  // sys/_types/_pid_t.h
public typealias suseconds_t = Int32  // sys/_types/_suseconds_t.h
public typealias useconds_t = UInt32  // sys/_types/_useconds_t.h
public typealias ssize_t = Int  // sys/_types/_ssize_t.h
public typealias socklen_t = UInt32  // sys/_types/_socklen_t.h
public typealias sa_family_t = UInt8  // sys/_types/_sa_family_t.h
public typealias in_port_t = UInt16  // sys/_types/_in_port_t.h
public typealias in_addr_t = UInt32  // sys/_types/_in_addr_t.h
public typealias rlim_t = UInt64  // sys/resource.h
public typealias sig_t = @convention(c) (Int32) -> Void  // sys/signal.h

public struct clockid_t: RawRepresentable, Equatable, Sendable {  // time.h: an enum of C, so that Swift makes it a structure
    public var rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }
    public init(_ rawValue: UInt32) { self.rawValue = rawValue }
}
public var CLOCK_REALTIME: clockid_t { clockid_t(0) }  // time.h
public var CLOCK_MONOTONIC: clockid_t { clockid_t(6) }  // time.h
public var CLOCK_PROCESS_CPUTIME_ID: clockid_t { clockid_t(12) }  // time.h
public var CLOCK_THREAD_CPUTIME_ID: clockid_t { clockid_t(16) }  // time.h

public struct timeval: Sendable {  // sys/_types/_timeval.h
    public var tv_sec: time_t, tv_usec: suseconds_t
    public init(tv_sec: time_t, tv_usec: suseconds_t) { (self.tv_sec, self.tv_usec) = (tv_sec, tv_usec) }
    public init() { self.init(tv_sec: 0, tv_usec: 0) }
}

public struct dirent {  // dirent(5); d_name is char[1024] there
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
public struct fstore_t: Sendable {  // fcntl(2)
    public var fst_flags: UInt32 = 0, fst_posmode: Int32 = 0, fst_offset: off_t = 0, fst_length: off_t = 0
    public init() {}
}

// MARK: Constants

public var errno: Int32 {  // intro(2); overlay: Platform.swift
    get { 0 }
    set {}
}
public var O_RDONLY: Int32 { 0 }  // open(2), and so the next
public var O_WRONLY: Int32 { 1 }
public var O_RDWR: Int32 { 2 }
public var O_NONBLOCK: Int32 { 0x4 }
public var O_APPEND: Int32 { 0x8 }
public var O_NOFOLLOW: Int32 { 0x100 }
public var O_CREAT: Int32 { 0x200 }
public var O_TRUNC: Int32 { 0x400 }
public var O_EXCL: Int32 { 0x800 }
public var O_DIRECTORY: Int32 { 0x100000 }
public var O_CLOEXEC: Int32 { 0x1000000 }
public var AT_FDCWD: Int32 { -2 }  // openat(2): fcntl.h
public var AT_SYMLINK_NOFOLLOW: Int32 { 0x20 }  // fstatat(2)
public var AT_REMOVEDIR: Int32 { 0x80 }  // unlinkat(2)
public var F_OK: Int32 { 0 }  // access(2)
public var F_SETFD: Int32 { 2 }  // fcntl(2), and so the next
public var F_GETFL: Int32 { 3 }
public var F_SETFL: Int32 { 4 }
public var F_FULLFSYNC: Int32 { 51 }
public var F_DUPFD_CLOEXEC: Int32 { 67 }
public var FD_CLOEXEC: Int32 { 1 }
public var S_IFMT: mode_t { 0o170000 }  // stat(2); overlay: Platform.swift, and so the next
public var S_IFREG: mode_t { 0o100000 }
public var S_IFDIR: mode_t { 0o040000 }
public var S_IFLNK: mode_t { 0o120000 }
public var LOCK_EX: Int32 { 2 }  // flock(2), and so the next
public var LOCK_NB: Int32 { 4 }
public var LOCK_UN: Int32 { 8 }
public var SEEK_SET: Int32 { 0 }  // lseek(2), and so the next
public var SEEK_CUR: Int32 { 1 }
public var PROT_READ: Int32 { 1 }  // mmap(2), and so the next
public var PROT_WRITE: Int32 { 2 }
public var MAP_SHARED: Int32 { 1 }
public var MAP_PRIVATE: Int32 { 2 }
public var MAP_ANON: Int32 { 0x1000 }
public var MAP_ANONYMOUS: Int32 { 0x1000 }
public var MAP_FAILED: UnsafeMutableRawPointer! { unsafe UnsafeMutableRawPointer(bitPattern: -1) }  // overlay: Platform.swift
public var MADV_DONTNEED: Int32 { 4 }  // madvise(2)
public var EPERM: Int32 { 1 }  // intro(2), and so the next
public var ENOENT: Int32 { 2 }
public var EINTR: Int32 { 4 }
public var EIO: Int32 { 5 }
public var EACCES: Int32 { 13 }
public var EFAULT: Int32 { 14 }
public var EEXIST: Int32 { 17 }
public var EXDEV: Int32 { 18 }
public var ENOTDIR: Int32 { 20 }
public var EISDIR: Int32 { 21 }
public var EINVAL: Int32 { 22 }
public var ENOTTY: Int32 { 25 }
public var EFBIG: Int32 { 27 }
public var ENOSPC: Int32 { 28 }
public var EROFS: Int32 { 30 }
public var EPIPE: Int32 { 32 }
public var EAGAIN: Int32 { 35 }
public var EWOULDBLOCK: Int32 { 35 }
public var ENOTSUP: Int32 { 45 }
public var EADDRINUSE: Int32 { 48 }
public var EADDRNOTAVAIL: Int32 { 49 }
public var ECONNABORTED: Int32 { 53 }
public var ECONNRESET: Int32 { 54 }
public var ELOOP: Int32 { 62 }
public var ENAMETOOLONG: Int32 { 63 }
public var ENOTEMPTY: Int32 { 66 }
public var EDQUOT: Int32 { 69 }
public var ENOSYS: Int32 { 78 }
public var SIGINT: Int32 { 2 }  // sigaction(2), and so the next
public var SIGKILL: Int32 { 9 }
public var SIGBUS: Int32 { 10 }
public var SIGPIPE: Int32 { 13 }
public var SIGTERM: Int32 { 15 }
public var SIG_IGN: sig_t { { _ in } }  // signal(3); overlay: Platform.swift
public var SIG_DFL: sig_t? { nil }  // signal(3); overlay: Platform.swift
public var AF_INET: Int32 { 2 }  // sys/socket.h, and so the next
public var SOCK_STREAM: Int32 { 1 }
public var SOL_SOCKET: Int32 { 0xffff }
public var SO_LINGER: Int32 { 0x80 }
public var SO_NOSIGPIPE: Int32 { 0x1022 }
public var SO_REUSEADDR: Int32 { 4 }
public var SHUT_RD: Int32 { 0 }
public var SHUT_WR: Int32 { 1 }
public var SHUT_RDWR: Int32 { 2 }
public var IPPROTO_TCP: Int32 { 6 }  // netinet/in.h
public var TCP_NODELAY: Int32 { 1 }  // tcp(4)
public var TCP_NOTSENT_LOWAT: Int32 { 0x201 }  // netinet/tcp.h
public var RLIMIT_NOFILE: Int32 { 8 }  // getrlimit(2)
public var RUSAGE_SELF: Int32 { 0 }  // getrusage(2)
public var _SC_NPROCESSORS_ONLN: Int32 { 58 }  // sysconf(3)
public var EXIT_SUCCESS: Int32 { 0 }  // exit(3)
public var EXIT_FAILURE: Int32 { 1 }  // exit(3)
public var STDIN_FILENO: Int32 { 0 }  // stdin(4)
public var STDOUT_FILENO: Int32 { 1 }  // stdout(4)
public var STDERR_FILENO: Int32 { 2 }  // stderr(4)
public var RTLD_LAZY: Int32 { 1 }  // dlopen(3)
public var RTLD_NOW: Int32 { 2 }  // dlopen(3)
public var RTLD_LOCAL: Int32 { 4 }  // dlopen(3)
public var PATH_MAX: Int32 { 1024 }  // sys/syslimits.h

public var TIOCGWINSZ: UInt { 0x40087468 }  // tty(4); overlay: TiocConstants.swift

// MARK: Files

public typealias CString = UnsafePointer<CChar>  // not there: for the lines below

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
@discardableResult public func truncate(_ path: CString!, _ size: off_t) -> Int32 { absent() }  // truncate(2)
@discardableResult public func dup(_ fd: Int32) -> Int32 { absent() }  // dup(2)
@discardableResult public func dup2(_ fd: Int32, _ other: Int32) -> Int32 { absent() }  // dup2(2)
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
@discardableResult public func fchmod(_ fd: Int32, _ mode: mode_t) -> Int32 { absent() }  // fchmod(2)
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
@discardableResult public func linkat(
    _ fd: Int32, _ path: CString!, _ otherFD: Int32, _ other: CString!, _ flag: Int32
) -> Int32 { absent() }  // linkat(2)
@discardableResult public func symlink(_ path: CString!, _ link: CString!) -> Int32 { absent() }  // symlink(2)
@discardableResult public func symlinkat(_ path: CString!, _ fd: Int32, _ link: CString!) -> Int32 { absent() }  // symlinkat(2)
@discardableResult public func readlink(
    _ path: CString!, _ buffer: UnsafeMutablePointer<CChar>!, _ size: Int
) -> Int { absent() }  // readlink(2)
public func opendir(_ path: CString!) -> UnsafeMutablePointer<DIR>! { absent() }  // opendir(3)
public func fdopendir(_ fd: Int32) -> UnsafeMutablePointer<DIR>! { absent() }  // opendir(3)
public func readdir(_ directory: UnsafeMutablePointer<DIR>!) -> UnsafeMutablePointer<dirent>! { absent() }  // readdir(3)
public func rewinddir(_ directory: UnsafeMutablePointer<DIR>!) { absent() }  // rewinddir(3)
@discardableResult public func closedir(_ directory: UnsafeMutablePointer<DIR>!) -> Int32 { absent() }  // closedir(3)
@discardableResult public func atexit(_ call: (@convention(c) () -> Void)!) -> Int32 { absent() }  // atexit(3)
public func mkdtemp(_ template: UnsafeMutablePointer<CChar>!) -> UnsafeMutablePointer<CChar>! { absent() }  // mkdtemp(3)
@discardableResult public func mkstemp(_ template: UnsafeMutablePointer<CChar>!) -> Int32 { absent() }  // mkstemp(3)
public func realpath(
    _ path: CString!, _ resolved: UnsafeMutablePointer<CChar>!
) -> UnsafeMutablePointer<CChar>! { absent() }  // realpath(3)
public func getcwd(_ buffer: UnsafeMutablePointer<CChar>!, _ size: Int) -> UnsafeMutablePointer<CChar>! { absent() }  // getcwd(3)
@discardableResult public func chdir(_ path: CString!) -> Int32 { absent() }  // chdir(2)
public func mmap(
    _ address: UnsafeMutableRawPointer!, _ length: Int, _ protection: Int32, _ flags: Int32, _ fd: Int32, _ offset: off_t
) -> UnsafeMutableRawPointer! { absent() }  // mmap(2)
@discardableResult public func munmap(_ address: UnsafeMutableRawPointer!, _ length: Int) -> Int32 { absent() }  // munmap(2)
@discardableResult public func madvise(
    _ address: UnsafeMutableRawPointer!, _ length: Int, _ advice: Int32
) -> Int32 { absent() }  // madvise(2)

@discardableResult public func ioctl(_ fd: Int32, _ request: UInt, _ ptr: UnsafeMutableRawPointer) -> Int32 { absent() }  // ioctl(2); overlay: Platform.swift

// MARK: Memory and strings

public func malloc(_ size: Int) -> UnsafeMutableRawPointer! { absent() }  // malloc(3)
public func free(_ pointer: UnsafeMutableRawPointer!) { absent() }  // free(3)
@discardableResult public func memcpy(
    _ to: UnsafeMutableRawPointer!, _ from: UnsafeRawPointer!, _ count: Int
) -> UnsafeMutableRawPointer! { absent() }  // memcpy(3)
@discardableResult public func memmove(
    _ to: UnsafeMutableRawPointer!, _ from: UnsafeRawPointer!, _ count: Int
) -> UnsafeMutableRawPointer! { absent() }  // memmove(3)
@discardableResult public func memset(
    _ to: UnsafeMutableRawPointer!, _ byte: Int32, _ count: Int
) -> UnsafeMutableRawPointer! { absent() }  // memset(3)
@discardableResult public func memcmp(
    _ left: UnsafeRawPointer!, _ right: UnsafeRawPointer!, _ count: Int
) -> Int32 { absent() }  // memcmp(3)
public func memchr(_ bytes: UnsafeRawPointer!, _ byte: Int32, _ count: Int) -> UnsafeMutableRawPointer! { absent() }  // memchr(3)
public func strlen(_ text: CString!) -> Int { absent() }  // strlen(3)
public func strerror(_ code: Int32) -> UnsafeMutablePointer<CChar>! { absent() }  // strerror(3)
public func getenv(_ name: CString!) -> UnsafeMutablePointer<CChar>! { absent() }  // getenv(3)
@discardableResult public func setenv(_ name: CString!, _ value: CString!, _ overwrite: Int32) -> Int32 { absent() }  // setenv(3)
@discardableResult public func unsetenv(_ name: CString!) -> Int32 { absent() }  // unsetenv(3)
public func strtod(_ text: CString!, _ end: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>!) -> Double { absent() }  // strtod(3)

@discardableResult public func setlocale(_ category: Int32, _ locale: CString!) -> UnsafeMutablePointer<CChar>! { absent() }  // setlocale(3)
public var LC_ALL: Int32 { 0 }  // setlocale(3)
@discardableResult public func vsnprintf(
    _ buffer: UnsafeMutablePointer<CChar>!, _ size: Int, _ format: CString!, _ arguments: CVaListPointer
) -> Int32 { absent() }  // printf(3)

// MARK: Processes, threads and time

public func exit(_ status: Int32) -> Never { absent() }  // exit(3)
public func _exit(_ status: Int32) -> Never { absent() }  // _exit(2)
public func abort() -> Never { absent() }  // abort(3)
public func getpid() -> pid_t { absent() }  // getpid(2)
public func getppid() -> pid_t { absent() }  // getppid(2)
public func getuid() -> uid_t { absent() }  // getuid(2)
public func geteuid() -> uid_t { absent() }  // geteuid(2)
@discardableResult public func kill(_ process: pid_t, _ signal: Int32) -> Int32 { absent() }  // kill(2)
@discardableResult public func raise(_ signal: Int32) -> Int32 { absent() }  // raise(3)
@discardableResult public func signal(_ signal: Int32, _ handler: sig_t!) -> sig_t! { absent() }  // signal(3)
@discardableResult public func usleep(_ microseconds: useconds_t) -> Int32 { absent() }  // usleep(3)
@discardableResult public func sleep(_ seconds: UInt32) -> UInt32 { absent() }  // sleep(3)
@discardableResult public func sched_yield() -> Int32 { absent() }  // sched.h
@discardableResult public func clock_gettime(
    _ clock: clockid_t, _ time: UnsafeMutablePointer<timespec>!
) -> Int32 { absent() }  // clock_gettime(3)
@discardableResult public func time(_ time: UnsafeMutablePointer<time_t>!) -> time_t { absent() }  // time(3)
@discardableResult public func localtime_r(
    _ time: UnsafePointer<time_t>!, _ parts: UnsafeMutablePointer<tm>!
) -> UnsafeMutablePointer<tm>! { absent() }  // localtime(3)
@discardableResult public func gmtime_r(
    _ time: UnsafePointer<time_t>!, _ parts: UnsafeMutablePointer<tm>!
) -> UnsafeMutablePointer<tm>! { absent() }  // gmtime(3)
public func timegm(_ parts: UnsafeMutablePointer<tm>!) -> time_t { absent() }  // timegm(3)
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
public func dlerror() -> UnsafeMutablePointer<CChar>! { absent() }  // dlerror(3)

// MARK: Sockets

public struct pollfd: Sendable {  // poll(2)
    public var fd: Int32, events: Int16, revents: Int16
    public init(fd: Int32, events: Int16, revents: Int16) { (self.fd, self.events, self.revents) = (fd, events, revents) }
    public init() { self.init(fd: 0, events: 0, revents: 0) }
}
public var POLLIN: Int32 { 1 }  // poll(2)
@discardableResult public func poll(_ ends: UnsafeMutablePointer<pollfd>!, _ count: UInt32, _ milliseconds: Int32) -> Int32 { absent() }  // poll(2)

public func socket(_ domain: Int32, _ type: Int32, _ protocol: Int32) -> Int32 { absent() }  // socket(2)
public func bind(_ fd: Int32, _ address: UnsafePointer<sockaddr>!, _ length: socklen_t) -> Int32 { absent() }  // bind(2)
public func listen(_ fd: Int32, _ backlog: Int32) -> Int32 { absent() }  // listen(2)
public func accept(
    _ fd: Int32, _ address: UnsafeMutablePointer<sockaddr>!, _ length: UnsafeMutablePointer<socklen_t>!
) -> Int32 { absent() }  // accept(2)
public func connect(_ fd: Int32, _ address: UnsafePointer<sockaddr>!, _ length: socklen_t) -> Int32 { absent() }  // connect(2)
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
public func log2(_ value: Double) -> Double { absent() }  // log2(3)
public func log10(_ value: Double) -> Double { absent() }  // log10(3)
public func exp(_ value: Double) -> Double { absent() }  // exp(3)
public func pow(_ base: Double, _ exponent: Double) -> Double { absent() }  // pow(3)
public func sqrt(_ value: Double) -> Double { absent() }  // sqrt(3)
public func floor(_ value: Double) -> Double { absent() }  // floor(3)
public func ceil(_ value: Double) -> Double { absent() }  // ceil(3)
public func round(_ value: Double) -> Double { absent() }  // round(3)
public func fmod(_ value: Double, _ divisor: Double) -> Double { absent() }  // fmod(3)

private func absent() -> Never { fatalError("a stand-in has no behaviour") }
