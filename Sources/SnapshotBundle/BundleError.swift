/// What is wrong with a bundle, its lock, or what is to be put into one.
public struct BundleError: Error, Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// The file cannot be opened, read or mapped.
        case unreadable
        /// The file cannot be created or written.
        case unwritable
        /// The file is not a bundle: its ZIP structure breaks a rule of the format.
        case malformed
        /// The format's version is not known here.
        case unknownVersion
        /// A compressed stream, a checksum or a hash is wrong.
        case damaged
        /// The manifest or the lock and what they speak of differ.
        case disagreement
        /// Something is larger than ``Limits`` allow.
        case overLimit
        /// What was asked for is not there.
        case missing
        /// What was to be written into a bundle is not what it was said to be.
        case wrongSource
    }

    public let kind: Kind
    /// The file, as the caller named it.
    public let file: String
    /// The entry inside of the file, or the key path in a document; `nil` where it is the file as a whole.
    public let entry: String?
    public let expected: String
    public let found: String

    public init(_ kind: Kind, file: String, entry: String? = nil, expected: String, found: String) {
        self.kind = kind
        self.file = file
        self.entry = entry
        self.expected = expected
        self.found = found
    }

    /// What to do next.
    public var remedy: String {
        switch kind {
        case .unreadable: "check that the path is right and that this user may read it"
        case .unwritable: "check the directory's permissions and the space left on the device"
        case .malformed, .damaged, .disagreement:
            "restore the file from version control, or run `rsdump refresh` to make it again"
        case .unknownVersion: "it was made by a newer rsdump; update this one"
        case .overLimit: "raise the limit if the file is to be trusted, or leave the attachment out in dumps.yaml"
        case .missing: "run `rsdump refresh` to fetch it"
        case .wrongSource: "fetch the file again; nothing was written"
        }
    }
}

extension BundleError: CustomStringConvertible {
    public var description: String { "\(file): \(problem); \(remedy)" }

    /// What is wrong inside of the file, without the file's name and without what to do about it.
    package var problem: String { "\(entry.map { "\($0): " } ?? "")expected \(expected), found \(found)" }
}
