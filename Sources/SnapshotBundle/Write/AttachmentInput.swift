import RemoteSettingsModel

/// Where a bundle takes an attachment's bytes from, or why it does without them.
public enum AttachmentInput: Sendable {
    case bytes(Bytes)
    /// A regular file, which is read while the bundle is written.
    case file(path: String)
    /// What was compressed before, and is copied while the bundle is written.
    case packed(PackedAttachment)
    /// The attachment of the same hash in another bundle.
    case bundle(BundleReader)
    case omitted(OmissionReason)
}
