/// An object as a store lists it.
package struct StoredObject: Hashable, Sendable {
    /// The size in bytes.
    package let size: Int
    /// The entity tag as `If-Match` takes it, with its quotation marks; `nil` if the client does not report it.
    package let tag: String?

    /// The MD5 of the content in hexadecimal, if the tag is one.
    ///
    /// It is not if the object was uploaded in parts, or is encrypted with a key of its own.
    var md5: String? {
        guard let name = tag?.filter({ $0 != "\"" }).lowercased(), name.utf8.count == 32,
            name.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) })
        else { return nil }
        return name
    }
}

/// The headers that a store sends with an object.
package struct ObjectHeaders: Hashable, Sendable {
    package let contentType: String
    package let cacheControl: String
    /// The encoding; `nil` if the content is stored as it is.
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

/// A store as a client program reaches it.
///
/// Keys are relative to the place's prefix. Every call uses the network, by a process.
package protocol StoreClient: Sendable {
    var place: StorePlace { get }
    /// All objects under the prefix.
    func list() async throws(UploadError) -> [String: StoredObject]
    /// Writes an object's content to a file.
    ///
    /// - Returns: the object's tag.
    func read(_ key: String, to file: String) async throws(UploadError) -> String
    /// Writes one object.
    ///
    /// - Returns: the object's tag; `nil` if the condition was not met and nothing was written.
    func write(
        _ key: String, from file: String, _ headers: ObjectHeaders, _ condition: WriteCondition
    ) async throws(UploadError) -> String?
    /// Writes every file in a folder to the key that is its relative path.
    func writeAll(in folder: String, _ headers: ObjectHeaders) async throws(UploadError)
    /// Removes objects. Keys that do not exist are ignored.
    ///
    /// - Parameter scratch: a folder for a temporary file of the client.
    func remove(_ keys: [String], scratch: String) async throws(UploadError)
}
