/// The name of a collection: the id of its bucket, and its own id.
///
/// Both match `^[a-zA-Z0-9][a-zA-Z0-9_-]*$`, which is Kinto's rule for identifiers, and have at most 255 characters.
/// Neither can therefore break out of a path or URL that contains it.
package struct CollectionID: Hashable, Sendable {
    /// The bucket's id, such as `main`.
    package let bucket: String
    /// The collection's id in its bucket, such as `regions`.
    package let name: String

    /// Makes an id from its two parts.
    ///
    /// - Throws: ``FormatError`` with the part that is invalid.
    package init(bucket: String, name: String) throws(FormatError) {
        try Identifier.check(bucket, what: "bucket id")
        try Identifier.check(name, what: "collection id")
        self.bucket = bucket
        self.name = name
    }

    /// Reads `bucket/collection`.
    ///
    /// - Throws: ``FormatError`` if the text is not two valid ids with one slash between them.
    package init(_ text: String) throws(FormatError) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw .invalidName("collection", found: text, expected: "BUCKET/COLLECTION, such as main/regions")
        }
        try self.init(bucket: String(parts[0]), name: String(parts[1]))
    }
}

extension CollectionID: CustomStringConvertible {
    package var description: String { "\(bucket)/\(name)" }
}

extension CollectionID {
    /// The name without regard to case. Ids that share it also share a file on a file system that ignores case, as
    /// Apple's do.
    package var ignoringCase: String { description.lowercased() }
}

extension CollectionID: Comparable {
    package static func < (left: CollectionID, right: CollectionID) -> Bool {
        (left.bucket, left.name) < (right.bucket, right.name)
    }
}
