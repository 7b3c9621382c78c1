import RemoteSettingsModel
import SnapshotBundle

/// The attachment of a record, as a file to display or download.
struct PageAttachment {
    /// The maximum size in bytes of a picture that the page shows.
    static let pictureBytes = 8 << 20

    private let bundle: BundleReader
    private let attachment: RecordAttachment
    private let size: Int

    /// Finds the attachment of a record.
    ///
    /// - Returns: `nil` if there is no such record, or if its attachment is not in the bundle.
    init?(collection: PageCatalog.Collection, record: String) throws {
        guard let record = try collection.bundle.payload().records.record(id: record),
            let attachment = try record.attachment(),
            let size = try collection.bundle.attachmentSize(attachment.hash)
        else { return nil }
        bundle = collection.bundle
        self.attachment = attachment
        self.size = size
    }

    /// Returns the response for `<img>`: the picture with its media type if the bytes are a picture, otherwise a
    /// download.
    func shown() throws -> PageAnswer {
        guard size <= Self.pictureBytes, let bytes = try bundle.attachment(attachment.hash),
            let picture = PictureType(of: bytes)
        else { return downloaded() }
        let disposition = picture == .svg ? attachmentDisposition : "inline"
        return .file(
            [.init("Content-Type", picture.rawValue), .init("Content-Disposition", disposition)], .bytes(bytes))
    }

    /// Returns the file, with a media type that no browser shows as a document.
    func downloaded() -> PageAnswer {
        .file(
            [
                .init("Content-Type", "application/octet-stream"),
                .init("Content-Disposition", attachmentDisposition),
            ], .attachment(attachment.hash, of: bundle, size: size))
    }

    /// The header `Content-Disposition` (RFC 6266), encoded as in RFC 8187. It never contains unencoded text from the
    /// record.
    private var attachmentDisposition: String {
        let last = attachment.filename.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        let kept = HiddenCharacters.occur(in: last) ? "" : VisibleText.beginning(last, limit: 120).shown
        let name = kept.allSatisfy { $0 == "." || $0 == " " } ? String(attachment.hash.hex.prefix(16)) : kept
        return "attachment; filename*=UTF-8''" + PercentEncoding.component(name)
    }
}
