import RemoteSettingsModel
import SnapshotBundle

extension Origin {
    /// Returns the monitor's changeset.
    ///
    /// - Parameters:
    ///   - since: only collections that have changed after this time are listed; `nil` for all.
    ///   - bucket: the bucket of the listed collections; `nil` for all. `collection` restricts the name in the same
    ///     way.
    ///   - limit: the largest number of entries; `nil` for all. The newest entries are kept.
    package func monitorChangeset(
        since: Timestamp? = nil, bucket: String? = nil, collection: String? = nil, limit: Int? = nil
    ) -> OriginResource {
        func resource(isKept: Bool) -> OriginResource {
            let body = monitor.body(since: since, bucket: bucket, collection: collection, limit: limit)
            return OriginResource(
                .monitor, type: "application/json",
                tag: "\(monitor.timestamp)-\(SHA256Digest(hashing: body).hex.prefix(16))",
                lastModified: monitor.timestamp, freshness: .seconds(60), content: .segments([body]),
                gzip: body.count > 256 ? .compressing : .none, isKept: isKept)
        }
        guard bucket == nil, collection == nil, limit == nil else { return resource(isKept: false) }
        // The response depends only on the number of newer entries, so only a few responses have to be cached.
        let count = since.map { since in monitor.entries.count { $0.timestamp > since } } ?? monitor.entries.count
        return (try? made.get(.monitor(count), { resource(isKept: true) })) ?? resource(isKept: false)
    }

    /// Returns the monitor as a Kinto list, with the parameters of
    /// ``monitorChangeset(since:bucket:collection:limit:)``.
    ///
    /// Kinto's entity tags are timestamps, and clients parse them. A gzip variant would need a different tag, so there
    /// is none.
    func monitorList(since: Timestamp?, bucket: String?, collection: String?) -> OriginResource {
        OriginResource(
            .monitor, type: "application/json", tag: "\(monitor.timestamp)", lastModified: monitor.timestamp,
            freshness: .seconds(60),
            content: .segments([monitor.list(since: since, bucket: bucket, collection: collection)]), isKept: false)
    }

    /// Returns the ZIP file with a collection's attachments, if the collection's metadata offers one
    /// (`attachment.bundle`).
    ///
    /// - Throws: `Failure` if the bundle cannot be read.
    func attachmentsZip(_ id: CollectionID) throws(Failure) -> OriginResource? {
        guard let collection = byID[id], collection.metadata.hasAttachmentsZip else { return nil }
        return try made.get(.zip(id)) { () throws(Failure) in
            guard let segments = try AttachmentsArchive.segments(collection, try collection.files()),
                segments.reduce(0, { $0 + $1.count }) <= Limits.attachmentsZipBytes
            else { return nil }
            return OriginResource(
                .attachmentsZip, type: "application/zip", tag: "\(collection.timestamp)-\(id.bucket)--\(id.name)",
                lastModified: collection.timestamp, freshness: .seconds(3600), content: .segments(segments))
        }
    }

    /// Returns a file below the attachments base URL, or the work that creates it.
    ///
    /// - Parameter location: the percent-decoded location.
    /// - Throws: `Failure` if a bundle cannot be read.
    func file(_ location: String) throws(Failure) -> PreparedAnswer {
        guard location.hasPrefix("bundles/") else { return .ready(try attachment(location)) }
        return .making { [self] () throws(Failure) in
            let name = String(location.dropFirst("bundles/".count))
            if name.hasSuffix(".zip"), let split = name.dropLast(4).firstRange(of: "--"),
                let id = try? CollectionID(
                    bucket: String(name[..<split.lowerBound]), name: String(name[split.upperBound...].dropLast(4))),
                let zip = try attachmentsZip(id)
            {
                return .resource(zip)
            }
            return try attachment(location)
        }
    }

    private func attachment(_ location: String) throws(Failure) -> OriginAnswer {
        try attachments.answer(location) ?? .problem(.notFound, .attachment)
    }
}
