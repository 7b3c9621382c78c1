import RemoteSettingsModel

/// What is wrong with a bundle, with its lock, or with the data for a new bundle.
package struct BundleError: Error, Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The file cannot be opened, read or mapped.
        case unreadable
        /// The file cannot be created or written.
        case unwritable
        /// The file is not a bundle: its ZIP structure violates the format.
        case malformed
        /// The file is not a lock, because somebody edited it or a merge left conflict markers in it.
        case malformedLock
        /// The file is a pointer of Git LFS in place of a bundle or a lock.
        case pointer
        /// This version does not know the format's version or a member of a lock.
        case unknownVersion
        /// A compressed stream, a checksum or a hash is wrong.
        case damaged
        /// The contents differ from what the manifest or the lock says.
        case disagreement
        /// Something exceeds ``Limits``.
        case overLimit
        /// A required file or entry does not exist.
        case missing
        /// The data for a new bundle does not have the size or the hash that its records state.
        case wrongSource
    }

    package let kind: Kind
    /// The file, as the caller named it.
    package let file: String
    /// The entry inside the file, or the key path in a document; `nil` for the file as a whole.
    package let entry: String?
    package let expected: String
    package let found: String

    package init(_ kind: Kind, file: String, entry: String? = nil, expected: String, found: String) {
        self.kind = kind
        self.file = file
        self.entry = entry
        self.expected = expected
        self.found = found
    }

    /// What to do next.
    var remedy: String {
        switch kind {
        case .unreadable: "check the path and this user's permission to read it"
        case .unwritable: "check the directory's permissions and the free space on the device"
        case .malformed, .damaged, .disagreement:
            "restore the file from version control, or run `rsdump refresh --full` to create it again"
        case .malformedLock:
            "in a merge conflict, run `rsdump merge`; otherwise restore the file from version control, or remove it "
                + "and run `rsdump refresh`"
        case .pointer: LargeFilePointer.remedy
        case .unknownVersion: "a newer rsdump wrote it; update this rsdump, or restore the file from version control"
        case .overLimit: "leave attachments out in dumps.yaml, or raise the limit if you trust the file"
        case .missing: "run `rsdump refresh` to fetch it"
        case .wrongSource: "fetch the file again; nothing was written"
        }
    }
}

extension BundleError: CustomStringConvertible {
    package var description: String { "\(file): \(problem); \(remedy)" }

    /// What is wrong inside the file, without the file's name and without the remedy.
    package var problem: String {
        let place = entry.map { "\(VisibleText.excerpt($0)): " } ?? ""
        return "\(place)expected \(VisibleText.excerpt(expected)), found \(VisibleText.excerpt(found))"
    }
}
