import RemoteSettingsModel
import SnapshotBundle

extension OriginResource.Content {
    /// A file of a bundle, in place or inflated while it is sent; `nil` where the bundle has no such file.
    ///
    /// Its bytes are not checked: give it a bundle that was verified.
    ///
    /// - Throws: `BundleError` where the bundle cannot be read.
    package init?(_ digest: SHA256Digest, of bundle: BundleReader) throws(BundleError) {
        guard let entry = try bundle.packedAttachment(digest) else { return nil }
        self = entry.isDeflated ? .packed(PackedContent(entry: entry)) : .segments([entry.bytes])
    }
}
