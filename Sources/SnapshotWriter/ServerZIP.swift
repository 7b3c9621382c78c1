import CArchive
import RemoteSettingsModel
import SnapshotBundle

/// The server's zip of a collection's attachments: for each record `{id}`, the file, and `{id}.meta.json`, the record.
///
/// It is unsigned, may lag behind the collection and may lack files: a way to get many bytes with one request, nothing
/// more. Every file must be checked against its record's size and hash by who takes it.
public struct ServerZIP: Sendable {
    private let bytes: Bytes
    private let name: String
    private let limits: Limits

    /// - Parameter name: the URL or path it came from, for error messages.
    /// - Throws: ``BundleError`` where it is larger than ``Limits/attachmentsZipBytes``.
    public init(_ bytes: Bytes, name: String, limits: Limits) throws(BundleError) {
        guard bytes.count <= limits.attachmentsZipBytes else {
            throw BundleError(
                .overLimit, file: name, expected: "at most \(limits.attachmentsZipBytes) bytes", found: "\(bytes.count)"
            )
        }
        self.bytes = bytes
        self.name = name
        self.limits = limits
    }

    /// Maps a downloaded zip into memory. Does I/O.
    public init(path: String, limits: Limits) throws(BundleError) {
        try self.init(try MappedFile(path: path).bytes, name: path, limits: limits)
    }

    /// Gives each wanted file to `take`, in the archive's order.
    ///
    /// - Parameters:
    ///   - size: the size that a record says its file has; `nil` where the file is not wanted. A file of another size
    ///     is passed over, as is one larger than ``Limits/attachmentsZipBytes``: no allocation follows the archive's
    ///     own claims.
    ///   - take: gets the record's id and a file of that size. Its hash is not checked yet.
    /// - Returns: the ids whose file was wanted but has another size.
    /// - Throws: ``BundleError`` where the archive is damaged, or has an entry that is not a regular file named as
    ///   above, or the same name twice; what `take` throws. Files that were given before that are no worse for it.
    @discardableResult
    public func files<Failure: Error>(
        ofSize size: (String) -> Int?, _ take: (String, Bytes) throws(Failure) -> Void
    ) throws -> [String] {
        try unsafe bytes.withUnsafeBytes { buffer in
            let reader = try unsafe ArchiveReader(buffer, name: name)
            var seen: Set<String> = []
            var passedOver: [String] = []
            while let entry = try reader.next() {
                guard seen.count < 2 * limits.attachments else {
                    throw reader.refused(
                        .overLimit, entry.name, "at most \(2 * limits.attachments) entries", "more")
                }
                guard seen.insert(entry.name).inserted else {
                    throw reader.refused(.malformed, entry.name, "each name once", "it twice")
                }
                guard let id = Self.recordID(entry.name) else {
                    throw reader.refused(.malformed, entry.name, "a record id, or one and .meta.json", "another name")
                }
                guard id == entry.name, let size = size(id) else { continue }
                guard size == entry.size, size >= 0, size <= limits.attachmentsZipBytes else {
                    passedOver.append(id)
                    continue
                }
                try take(id, Bytes(try reader.contents(of: entry.name, size: size)))
            }
            return passedOver
        }
    }

    private static func recordID(_ name: String) -> String? {
        let suffix = ".meta.json"
        let id = name.hasSuffix(suffix) ? String(name.dropLast(suffix.count)) : name
        return Identifier.isValid(id.utf8) ? id : nil
    }
}
