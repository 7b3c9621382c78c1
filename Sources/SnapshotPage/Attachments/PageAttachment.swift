import RemoteSettingsModel
import SnapshotBundle

/// The attachment of a record, as a file to show or to download.
struct PageAttachment {
    /// The most bytes of a picture that is shown.
    static let pictureBytes = 8 << 20

    private let bundle: BundleReader
    private let attachment: RecordAttachment
    private let size: Int

    /// - Returns: `nil` where there is no such record, or its attachment is not in the bundle.
    init?(collection: PageCatalog.Collection, record: String) throws {
        guard let record = try collection.bundle.payload().records.record(id: record),
            let attachment = try record.attachment(),
            let size = try collection.bundle.attachmentSize(attachment.hash)
        else { return nil }
        bundle = collection.bundle
        self.attachment = attachment
        self.size = size
    }

    /// For `<img>`: with the picture's media type if the bytes are a picture, else as a download.
    func shown() throws -> PageAnswer {
        guard size <= Self.pictureBytes, let bytes = try bundle.attachment(attachment.hash),
            let picture = PictureType(of: bytes)
        else { return downloaded() }
        let disposition = picture == .svg ? attachmentDisposition : "inline"
        return .file(
            [.init("Content-Type", picture.rawValue), .init("Content-Disposition", disposition)], .bytes(bytes))
    }

    /// As a file without a media type, so that no browser shows it as a document.
    func downloaded() -> PageAnswer {
        .file(
            [
                .init("Content-Type", "application/octet-stream"),
                .init("Content-Disposition", attachmentDisposition),
            ], .attachment(attachment.hash, of: bundle, size: size))
    }

    /// RFC 6266 with RFC 8187's encoding: no text of the record reaches the header unencoded.
    private var attachmentDisposition: String {
        let last = attachment.filename.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map(String.init) ?? ""
        let kept = HiddenCharacters.occur(in: last) ? "" : String(last.prefix(120))
        let name = kept.allSatisfy { $0 == "." || $0 == " " } ? String(attachment.hash.hex.prefix(16)) : kept
        return "attachment; filename*=UTF-8''" + PercentEncoding.component(name)
    }
}
