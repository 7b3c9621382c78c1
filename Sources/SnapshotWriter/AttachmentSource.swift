import RemoteSettingsModel
import SnapshotBundle

/// Where a bundle takes an attachment's bytes from, or why it does without them.
public enum AttachmentSource: Sendable {
    case bytes(Bytes)
    /// A regular file, which is read while the bundle is written.
    case file(path: String)
    /// A part of a regular file, as long as the record says, which is read while the bundle is written.
    case part(path: String, offset: Int)
    /// The attachment of the same hash in another bundle.
    case bundle(BundleReader)
    case omitted(OmissionReason)
}
