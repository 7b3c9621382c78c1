import RemoteSettingsModel

/// The constants of bundle format 1, which Documentation.docc/BundleFormat.md specifies.
enum BundleFormat {
    static let version = 1

    static let manifest = "manifest.json"
    static let records = "records.json"
    static let metadata = "metadata.json"
    static let chain = "chain.pem"
    static let attachmentPrefix = "attachments/"
    /// The length of `attachments/` and 64 lower-case hexadecimal digits.
    static let attachmentNameLength = 76

    /// The size of a prefix that contains any bundle's head, even with the longest bucket and collection ids.
    static let headBytes = 1024

    /// Returns a manifest's timestamp; `nil` if it is too long.
    static func timestamp(_ milliseconds: UInt64) -> Timestamp? {
        milliseconds < 1_000_000_000_000_000_000 ? Timestamp(milliseconds: milliseconds) : nil
    }

    static let timestampRule = "a timestamp of at most 18 digits"
}
