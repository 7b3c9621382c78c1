import RemoteSettingsModel

// The names of these functions differ from those of the system calls, because types in this module have methods with
// the names read, write, rename and link.
package func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, buffer, count)
}

func systemRename(_ path: String, _ target: String) -> Int32 {
    unsafe rename(path, target)
}

/// Waits until a file's content is on the disk.
///
/// On Apple systems, `fsync` leaves the content in the drive's cache, which is written later (fsync(2)).
func systemFlush(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
    // A file system that does not support this, such as a network file system, gets an ordinary `fsync`.
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
    #endif
    return fsync(descriptor)
}

func systemLink(_ path: String, _ other: String) -> Int32 {
    unsafe link(path, other)
}

/// Marks a file with an extended attribute, if its file system supports them.
func systemSetAttribute(_ path: String, _ name: String) {
    let value: [UInt8] = [1]
    unsafe value.withUnsafeBytes { value in
        #if canImport(Darwin)
        _ = unsafe setxattr(path, name, value.baseAddress, value.count, 0, XATTR_NOFOLLOW)
        #else
        // Swift's Glibc module does not declare this function.
        typealias SetAttribute =
            @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer?, Int, Int32) -> Int32
        guard let symbol = unsafe dlsym(nil, "lsetxattr") else { return }
        _ = unsafe unsafeBitCast(symbol, to: SetAttribute.self)(path, name, value.baseAddress, value.count, 0)
        #endif
    }
}

/// Returns the size of an extended attribute in bytes; 0 if there is none.
func systemAttribute(_ path: String, _ name: String) -> Int {
    #if canImport(Darwin)
    return max(0, unsafe getxattr(path, name, nil, 0, 0, XATTR_NOFOLLOW))
    #else
    typealias GetAttribute =
        @convention(c) (UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int) -> Int
    guard let symbol = unsafe dlsym(nil, "lgetxattr") else { return 0 }
    return max(0, unsafe unsafeBitCast(symbol, to: GetAttribute.self)(path, name, nil, 0))
    #endif
}
