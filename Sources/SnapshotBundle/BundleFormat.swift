/// What is fixed about format 1 of a bundle; Documentation.docc/BundleFormat.md is the specification.
package enum BundleFormat {
    package static let version = 1

    package static let manifest = "manifest.json"
    package static let records = "records.json"
    package static let metadata = "metadata.json"
    package static let chain = "chain.pem"
    package static let attachmentPrefix = "attachments/"
    /// `attachments/` and 64 hexadecimal digits.
    package static let attachmentNameLength = 76

    /// A bundle's head ends within these first bytes of the file, whatever ids its bucket and collection have.
    package static let headBytes = 1024
}
