import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

/// A writer of the files of a mirror.
struct MirrorTree {
    private let folder: String
    /// The path in the server's address, which is the prefix of the paths of all resources.
    private let prefix: String
    /// The modification time of files for resources without one.
    private let newest: Timestamp
    private var files: Set<ExactString> = []
    private var folders: Set<ExactString> = []
    private(set) var objects: [MirrorObject] = []
    /// The paths that cannot be used as files, and the locations that two collections use for different attachments,
    /// one line each.
    private(set) var notes: [String] = []

    init(folder: String, prefix: String, newest: Timestamp) {
        self.folder = folder
        self.prefix = prefix
        self.newest = newest
    }

    /// Writes every resource of a server. Does I/O.
    ///
    /// - Parameter earlier: the path of the previous tree, whose deltas of attachments are reused.
    /// - Throws: `Failure`.
    mutating func write(_ origin: Origin, earlier: String) throws {
        notes = origin.conflicts.map(VisibleText.escape)
        let states = states(of: origin)
        let deltas: (String) -> Bytes? = { [prefix] path in
            // A delta that cannot be read is computed again.
            guard let place = MirrorPath(prefix + path) else { return nil }
            return try? FileStore.read("\(earlier)/\(place.file)", limit: FileDelta.mostBytes)
        }
        try origin.forEachPath(earlier: deltas) { path, resource in try add(path, resource, states[path]) }
        for version in APIVersion.allCases {
            for collection in origin.collections {
                let times = [collection.timestamp] + collection.history.map(\.head.timestamp)
                for time in times {
                    guard let delta = try collection.delta(since: time, version, true) else { continue }
                    let changeset = MirrorChangeset(
                        collection: "\(collection.id)", state: collection.timestamp, since: time)
                    try add(Self.since(time, of: changeset.collection, version), delta, changeset)
                }
            }
            for time in monitorTimes(origin) {
                let changeset = MirrorChangeset(
                    collection: MirrorChangeset.monitor, state: origin.monitorTimestamp, since: time)
                try add(
                    Self.since(time, of: changeset.collection, version), origin.monitorChangeset(since: time), changeset
                )
            }
        }
        objects.sort { $0.path.utf8.lexicographicallyPrecedes($1.path.utf8) }
        try writeFile(JSONText.indented(.array(objects.map(\.json))), to: "objects.json", newest)
    }

    /// Returns the state that a client has after applying each full changeset, by the path of the changeset.
    private func states(of origin: Origin) -> [ExactString: MirrorChangeset] {
        var states: [ExactString: MirrorChangeset] = [:]
        for version in APIVersion.allCases {
            func add(_ collection: String, _ state: Timestamp) {
                let folder = collection.split(separator: "/").joined(separator: "/collections/")
                states["/\(version.rawValue)/buckets/\(folder)/changeset"] = MirrorChangeset(
                    collection: collection, state: state)
            }
            add(MirrorChangeset.monitor, origin.monitorTimestamp)
            for collection in origin.collections { add("\(collection.id)", collection.timestamp) }
        }
        return states
    }

    /// Returns the path of the response to a `_since` query, beside the full changeset.
    private static func since(_ time: Timestamp, of collection: String, _ version: APIVersion) -> String {
        let parts = collection.split(separator: "/")
        return "/\(version.rawValue)/buckets/\(parts[0])/collections/\(parts[1])/since/\(time)"
    }

    /// Returns the timestamps that the monitor may have had, newest first. They are those of the collections.
    ///
    /// Their number is limited. For all other timestamps, clients get the full list, which is small.
    private func monitorTimes(_ origin: Origin) -> [Timestamp] {
        let times = origin.collections.flatMap { [$0.timestamp] + $0.history.map(\.head.timestamp) }
        return Array(Set(times).sorted(by: >).prefix(1000))
    }

    private mutating func add(_ name: String, _ resource: OriginResource, _ changeset: MirrorChangeset? = nil) throws {
        let path = prefix + name
        guard let place = MirrorPath(path), !folders.contains(place.file.exact), !files.contains(place.file.exact),
            !place.folders.contains(where: { files.contains($0.exact) })
        else {
            notes.append(
                "\(VisibleText.escape(path)): skipped, because it is not a valid file name or conflicts with another path"
            )
            return
        }
        files.insert(place.file.exact)
        folders.formUnion(place.folders.map(\.exact))
        let time = resource.lastModified ?? newest
        let (size, digest) = try write(resource.content, to: place.file, time)
        var gzip: (size: Int, sha256: SHA256Digest)?
        // Attachments are served uncompressed, because clients resume an interrupted download with byte ranges.
        if resource.route != .attachment, let packed = resource.gzip() {
            gzip = try write(.segments(packed), to: place.file + ".gz", time)
        }
        objects.append(
            MirrorObject(
                path: path, file: place.file, contentType: resource.contentType,
                cacheControl: resource.freshness.cacheControl, size: size, sha256: digest,
                gzipSize: gzip?.size, gzipSHA256: gzip?.sha256, changeset: changeset, lastModified: time))
    }

    private func write(
        _ content: OriginContent, to name: String, _ time: Timestamp
    ) throws -> (size: Int, sha256: SHA256Digest) {
        let path = "\(folder)/\(name)"
        let file = try WritableFile(creating: path, below: folder)
        defer { file.abandon() }
        var hasher = ContentHasher()
        var size = 0
        let pieces = try content.pieces()
        while let piece = try pieces.next() {
            piece.withSpan { hasher.update($0) }
            size += piece.count
            do throws(Failure) {
                try file.write(piece)
            } catch {
                // If the bundle was truncated in the meantime, read its bytes again: this terminates the process with
                // an error that names the bundle.
                if error.isOfSource { piece.withSpan { hasher.update($0) } }
                throw error
            }
        }
        try file.finish(flushing: false)
        try FileTime.set(path, to: time)
        return (size, hasher.finish())
    }

    private func writeFile(_ bytes: [UInt8], to name: String, _ time: Timestamp) throws {
        _ = try write(.segments([Bytes(bytes)]), to: name, time)
    }
}
