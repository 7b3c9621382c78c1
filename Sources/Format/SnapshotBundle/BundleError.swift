import RemoteSettingsModel

/// An error that explains why a file, a bundle, a lock file or a signature cannot be read, trusted or written.
package struct BundleError: CodedError {
    package let code: FailureCode
    /// The file, as specified by the caller; empty if the error is not about a file.
    package let file: String
    /// The entry in the file, or the key path in a document; `nil` for the file as a whole.
    package let entry: String?
    /// The expected value; `nil` if ``found`` is a complete sentence.
    package let expected: String?
    package let found: String
    /// The next step for the user; `nil` if the sentence already includes it.
    package let remedy: String?
    /// The failed system call as a verb, which precedes the path in the message; `nil` if none failed.
    let operation: String?
    /// The system's error number (`errno`); 0 if no system call failed.
    package let errorNumber: Int32
    /// The reason why each signature is not valid; empty unless the error is about several signatures.
    package let signatures: [SignatureFailure]

    /// Creates an error about the content of a file.
    ///
    /// - Parameter remedy: the next step for the user; `nil` for the usual advice for this code.
    package init(
        _ code: FailureCode, file: String, entry: String? = nil, expected: String? = nil, found: String,
        remedy: String? = nil
    ) {
        self.init(
            code, file: file, entry: entry, expected: expected, found: found, remedy: remedy ?? Self.remedy(code),
            errorNumber: 0)
    }

    private init(
        _ code: FailureCode, file: String, entry: String? = nil, expected: String? = nil, found: String,
        remedy: String?, operation: String? = nil, errorNumber: Int32, signatures: [SignatureFailure] = []
    ) {
        self.code = code
        self.file = file
        self.entry = entry
        self.expected = expected
        self.found = found
        self.remedy = remedy
        self.operation = operation
        self.errorNumber = errorNumber
        self.signatures = signatures
    }

    /// Creates an error that does not concern a file.
    init(_ code: FailureCode, _ sentence: String, signatures: [SignatureFailure] = []) {
        self.init(code, file: "", found: sentence, remedy: nil, errorNumber: 0, signatures: signatures)
    }

    private static func remedy(_ code: FailureCode) -> String? {
        switch code {
        case .storage: "check the directory's permissions and the free disk space"
        case .malformed, .damaged:
            "restore the file from version control, or run rsdump refresh --full to create it again"
        case .unknownVersion:
            "it was written by a newer rsdump; update rsdump, or restore the file from version control"
        case .overLimit: "make it smaller, for example leave attachments out in dumps.yaml; apps can raise some limits"
        case .content: "fetch the file again; nothing was written"
        default: nil
        }
    }

    /// The advice for a lock file that was damaged by an edit or a merge.
    static let lockRemedy =
        "in a merge conflict, run rsdump merge; otherwise restore the file from version control, or remove it and run "
        + "rsdump refresh"
}

extension BundleError: CustomStringConvertible {
    package var description: String { remedy.map { "\(sentence); \($0)" } ?? sentence }

    /// The problem, with the file's name and without the remedy.
    package var sentence: String {
        let place = operation.map { "cannot \($0) \(file)" } ?? file
        return place.isEmpty ? problem : "\(place): \(problem)"
    }

    /// The problem, without the file's name and without the remedy.
    package var problem: String {
        guard !file.isEmpty else { return found }
        let place = entry.map { "\(VisibleText.excerpt($0)): " } ?? ""
        guard let expected else { return place + found }
        return "\(place)expected \(VisibleText.excerpt(expected)), found \(VisibleText.excerpt(found))"
    }
}

extension BundleError {
    /// Whether the data could be read, but a signature or its certificate chain does not verify.
    package var isOfTrust: Bool { code == .untrusted || code == .certificate }
}

// MARK: Failed system calls on files
extension BundleError {
    /// Whether a system call on a path failed.
    package var isOfSystem: Bool { operation != nil }

    // Negative, to distinguish them from the system's error numbers, which are positive.
    /// The path is a pipe or a device.
    static let notRegular: Int32 = -1
    /// The path is a symbolic link.
    static let isLink: Int32 = -2
    /// The path is a directory that is not empty and was not created by a command of this tool.
    static let isForeign: Int32 = -3
    /// The path cannot be written as a string.
    static let notUTF8: Int32 = -4

    /// Creates an error about a failed system call.
    ///
    /// - Parameters:
    ///   - operation: a verb that precedes the path in the message, such as `open`.
    ///   - errno: the system's error number, or one of the constants above.
    package init(_ operation: String, _ path: String, errno: Int32 = errno) {
        let (reason, remedy) = Self.reason(errno)
        self.init(.storage, file: path, found: reason, remedy: remedy, operation: operation, errorNumber: errno)
    }

    /// Creates an error about a bundle, or a file to pack into one, that cannot be opened, read or mapped.
    package static func unreadable(
        _ path: String, entry: String? = nil, expected: String? = nil, found: String,
        errorNumber: Int32 = 0
    ) -> Self {
        Self(
            .storage, file: path, entry: entry, expected: expected, found: found,
            remedy: "check the path and this user's permission to read it", errorNumber: errorNumber)
    }

    /// Whether the path is a pipe, a device, a link or a directory. This is a mistake of the caller and not a failure
    /// of the machine.
    package var isWrongKind: Bool {
        [Self.notRegular, Self.isLink, Self.isForeign, Self.notUTF8, EISDIR].contains(errorNumber)
    }

    package var isMissing: Bool { errorNumber == ENOENT || errorNumber == ENOTDIR }

    /// Whether the bytes to write could not be read, because the mapped file that contains them was truncated.
    package var isOfSource: Bool { errorNumber == EFAULT }

    /// The error number of a write to a read-only location.
    package static var readOnly: Int32 { EROFS }

    /// Whether a rename failed because the target is on a different volume.
    package var isOfOtherVolume: Bool { errorNumber == EXDEV }

    /// Whether the file is larger than the caller's limit.
    package var isTooLarge: Bool { errorNumber == EFBIG }

    /// Returns the reason why a system call failed, and the advice for the user.
    private static func reason(_ errno: Int32) -> (String, remedy: String?) {
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

/// The reason why one of several signatures is not valid.
package struct SignatureFailure: Hashable, Sendable, CustomStringConvertible {
    /// The position in the metadata, starting at 1.
    let position: Int
    /// The URL of the certificate chain, as in the metadata.
    package let x5u: String
    /// The reason why this signature is not valid.
    package let reason: BundleError

    package var description: String { "signature \(position), chain \(VisibleText.quote(x5u)): \(reason)" }
}
