import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Finds the attachments of all collections by their location. A lookup never uses the file system.
///
/// A record of one collection can contain a location that belongs to another collection. For each location, the index
/// prefers the collection whose name is in the location, then current states over older ones, then files that are
/// included in the bundle, and then the first collection by name. So no collection can hide another collection's files
/// from clients.
final class AttachmentIndex: Sendable {
    private final class Place: Sendable {
        let bundle: BundleReader
        /// The collection; `nil` for an older state, whose records are read only when they are needed.
        let collection: ServedCollection?
        let file: Manifest.File
        let resource = Lazily<OriginResource>()

        init(bundle: BundleReader, collection: ServedCollection? = nil, file: Manifest.File) {
            self.bundle = bundle
            self.collection = collection
            self.file = file
        }

        /// Returns whether the location begins with the bucket and the name of this place's collection.
        ///
        /// The bucket in a location is often `<bucket>-workspace`, the bucket in which editors change the collection.
        func belongs(at location: String) -> Bool {
            let id = bundle.head.collection
            let parts = location.utf8.split(
                separator: UInt8(ascii: "/"), maxSplits: 2, omittingEmptySubsequences: false)
            return parts.count == 3 && parts[1].elementsEqual(id.name.utf8)
                && (parts[0].elementsEqual(id.bucket.utf8) || parts[0].starts(with: "\(id.bucket)-".utf8))
        }

        func goes(before other: Place, at location: String) -> Bool {
            let (belongs, otherBelongs) = (belongs(at: location), other.belongs(at: location))
            // If both have the same file, or if the names do not decide, prefer the one whose bundle contains its file.
            guard file.sha256 != other.file.sha256, belongs != otherBelongs else {
                return other.file.omitted != nil && file.omitted == nil
            }
            return belongs
        }
    }

    private let places: [ExactString: Place]
    /// The locations at which several collections have different files, one line each, for reports.
    let conflicts: [String]

    /// The path of the server's address.
    private let path: String

    /// Reads the manifests. Current states have priority over older ones, which clients with outdated records still
    /// request.
    ///
    /// - Throws: `Failure`.
    init(_ collections: [ServedCollection], path: String) throws(Failure) {
        self.path = path
        var places: [ExactString: Place] = [:]
        var conflicts: [String] = []
        for collection in collections {
            for file in try collection.files() {
                let place = Place(bundle: collection.bundle, collection: collection, file: file)
                let location = PercentEncoding.decode(file.location)
                guard let other = places.updateValue(place, forKey: location.exact) else { continue }
                if !place.goes(before: other, at: location) { places[location] = other }
                if other.file.sha256 != file.sha256 {
                    conflicts.append(
                        "\(other.bundle.head.collection) and \(collection.id) have different attachments at the "
                            + "location \(location); the one of "
                            + "\(places[location] === place ? collection.id : other.bundle.head.collection) is served")
                }
            }
        }
        for collection in collections {
            for bundle in collection.history {
                for file in try bundle.manifest().files where file.omitted == nil {
                    let location = PercentEncoding.decode(file.location)
                    let place = Place(bundle: bundle, file: file)
                    if places[location].map({ place.belongs(at: location) && !$0.belongs(at: location) }) ?? true {
                        places[location] = place
                    }
                }
            }
        }
        self.places = places
        self.conflicts = conflicts
    }

    /// The locations of the attachments that the bundles contain, sorted.
    var locations: [String] {
        places.values.filter { $0.file.omitted == nil }.map(\.file.location.exact).sorted().map(\.string)
    }

    /// Returns the response to a request for a file.
    ///
    /// - Parameter location: the percent-decoded location.
    /// - Returns: `nil` if no record has this location.
    /// - Throws: `Failure` if the bundle cannot be read.
    func answer(_ location: String) throws(Failure) -> OriginAnswer? {
        guard let place = places[location] else { return nil }
        if let reason = place.file.omitted { return .problem(.omitted(reason), .attachment) }
        return .resource(try place.resource.get { () throws(Failure) in try resource(place) })
    }

    private func resource(_ place: Place) throws(Failure) -> OriginResource {
        guard let packed = try place.bundle.packedAttachment(place.file.sha256) else {
            throw Failure(
                .missing, file: place.bundle.name, entry: "attachments/\(place.file.sha256)", expected: "an attachment",
                found: "no such entry")
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
                ? .wrapped(GzipMember.wrap(packed.bytes, crc: packed.crc, size: packed.size)) : .none,
            useAsDictionary: FileDelta.useAsDictionary("\(path)/attachments/\(place.file.location)", size: packed.size))
    }

    /// Returns the media type in a record if it is safe in a header, otherwise `application/octet-stream`.
    ///
    /// It is safe if it is `type/subtype` with parameters, in printable ASCII (RFC 9110 §8.3.1).
    private static func contentType(_ text: String) -> String {
        let isSafe =
            text.utf8.count <= 200 && text.utf8.allSatisfy { (0x20...0x7E).contains($0) } && text.contains("/")
            && !text.hasPrefix("/")
        return isSafe ? text : "application/octet-stream"
    }
}
