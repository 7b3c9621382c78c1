import RemoteSettingsModel

// MARK: Failed system calls on files
extension Failure {
    // Negative, to distinguish them from the system's error numbers, which are positive.
    /// The path is a pipe or a device.
    package static let notRegular: Int32 = -1
    /// The path is a symbolic link.
    package static let isLink: Int32 = -2
    /// The path is a directory that is not empty and was not created by a command of this tool.
    package static let isForeign: Int32 = -3
    /// The path cannot be written as a string.
    package static let notUTF8: Int32 = -4

    /// Creates a failure of a system call.
    ///
    /// - Parameters:
    ///   - operation: a verb that precedes the path in the message, such as `open`.
    ///   - errno: the system's error number, or one of the constants above.
    package init(_ operation: String, _ path: String, errno: Int32 = errno) {
        let (problem, remedy) = Self.words(errno)
        self.init(
            .storage, place: path, problem: problem, remedy: remedy,
            cause: .system(operation: operation, number: errno))
    }

    /// Creates a failure of a bundle, or of a file to pack into one, that cannot be opened, read or mapped.
    package static func unreadable(
        _ path: String, entry: String? = nil, expected: String? = nil, found: String, errorNumber: Int32 = 0
    ) -> Self {
        Self(
            .storage, file: path, entry: entry, expected: expected, found: found,
            remedy: "check the path and this user's permission to read it",
            cause: .system(operation: nil, number: errorNumber))
    }

    /// Creates a failure of a bundle that does not exist, although a lock file lists it.
    package static func missingBundle(
        _ path: String, entry: String? = nil,
        remedy: String = "restore the file from version control, or run rsdump refresh"
    ) -> Self {
        Self(
            .storage, file: path, entry: entry, found: "the bundle is missing, but the lock file lists it",
            remedy: remedy, cause: .system(operation: nil, number: ENOENT))
    }

    /// The system's error number; 0 if no system call failed.
    package var errorNumber: Int32 {
        if case .system(_, let number)? = cause { number } else { 0 }
    }

    /// Whether a system call on a path failed.
    package var isOfSystem: Bool {
        if case .system(_?, _)? = cause { true } else { false }
    }

    /// Whether the path is a pipe, a device, a link or a directory. This is a mistake of the caller and not a failure
    /// of the machine.
    package var isWrongKind: Bool {
        [Self.notRegular, Self.isLink, Self.isForeign, Self.notUTF8, EISDIR].contains(errorNumber)
    }

    package var isMissing: Bool { errorNumber == ENOENT || errorNumber == ENOTDIR }

    /// Whether the bytes to write could not be read, because the mapped file that contains them was truncated.
    package var isOfSource: Bool { errorNumber == EFAULT }

    /// Whether a file on this machine could not be read or written, for example on a full disk. Such a failure says
    /// nothing about the data, so it must not be reported as a problem with the data. A path of the wrong kind, or a
    /// missing or truncated file, is not a failure of this machine's storage.
    package var isOfMachine: Bool { code == .storage && !isWrongKind && !isMissing && !isOfSource }

    /// The error number of a write to a read-only location.
    package static var readOnly: Int32 { EROFS }

    /// Whether a rename failed because the target is on a different volume.
    package var isOfOtherVolume: Bool { errorNumber == EXDEV }

    /// Whether the file is larger than the caller's limit.
    package var isTooLarge: Bool { errorNumber == EFBIG }

    /// Returns the reason why a system call failed, and the advice for the user.
    private static func words(_ errno: Int32) -> (String, remedy: String?) {
        switch errno {
        case notRegular: ("it is a pipe or a device, not a regular file", "give the path of a regular file")
        case isLink:
            ("it is a symbolic link, which is not followed", "give the path of its target, or remove the link")
        case isForeign:
            ("the directory is not empty, and rsdump did not create it", "remove it, or choose a different path")
        case notUTF8: ("its name is not UTF-8", "rename it, or remove it")
        case EFAULT:
            ("the file it is copied from was truncated during the copy", "restore that file, and try again")
        default: (systemError(errno), nil)
        }
    }
}
