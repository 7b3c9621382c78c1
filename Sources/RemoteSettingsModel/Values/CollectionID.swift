/// The name of a collection: its bucket's id and its own.
///
/// Both ids match `^[a-zA-Z0-9][a-zA-Z0-9_-]*$` (Kinto's rule for identifiers), at most 255 characters, so that
/// neither can escape from a path or a URL that it is put into.
public struct CollectionID: Hashable, Sendable {
    /// The bucket's id, such as `main`.
    public let bucket: String
    /// The collection's id within its bucket, such as `regions`.
    public let name: String

    /// - Throws: ``InvalidIdentifier`` that names the offending id.
    public init(bucket: String, name: String) throws(InvalidIdentifier) {
        try Identifier.check(bucket, what: "bucket id")
        try Identifier.check(name, what: "collection id")
        self.bucket = bucket
        self.name = name
    }

    /// Reads `bucket/collection`.
    ///
    /// - Throws: ``InvalidIdentifier`` where the text is not two valid ids with one slash between them.
    public init(_ text: String) throws(InvalidIdentifier) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw InvalidIdentifier(
                what: "collection", found: text, expected: "BUCKET/COLLECTION, such as main/regions")
        }
        try self.init(bucket: String(parts[0]), name: String(parts[1]))
    }
}

extension CollectionID: CustomStringConvertible {
    public var description: String { "\(bucket)/\(name)" }
}

extension CollectionID {
    /// What all ids have in common whose files a file system that ignores case, as those of Apple's systems do, takes for
    /// the same.
    package var ignoringCase: String { description.lowercased() }
}

extension CollectionID: Comparable {
    public static func < (left: CollectionID, right: CollectionID) -> Bool {
        (left.bucket, left.name) < (right.bucket, right.name)
    }
}
