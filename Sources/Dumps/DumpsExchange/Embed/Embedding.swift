import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// An operation that embeds bundles in a program, by generating a C target whose source includes their bytes.
///
/// If all bundles of a directory are embedded unchanged, the target refers to them and to their lock file. Otherwise,
/// the target has its own lock file, and a copy of each bundle that it needs in a different form. Records may be stored
/// uncompressed to be read in place, and bundles that are not compressed in the directory are compressed, because
/// nothing compresses the program later.
package struct Embedding: Sendable {
    package struct Options: Sendable {
        /// The collections; an empty list means all collections in the lock file.
        package var collections: [CollectionID] = []
        /// Whether records are stored uncompressed, so that they can be read in place without inflating.
        package var isStored = false
        /// Whether the directory is temporary, so that everything must be copied.
        package var isTemporary = false
        /// The path of the Swift file to generate for the app; `nil` to generate none.
        package var swiftFile: String?
        /// Whether the Swift file contains a type for the records of each collection.
        package var hasTypes = false
        /// The JSON Schemas of the collections that have one.
        package var schemas: [CollectionID: JSONValue] = [:]
        /// The required server of all data; `nil` to accept any.
        package var server: ServerURL?

        package init() {}
    }

    private static let lockName = "dumps.lock.json"

    private let directory: DumpsDirectory
    private let output: String
    private let options: Options
    private let verifier: BundleVerifier

    /// Creates the operation.
    ///
    /// - Parameter output: the target's folder. Its last component is the module's name.
    package init(_ directory: DumpsDirectory, to output: String, options: Options, verifier: BundleVerifier) {
        self.directory = directory
        self.output = output
        self.options = options
        self.verifier = verifier
    }

    /// Writes the files that are missing or different, and removes the bundles that the target no longer needs. Does
    /// I/O.
    ///
    /// - Returns: the paths of the changed files.
    /// - Throws: ``Failure``.
    package func write() throws -> [String] {
        let files = try files()
        var changed: [String] = []
        for (path, content) in files where try FileStore.read(path, limit: .max) != content {
            // The Swift file may be outside of the target's folder.
            if path == options.swiftFile {
                try FileStore.makeDirectories(FileStore.parent(of: path))
                try FileStore.writeOutput(path, content)
            } else {
                try FileStore.replace(path, below: output, with: content)
            }
            changed.append(path)
        }
        for path in try litter(files.map(\.path)) {
            try FileStore.remove(path, below: output)
            try FileStore.removeIfEmpty(FileStore.parent(of: path))
            changed.append(path)
        }
        try FileStore.removeIfEmpty("\(output)/\(EmbeddedTarget.bundles)")
        return changed
    }

    /// Returns the paths that ``write()`` would change. Does I/O; writes nothing.
    package func stale() throws -> [String] {
        let files = try files()
        return try files.filter { try FileStore.read($0.path, limit: .max) != $0.content }.map(\.path)
            + litter(files.map(\.path))
    }

    /// Returns the mismatches between the records and the types in the Swift file of an earlier run: for each
    /// collection, the first record that cannot be decoded, its member, and the expected type. Does I/O; writes
    /// nothing.
    package func misfits() throws -> [String] {
        guard options.hasTypes, let path = options.swiftFile,
            let file = try FileStore.read(path, limit: Limits.lockBytes)?.text
        else { return [] }
        let bundles = try directory.lockedBundles(options.collections)
        let readers = Dictionary(bundles.map { ($0.head.collection, $0) }) { first, _ in first }
        return try EmbeddedTarget.names(Array(readers.keys).sorted { "\($0)" < "\($1)" }).compactMap { id, name in
            guard let reader = readers[id], let type = RecordType(named: Self.typeName(name), in: file) else {
                return nil
            }
            for record in try reader.payload().records {
                let value = try JSONValue(parsing: record.json)
                guard let misfit = type.type.misfit(of: value) else { continue }
                let member = misfit.path.map(VisibleText.escape).joined(separator: ".")
                return "\(id): in the record \(record.id), \(member) is \(misfit.found), but \(type.name) requires "
                    + misfit.expected
            }
            return nil
        }
    }

    /// Returns the name of a collection's record type, such as `MarketsRecord` for `markets`.
    private static func typeName(_ name: String) -> String { "\(SwiftName.ofType(name))Record" }

    /// Returns the files left by an earlier run with different options.
    private func litter(_ wanted: [String]) throws -> [String] {
        var found = try FileStore.size("\(output)/\(Self.lockName)") == nil ? [] : ["\(output)/\(Self.lockName)"]
        let bundles = "\(output)/\(EmbeddedTarget.bundles)"
        for bucket in try FileStore.list(bundles) ?? [] {
            found += (try FileStore.list("\(bundles)/\(bucket)") ?? []).map { "\(bundles)/\(bucket)/\($0)" }
        }
        return found.filter { !wanted.contains($0) }
    }

    private func files() throws -> [(path: String, content: Bytes)] {
        let module = try module()
        let bundles = try directory.lockedBundles(options.collections)
        let whole = try directory.lockFile()
        var lock = whole
        let ids = Set(bundles.map(\.head.collection))
        lock.collections = whole.collections.filter { id, _ in ids.contains(id) }
        try checkEnvironment(of: lock)
        var files: [(path: String, content: Bytes)] = []
        var own: Set<CollectionID> = []
        for bundle in bundles {
            let id = bundle.head.collection
            guard let entry = lock.collections[id], let copy = try copy(bundle, entry) else { continue }
            lock.collections[id] = copy.entry
            own.insert(id)
            files.append(("\(output)/\(EmbeddedTarget.bundles)/\(LockFile.Bundle.path(of: id))", copy.content))
        }
        let dumps =
            own.count == bundles.count
            ? EmbeddedTarget.bundles : try RelativePath.way(from: output, to: directory.path)
        // A file name in C source cannot contain these characters.
        guard
            !dumps.unicodeScalars.contains(where: {
                "\"\\".unicodeScalars.contains($0) || $0.value < 0x20 || $0.value == 0x7F
            })
        else {
            throw Failure(
                .usage, file: VisibleText.escape(directory.path),
                found:
                    "a C source file cannot include this path, because it contains quotation marks, backslashes or "
                    + "control characters",
                remedy: "rename the directory")
        }
        let hasOwnLock = lock != whole || options.isTemporary
        if hasOwnLock { files.append(("\(output)/\(Self.lockName)", Bytes(lock.text))) }
        let target = EmbeddedTarget(
            module: module, dumps: dumps, lock: lock, lockPath: hasOwnLock ? Self.lockName : nil,
            own: own, types: try types(of: bundles))
        // Write the source first, because its marker comment tells a later run that the other files were generated.
        files.insert(("\(output)/\(module).c", Bytes(utf8: target.source)), at: 0)
        files.append(("\(output)/include/\(module).h", Bytes(utf8: target.header)))
        if let file = options.swiftFile { files.append((file, Bytes(utf8: target.swift))) }
        try check(files.map(\.path), source: "\(output)/\(module).c")
        return files
    }

    private func types(of bundles: [BundleReader]) throws -> [CollectionID: RecordType] {
        guard options.hasTypes else { return [:] }
        let readers = Dictionary(bundles.map { ($0.head.collection, $0) }) { first, _ in first }
        var types: [CollectionID: RecordType] = [:]
        for (id, name) in EmbeddedTarget.names(Array(readers.keys).sorted { "\($0)" < "\($1)" }) {
            guard let reader = readers[id] else { continue }
            types[id] = RecordType(
                named: Self.typeName(name),
                records: try reader.payload().records.map { try JSONValue(parsing: $0.json) },
                schema: try options.schemas[id] ?? Self.publishedSchema(of: reader))
        }
        return types
    }

    /// Returns the schema that the collection's metadata contains, without its enumerations; `nil` if there is none.
    ///
    /// Metadata is not signed. A schema from there may only say that a member can be missing.
    private static func publishedSchema(of bundle: BundleReader) throws -> JSONValue? {
        func withoutChoices(_ schema: JSONValue) -> JSONValue {
            switch schema {
            case .object(let members):
                .object(
                    members.filter { $0.key != "enum" || $0.value.array == nil }
                        .map { .init(key: $0.key, value: withoutChoices($0.value)) })
            case .array(let elements): .array(elements.map(withoutChoices))
            default: schema
            }
        }
        return try JSONValue(parsing: bundle.metadataText())["schema"].map(withoutChoices)
    }

    /// Refuses data from another server, such as a staging server. Imported data has no server and is always accepted.
    private func checkEnvironment(of lock: LockFile) throws(Failure) {
        guard let server = options.server else { return }
        for (id, entry) in lock.collections.sorted(by: { $0.key < $1.key }) {
            guard let found = try? ServerURL(entry.server, allowPlainHTTP: true), !found.isSameServer(as: server)
            else { continue }
            throw Failure(
                .untrusted, file: "\(id)", expected: "data from \(server.withoutVersion)",
                found: "data from \(found.withoutVersion)",
                remedy: "correct --server, or the server in dumps.yaml and run rsdump refresh")
        }
    }

    /// Refuses to overwrite or remove files that `rsdump embed` did not write.
    private func check(_ paths: [String], source: String) throws {
        for path in [output, options.swiftFile].compactMap(\.self) where try directory.holds(path) {
            throw Failure(
                .usage, file: path,
                found: "it is inside the dumps directory \(directory.path), which must contain nothing else",
                remedy: "choose a different directory, such as Sources/EmbeddedDumps")
        }
        try FileStore.refuseLinks(onWayTo: source)
        try FileStore.checkOutput(options.swiftFile)
        let isOwn = try isGenerated(source)
        for path in try paths + litter(paths) where try FileStore.size(path) != nil {
            guard try path == options.swiftFile ? !isGenerated(path) : !isOwn else { continue }
            throw Failure(
                .usage, file: path, found: "this file was not written by rsdump embed, and would be overwritten",
                remedy: "choose a different --output or --swift, or remove the file")
        }
    }

    private func isGenerated(_ path: String) throws -> Bool {
        guard let size = try FileStore.size(path), size <= Limits.lockBytes else { return false }
        return try FileStore.read(path, limit: Limits.lockBytes)?.text.contains(EmbeddedTarget.origin) ?? false
    }

    private func module() throws(Failure) -> String {
        let name = output.split(separator: "/").last.map { String($0) } ?? ""
        let isIdentifier =
            name.utf8.first.map { !(0x30...0x39).contains($0) } ?? false
            && name.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
                    || byte == 0x5F
            }
        guard isIdentifier else {
            throw Failure(
                .usage, file: output,
                found:
                    "\(VisibleText.quote(name)) is not a module name: use letters, digits and _, and do not begin "
                    + "with a digit",
                remedy: "choose a different --output, such as Sources/EmbeddedDumps")
        }
        return name
    }

    /// Returns the target's own copy of a bundle; `nil` if it uses the directory's.
    private func copy(
        _ bundle: BundleReader, _ entry: LockFile.Collection
    ) throws -> (content: Bytes, entry: LockFile.Collection)? {
        if options.isStored || bundle.compression == .stored {
            let packed = try packed(bundle, entry)
            let isBetter =
                options.isStored
                ? packed.entry.bundle != entry.bundle : packed.entry.bundle.size < entry.bundle.size
            if isBetter { return packed }
        }
        guard options.isTemporary else { return nil }
        return (try MappedFile(bundle: directory.bundlePath(bundle.head.collection)).bytes, entry)
    }

    /// Packs the snapshot of a bundle again, for embedding. Its content is the same, but the bytes may differ.
    private func packed(
        _ bundle: BundleReader, _ entry: LockFile.Collection
    ) throws -> (content: Bytes, entry: LockFile.Collection) {
        let writer = BundleWriter(
            try verifier.snapshot(of: bundle, as: entry), attachments: try bundle.attachmentInputs(),
            compression: options.isStored ? .storedRecords : .deflate)
        let temporary = try TemporaryDirectory()
        defer { withExtendedLifetime(temporary) {} }
        let written = try writer.write(toNewFile: "\(temporary.path)/bundle.zip")
        // The mapping remains valid after the file is removed.
        let content = try MappedFile(path: "\(temporary.path)/bundle.zip").bytes
        var packed = entry
        packed.bundle = .init(collection: bundle.head.collection, size: written.size, sha256: written.sha256)
        return (content, packed)
    }
}

/// The computation of relative paths between folders.
enum RelativePath {
    /// Returns the relative path from one folder to another, such as `../../dumps`.
    ///
    /// - Throws: `Failure` if the working directory is unknown.
    static func way(from folder: String, to target: String) throws(Failure) -> String {
        let start = FileStore.plainComponents(of: try FileStore.absolute(folder))
        let end = FileStore.plainComponents(of: try FileStore.absolute(target))
        let common = zip(start, end).prefix { $0.utf8.elementsEqual($1.utf8) }.count
        let way = Array(repeating: "..", count: start.count - common) + end[common...]
        return way.isEmpty ? "." : way.joined(separator: "/")
    }
}
