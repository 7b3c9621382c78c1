import RemoteSettingsModel

/// A file that belongs to a record, as the record describes it.
public struct Attachment: Hashable, Sendable {
    public let filename: String
    public let mimetype: String
    /// Where it is, below the server's place for attachments.
    public let location: String
    /// SHA-256 of its bytes, in 64 lower-case hexadecimal digits.
    public let hash: String
    /// Bytes.
    public let size: UInt64

    public init(filename: String, mimetype: String, location: String, hash: String, size: UInt64) {
        self.filename = filename
        self.mimetype = mimetype
        self.location = location
        self.hash = hash
        self.size = size
    }

    init(_ attachment: RemoteSettingsModel.Attachment) {
        self.init(
            filename: attachment.filename, mimetype: attachment.mimetype, location: attachment.location,
            hash: attachment.hash.hex, size: attachment.size)
    }
}
