import RemoteSettingsModel

/// A failed system call on a file: the operation, the path, and the reason.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    package let path: String
    let operation: String
    package let code: Int32

    // These are negative, because the codes of `errno` are positive.
    /// The path is a pipe or a device.
    static let notRegular: Int32 = -1
    /// The path is a symbolic link.
    static let isLink: Int32 = -2
    /// The path is a directory that no command of this tool made, and it is not empty.
    static let isForeign: Int32 = -3

    package init(_ operation: String, _ path: String, code: Int32 = errno) {
        self.path = path
        self.operation = operation
        self.code = code
    }

    /// Whether the path is a pipe, a device, a link or a directory. That is a mistake of the caller and not a failure
    /// of the machine.
    package var isWrongKind: Bool { [Self.notRegular, Self.isLink, Self.isForeign, EISDIR].contains(code) }

    package var isMissing: Bool { code == ENOENT || code == ENOTDIR }

    /// Whether the bytes to write could not be read, because the mapped file that they are in was cut short.
    package var isOfSource: Bool { code == EFAULT }

    /// The code of a write where nothing may be written.
    package static var readOnly: Int32 { EROFS }

    /// Whether a rename failed because the target is on another volume.
    package var isOfOtherVolume: Bool { code == EXDEV }

    /// Whether the file has more bytes than the caller reads.
    package var isTooLarge: Bool { code == EFBIG }

    package var description: String { "cannot \(operation) \(path): \(reason)" }

    var reason: String {
        switch code {
        case Self.notRegular: "it is a pipe or a device; expected a regular file"
        case Self.isLink: "it is a symbolic link, which is not followed; give the path that it leads to, or remove it"
        case Self.isForeign:
            "rsdump did not create this directory, and it is not empty; remove it, or name another path"
        case EFAULT: "the file that it is copied from was cut short meanwhile; restore that file, and run this again"
        default: systemError(code)
        }
    }
}

// These have names of their own, because the types here have methods called read, write, rename and link.
package func systemWrite(_ descriptor: Int32, _ buffer: UnsafeRawPointer?, _ count: Int) -> Int {
    unsafe write(descriptor, buffer, count)
}

func systemRename(_ path: String, _ target: String) -> Int32 {
    unsafe rename(path, target)
}

/// Waits until a file's content is on the disk.
///
/// On Apple systems, `fsync` leaves it in the drive's cache, which is written later (fsync(2)).
func systemFlush(_ descriptor: Int32) -> Int32 {
    #if canImport(Darwin)
    // A file system that does not support this, such as one on a network, gets an ordinary `fsync`.
    if fcntl(descriptor, F_FULLFSYNC) == 0 { return 0 }
    #endif
    return fsync(descriptor)
}

func systemLink(_ path: String, _ other: String) -> Int32 {
    unsafe link(path, other)
}

/// Marks a file with an extended attribute, if its file system has them.
func systemSetAttribute(_ path: String, _ name: String) {
    let value: [UInt8] = [1]
    unsafe value.withUnsafeBytes { value in
        #if canImport(Darwin)
        _ = unsafe setxattr(path, name, value.baseAddress, value.count, 0, XATTR_NOFOLLOW)
        #else
        // Swift's Glibc module does not have it.
        typealias SetAttribute =
            @convention(c) (
                UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeRawPointer?, Int, Int32
            ) -> Int32
        guard let symbol = unsafe dlsym(nil, "lsetxattr") else { return }
        _ = unsafe unsafeBitCast(symbol, to: SetAttribute.self)(path, name, value.baseAddress, value.count, 0)
        #endif
    }
}

/// The size of an extended attribute in bytes; 0 if there is none.
func systemAttribute(_ path: String, _ name: String) -> Int {
    #if canImport(Darwin)
    return max(0, unsafe getxattr(path, name, nil, 0, 0, XATTR_NOFOLLOW))
    #else
    typealias GetAttribute =
        @convention(c) (
            UnsafePointer<CChar>, UnsafePointer<CChar>, UnsafeMutableRawPointer?, Int
        ) -> Int
    guard let symbol = unsafe dlsym(nil, "lgetxattr") else { return 0 }
    return max(0, unsafe unsafeBitCast(symbol, to: GetAttribute.self)(path, name, nil, 0))
    #endif
}
