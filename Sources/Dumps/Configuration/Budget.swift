/// How large bundles and attachments may become before a refresh refuses to write them. Bytes; `nil` for no limit.
public struct Budget: Hashable, Sendable {
    /// A bundle's file.
    public var bundle: UInt64?
    /// A single attachment, uncompressed.
    public var attachment: UInt64?

    public init(bundle: UInt64? = nil, attachment: UInt64? = nil) {
        self.bundle = bundle
        self.attachment = attachment
    }
}
