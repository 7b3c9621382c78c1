import RemoteSettingsModel
import SnapshotBundle

/// The preview of an attachment on its record's page.
enum AttachmentPreview {
    case picture
    /// The beginning of a text file, and whether it is the whole file.
    case text(String, isWhole: Bool)
    /// Neither a picture nor text, or too large for the page.
    case none
    /// The attachment is not in the bundle.
    case missing

    /// The maximum number of bytes to show from a text file.
    static let textBytes = 64 << 10

    init(_ attachment: RecordAttachment, in bundle: BundleReader) throws(Failure) {
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

    /// Returns the beginning of a text file; `nil` if it is not UTF-8, or contains control characters that are unusual
    /// in text.
    private static func text(_ bytes: Bytes) -> String? {
        var start = bytes[0..<min(bytes.count, textBytes)].array
        // The last character may be incomplete, so remove up to three bytes.
        if bytes.count > textBytes {
            for _ in 0..<3 where String(validating: start, as: UTF8.self) == nil { start.removeLast() }
        }
        let allowed: Set<UInt8> = [0x09, 0x0A, 0x0C, 0x0D]
        guard !start.contains(where: { $0 < 0x20 && !allowed.contains($0) }) else { return nil }
        return String(validating: start, as: UTF8.self)
    }
}
