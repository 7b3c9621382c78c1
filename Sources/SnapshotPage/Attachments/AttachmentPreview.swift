import RemoteSettingsModel
import SnapshotBundle

/// What the page of a record shows of its attachment.
enum AttachmentPreview {
    case picture
    /// The beginning of a text, and whether that is all of it.
    case text(String, isWhole: Bool)
    /// Neither a picture nor a text, or too large for this page.
    case none
    /// Not in the bundle.
    case missing

    /// Bytes of a text that are shown.
    static let textBytes = 64 << 10

    init(_ attachment: RecordAttachment, in bundle: BundleReader) throws(BundleError) {
        guard let size = try bundle.attachmentSize(attachment.hash) else {
            self = .missing
            return
        }
        guard size <= PageAttachment.pictureBytes, let bytes = try bundle.attachment(attachment.hash) else {
            self = .none
            return
        }
        if PictureType(of: bytes) != nil {
            self = .picture
        } else if let text = Self.text(bytes) {
            self = .text(text, isWhole: bytes.count <= Self.textBytes)
        } else {
            self = .none
        }
    }

    /// The text's first bytes; `nil` where they are not UTF-8, or hold controls that no text has.
    private static func text(_ bytes: Bytes) -> String? {
        var start = bytes[0..<min(bytes.count, textBytes)].array
        // A character may be cut at the end.
        if bytes.count > textBytes {
            for _ in 0..<3 where String(validating: start, as: UTF8.self) == nil { start.removeLast() }
        }
        let allowed: Set<UInt8> = [0x09, 0x0A, 0x0C, 0x0D]
        guard !start.contains(where: { $0 < 0x20 && !allowed.contains($0) }) else { return nil }
        return String(validating: start, as: UTF8.self)
    }
}
