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

    /// The number of bytes at the beginning of a file that always contain the bundle's head, even with the longest
    /// bucket and collection ids.
    static let headBytes = 1024

    /// Converts the number in a manifest to a timestamp; returns `nil` if it has more than 18 digits.
    static func timestamp(_ milliseconds: UInt64) -> Timestamp? {
        milliseconds < 1_000_000_000_000_000_000 ? Timestamp(milliseconds: milliseconds) : nil
    }

    static let timestampRule = "a timestamp of at most 18 digits"
}
