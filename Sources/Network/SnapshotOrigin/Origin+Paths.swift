import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

extension Origin {
    /// Lists every resource that has its own path, without a query. A mirror of plain files consists of these.
    ///
    /// Changesets are listed in full. The deltas, one for each state in ``ServedCollection/history``, are not listed;
    /// see ``ServedCollection/delta(since:_:_:)``.
    ///
    /// A record can contain the location of a document that the server generates. Such a path is listed twice: first
    /// for the document, which the server returns at that path, and then for the attachment.
    ///
    /// - Parameters:
    ///   - earlier: returns the bytes of a delta from an earlier run, by its path in the mirror.
    ///   - add: receives a percent-encoded path that begins with `/`, and the resource at that path. Resources are
    ///     created one at a time, so that they are never all in memory.
    /// - Throws: `Failure` if a bundle cannot be read, or the error that `add` throws.
    package func forEachPath(
        earlier: (String) throws -> Bytes? = { _ in nil },
        _ add: (_ path: String, _ resource: OriginResource) throws -> Void
    ) throws {
        for version in APIVersion.allCases {
            let prefix = "/\(version.rawValue)/"
            if let root = roots[version] { try add(prefix, root) }
            try add("\(prefix)buckets/monitor/collections/changes/changeset", monitorChangeset())
            for collection in collections {
                let path = "\(prefix)buckets/\(collection.id.bucket)/collections/\(collection.id.name)/changeset"
                // A plain file cannot depend on a client's preference, so always include the received metadata.
                try add(path, try collection.changeset(true))
            }
        }
        for (name, chain) in chains.sorted(by: { $0.key < $1.key }) { try add("/chains/\(name)", chain) }
        for collection in collections {
            guard let zip = try attachmentsZip(collection.id) else { continue }
            try add("/attachments/bundles/\(collection.id.bucket)--\(collection.id.name).zip", zip)
        }
        for location in attachments.locations {
            guard case .resource(let file)? = try attachments.answer(PercentEncoding.decode(location)),
                let path = PercentEncoding.complete(location)
            else { continue }
            try add("/attachments/\(path)", file)
        }
        // A CDN with Mozilla's rules finds a delta by the names of both files. The manifests are for people.
        var manifests: [ExactString: [ExactString: [JSONValue]]] = [:]
        for (place, pair) in deltas.all {
            guard let path = PercentEncoding.complete(place) else { continue }
            guard let delta = try deltas.delta(pair, earlier: earlier("/attachments/\(path)")) else { continue }
            try add(
                "/attachments/\(path)",
                OriginResource(
                    .attachment, type: "application/octet-stream", tag: pair.tag, freshness: .seconds(86_400),
                    content: .segments([delta]), isKept: false))
            let names = [pair.new, pair.old].map { String($0.location.split(separator: "/").last ?? "") }
            let folder = path.split(separator: "/").prefix(3).joined(separator: "/")
            manifests[folder.exact, default: [:]][names[0].exact, default: []].append(.string(names[1]))
        }
        for (folder, names) in manifests.sorted(by: { $0.key < $1.key }) {
            let members = names.sorted { $0.key < $1.key }.map {
                JSONValue.Member(key: $0.key.string, value: .array($0.value))
            }
            let manifest = Self.document(.attachment, .object(members), freshness: .seconds(3600))
            try add("/attachments/\(folder)/manifest.json", manifest)
        }
    }
}
