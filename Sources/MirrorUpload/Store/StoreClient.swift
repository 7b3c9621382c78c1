/// An object as a store lists it.
package struct StoredObject: Hashable, Sendable {
    /// Bytes.
    package let size: Int
    /// The entity tag, as `If-Match` takes it, with its quotation marks; `nil` if the client does not tell it.
    package let tag: String?

    /// The MD5 of the content in hexadecimal, if the tag is one. It is none for an object that was uploaded in parts or that is
    /// encrypted with a key of its own.
    var md5: String? {
        guard let name = tag?.filter({ $0 != "\"" }).lowercased(), name.utf8.count == 32,
            name.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        return name
    }
}

/// What a store is told to say of an object.
package struct ObjectHeaders: Hashable, Sendable {
    package let contentType: String
    package let cacheControl: String
    /// `nil` for content that is stored as it is.
    package let contentEncoding: String?

    package init(contentType: String, cacheControl: String, contentEncoding: String?) {
        self.contentType = contentType
        self.cacheControl = cacheControl
        self.contentEncoding = contentEncoding
    }
}

/// When a store may write an object.
package enum WriteCondition: Hashable, Sendable {
    case always
    /// Only if there is no such object (`If-None-Match: *`).
    case ifAbsent
    /// Only if the object still has this tag (`If-Match`).
    case ifUnchanged(String)
}

/// A store as a client's program reaches it. Keys are relative to the place's prefix. Every call does network, by a process.
package protocol StoreClient: Sendable {
    var place: StorePlace { get }
    /// All objects below the prefix.
    func list() async throws(UploadError) -> [String: StoredObject]
    /// Writes an object's content to a file.
    ///
    /// - Returns: its tag.
    func read(_ key: String, to file: String) async throws(UploadError) -> String
    /// Writes one object.
    ///
    /// - Returns: its tag; `nil` if the condition was not met, so that nothing was written.
    func write(
        _ key: String, from file: String, _ headers: ObjectHeaders, _ condition: WriteCondition
    ) async throws(UploadError) -> String?
    /// Writes every file below a folder to the key that is its relative path.
    func writeAll(in folder: String, _ headers: ObjectHeaders) async throws(UploadError)
    /// Removes objects; those that are missing already do not matter.
    ///
    /// - Parameter scratch: a folder for a file of the client's.
    func remove(_ keys: [String], scratch: String) async throws(UploadError)
}
