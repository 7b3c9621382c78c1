#if Server
import RemoteSettingsModel
import SnapshotBundle

/// The attachment of a record, as a file to show or to download.
struct PageAttachment {
    /// The most bytes of a picture that the page shows.
    static let pictureBytes = 8 << 20

    private let bundle: BundleReader
    private let attachment: RecordAttachment
    private let size: Int

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

    /// The answer for `<img>`. If the bytes are a picture, it has the picture's media type; otherwise it is a download.
    func shown() throws -> PageAnswer {
        guard size <= Self.pictureBytes, let bytes = try bundle.attachment(attachment.hash),
            let picture = PictureType(of: bytes)
        else { return downloaded() }
        let disposition = picture == .svg ? attachmentDisposition : "inline"
        return .file(
            [.init("Content-Type", picture.rawValue), .init("Content-Disposition", disposition)], .bytes(bytes))
    }

    /// The file, with a media type that no browser shows as a document.
    func downloaded() -> PageAnswer {
        .file(
            [
                .init("Content-Type", "application/octet-stream"),
                .init("Content-Disposition", attachmentDisposition),
            ], .attachment(attachment.hash, of: bundle, size: size))
    }

    /// The header of RFC 6266, encoded by RFC 8187. No text of the record reaches it unencoded.
    private var attachmentDisposition: String {
        let last = attachment.filename.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        let kept = HiddenCharacters.occur(in: last) ? "" : VisibleText.beginning(last, limit: 120).shown
        let name = kept.allSatisfy { $0 == "." || $0 == " " } ? String(attachment.hash.hex.prefix(16)) : kept
        return "attachment; filename*=UTF-8''" + PercentEncoding.component(name)
    }
}
#endif
