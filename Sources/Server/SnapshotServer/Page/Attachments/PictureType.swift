import RemoteSettingsModel

/// A picture format that browsers show.
///
/// It is detected from the file's first bytes (WHATWG MIME Sniffing §6.1), never from the media type in a record.
enum PictureType: String {
    case png = "image/png"
    case jpeg = "image/jpeg"
    case gif = "image/gif"
    case webp = "image/webp"
    case avif = "image/avif"
    case icon = "image/x-icon"
    /// A text-based format that can contain scripts. They do not run in `<img>` (SVG Integration §3), and the page
    /// never serves an SVG as a document.
    case svg = "image/svg+xml"

    init?(of bytes: Bytes) {
        let head = bytes[0..<min(bytes.count, 512)].array
        if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
            self = .png
        } else if head.starts(with: [0xFF, 0xD8, 0xFF]) {
            self = .jpeg
        } else if head.starts(with: "GIF87a".utf8) || head.starts(with: "GIF89a".utf8) {
            self = .gif
        } else if head.starts(with: "RIFF".utf8), head.dropFirst(8).starts(with: "WEBP".utf8) {
            self = .webp
        } else if head.dropFirst(4).starts(with: "ftypavif".utf8) {
            self = .avif
        } else if head.starts(with: [0, 0, 1, 0]) {
            self = .icon
        } else if Self.isSVG(head) {
            self = .svg
        } else {
            return nil
        }
    }

    private static func isSVG(_ head: [UInt8]) -> Bool {
        guard let text = String(validating: head.prefix { $0 < 0x80 }, as: UTF8.self) else { return false }
        let start = text.drop(while: \.isWhitespace)
        return start.hasPrefix("<svg")
            || (start.hasPrefix("<?xml") || start.hasPrefix("<!--") || start.hasPrefix("<!DOCTYPE svg"))
                && start.contains("<svg")
    }
}
