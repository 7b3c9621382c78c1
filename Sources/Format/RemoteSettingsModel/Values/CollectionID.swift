/// The name of a collection: the id of its bucket, and its own id.
///
/// Both match `^[a-zA-Z0-9][a-zA-Z0-9_-]*$`, which is Kinto's rule for identifiers, and are at most 255 characters
/// long. So neither can change the meaning of a path or URL that contains it.
package struct CollectionID: Hashable, Sendable {
    /// The bucket's id, such as `main`.
    package let bucket: String
    /// The collection's id in its bucket, such as `markets`.
    package let name: String

    /// Creates an id from its two parts.
    ///
    /// - Throws: ``Failure`` with the invalid part.
    package init(bucket: String, name: String) throws(Failure) {
        try Identifier.check(bucket, what: "bucket id")
        try Identifier.check(name, what: "collection id")
        self.bucket = bucket
        self.name = name
    }

    /// Parses `bucket/collection`.
    ///
    /// - Throws: ``Failure`` if the text is not two valid ids with one slash between them.
    package init(_ text: String) throws(Failure) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            throw .invalidName("collection", found: text, expected: "BUCKET/COLLECTION, such as main/markets")
        }
        try self.init(bucket: String(parts[0]), name: String(parts[1]))
    }
}

extension CollectionID: CustomStringConvertible {
    package var description: String { "\(bucket)/\(name)" }
}

extension CollectionID {
    /// The lower-case name. Ids with the same lower-case name share a file on a case-insensitive file system, such as
    /// Apple's.
    package var ignoringCase: String { description.lowercased() }
}

extension CollectionID: Comparable {
    package static func < (left: CollectionID, right: CollectionID) -> Bool {
        (left.bucket, left.name) < (right.bucket, right.name)
    }
}
