import Deflate
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The attachments of all collections by their location. A lookup never touches a file system.
final class AttachmentIndex: Sendable {
    private final class Place: Sendable {
        let bundle: BundleReader
        /// `nil` for an older state, whose records are read only when they are needed.
        let collection: ServedCollection?
        let file: Manifest.File
        let resource = Lazily<OriginResource>()

        init(bundle: BundleReader, collection: ServedCollection? = nil, file: Manifest.File) {
            self.bundle = bundle
            self.collection = collection
            self.file = file
        }
    }

    private let places: [String: Place]

    /// Reads the manifests. Present states come before older ones, for which outdated clients still ask.
    ///
    /// - Throws: `BundleError`.
    init(_ collections: [ServedCollection]) throws(BundleError) {
        var places: [String: Place] = [:]
        for collection in collections {
            for file in try collection.files() {
                let place = Place(bundle: collection.bundle, collection: collection, file: file)
                places[PercentEncoding.decode(file.location), default: place] = place
            }
        }
        for collection in collections {
            for bundle in collection.history {
                for file in try bundle.manifest().files where file.omitted == nil {
                    let key = PercentEncoding.decode(file.location)
                    if places[key] == nil { places[key] = Place(bundle: bundle, file: file) }
                }
            }
        }
        self.places = places
    }

    /// The locations of the attachments that the bundles contain, sorted.
    var locations: [String] {
        places.values.filter { $0.file.omitted == nil }.map(\.file.location).sorted()
    }

    /// - Parameter location: percent-decoded.
    /// - Returns: `nil` where no record has it.
    /// - Throws: `BundleError` where the bundle cannot be read.
    func answer(_ location: String) throws(BundleError) -> OriginAnswer? {
        guard let place = places[location] else { return nil }
        if let reason = place.file.omitted { return .problem(.omitted(reason), .attachment) }
        return .resource(try place.resource.get { () throws(BundleError) in try resource(place) })
    }

    private func resource(_ place: Place) throws(BundleError) -> OriginResource {
        guard let packed = try place.bundle.packedAttachment(place.file.sha256) else {
            throw BundleError(
                .missing, file: place.bundle.name, entry: "attachments/\(place.file.sha256)", expected: "this entry",
                found: "none")
        }
        let records: RecordTable
        if let collection = place.collection {
            records = try collection.records()
        } else {
            records = try place.bundle.payload().records
        }
        let record = records.record(id: place.file.records[0])
        let described = record.flatMap { try? $0.attachment() }
        return OriginResource(
            .attachment, type: Self.contentType(described?.mimetype ?? ""), tag: place.file.sha256.hex,
            lastModified: record?.lastModified, freshness: .seconds(86_400),
            content: OriginContent(packed),
            gzip: packed.isDeflated
                ? .wrapped(GzipMember.wrap(packed.bytes, crc: packed.crc, size: packed.size)) : .none)
    }

    /// The media type that a record states, if it is safe in a header: `type/subtype` and parameters, in printable ASCII
    /// (RFC 9110 §8.3.1).
    private static func contentType(_ text: String) -> String {
        let isSafe =
            text.utf8.count <= 200 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.contains("/")
            && !text.hasPrefix("/")
        return isSafe ? text : "application/octet-stream"
    }
}
