import ConfigParameters
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// An export of a dumps directory's bundles to another project's layout, an archive or a file of defaults.
package struct Export: Sendable {
    /// The treatment of an existing file or directory at the output path.
    package enum Existing: Hashable, Sendable {
        /// It is kept, and the export fails.
        case keep
        /// It is replaced.
        case replace
        /// The exported collections are written to it, and everything else in it is kept. This is possible only with
        /// the layouts of other projects' trees.
        case update
    }

    /// The result of an export.
    package struct Report: Sendable {
        package var collections: [CollectionID] = []
        package var files = 0
        /// The total size of all files in bytes.
        package var bytes = 0
        /// The attachments that are missing from the export or were removed by an update, one line each.
        package var notes: [String] = []
    }

    private let directory: DumpsDirectory
    private let layout: ExportLayout
    private let fields: DefaultsFields?
    private let nameField: String?

    /// Creates an export.
    ///
    /// - Parameters:
    ///   - fields: the record fields to export, for a layout of defaults.
    ///   - nameField: the field of each record that contains the name of its attachment's file, for plain files; `nil`
    ///     for the attachment's file name.
    package init(
        _ directory: DumpsDirectory, to layout: ExportLayout, fields: DefaultsFields? = nil,
        nameField: String? = nil
    ) {
        self.directory = directory
        self.layout = layout
        self.fields = fields
        self.nameField = nameField
    }

    /// Writes the export under a temporary name and renames it when it is complete. Does I/O.
    ///
    /// - Parameters:
    ///   - names: the collections; an empty list means all collections in the lock file.
    ///   - output: the path of the directory or file to write.
    ///   - existing: the treatment of an existing output.
    /// - Throws: ``Failure``, or `Failure`, for example if a bundle is damaged or differs from the lock file.
    ///   The output is then unchanged.
    package func write(_ names: [CollectionID], to output: String, existing: Existing = .keep) throws -> Report {
        try check(output, existing)
        let bundles = try directory.lockedBundles(names)
        var report = Report(collections: bundles.map(\.head.collection))
        switch layout {
        case .applicationServices:
            try writeTree(to: output, existing: existing, into: &report) { directory in
                for bundle in bundles {
                    try ApplicationServicesExport.write(ExportedCollection(bundle), into: directory)
                }
            }
        case .firefox:
            try writeTree(to: output, existing: existing, into: &report) { directory in
                for bundle in bundles {
                    try FirefoxExport.write(ExportedCollection(bundle), into: directory)
                }
                try FirefoxExport.writeTimes(bundles.map { ($0.head.collection, $0.head.timestamp) }, into: directory)
            }
        case .changesets:
            try writeTree(to: output, existing: existing, into: &report) { directory in
                for bundle in bundles { try ChangesetsExport.write(bundle, into: directory) }
            }
        case .files:
            try writeTree(to: output, existing: existing, into: &report) { directory in
                for bundle in bundles {
                    try FilesExport.write(ExportedCollection(bundle), into: directory, nameField: nameField)
                }
            }
        case .tarZstd:
            (report.files, report.bytes) = try ArchiveExport.write(bundles, of: directory, to: output)
        case .plist, .json, .swift: try writeDefaults(bundles, to: output, into: &report)
        }
        for head in bundles.map(\.head) where head.omitted > 0 {
            let count = Counted.text(head.omitted, "attachment")
            let verb = Counted.noun(head.omitted, "is", plural: "are")
            report.notes.append("\(head.collection): \(count) \(verb) not in its bundle")
        }
        return report
    }

    private func check(_ output: String, _ existing: Existing) throws {
        if existing == .update, !layout.isUpdatable {
            throw Failure(
                .usage, file: output, found: "an export in the layout \(layout.rawValue) cannot be updated",
                remedy: "replace it as a whole with --force")
        }
        guard try !directory.hasFiles(at: output) else {
            throw Failure(
                .usage, file: output,
                found: "the export would overwrite files of the dumps directory \(directory.path)",
                remedy: "choose a different --output")
        }
        try FileStore.refuseLinks(onWayTo: output)
        if [.link, .other].contains(try FileStore.kind(output)) {
            throw Failure(
                .usage, file: output, found: "it is a link, a pipe or a device, not a file or directory",
                remedy: "choose a different --output")
        }
        let isDirectory = try FileStore.isDirectory(output)
        guard try isDirectory || FileStore.size(output) != nil else { return }
        switch existing {
        case .replace: try FileStore.checkReplaceable(output)
        case .update:
            guard !isDirectory else { return }
            throw Failure(
                .usage, file: output, found: "it is a file; only a directory can be updated",
                remedy: "choose a different --output")
        case .keep:
            throw Failure(
                .usage, file: output, found: "it already exists",
                remedy: (layout.isUpdatable ? "replace only these collections in it with --update, " : "")
                    + ((try? FileStore.checkReplaceable(output)) == nil ? "" : "replace all of it with --force, ")
                    + "or choose a different --output")
        }
    }

    private func writeTree(
        to output: String, existing: Existing, into report: inout Report, _ body: (ExportDirectory) throws -> Void
    ) throws {
        let directory = try ExportDirectory(output, existing)
        try body(directory)
        report.notes += try directory.finish().map { "\($0): removed, because no record uses this attachment" }
        report.files = directory.files
        report.bytes = directory.size
    }

    private func writeDefaults(_ bundles: [BundleReader], to output: String, into report: inout Report) throws {
        guard bundles.count == 1, let bundle = bundles.first else {
            throw Failure(
                .usage, file: directory.lockPath,
                found:
                    "the export would have \(Counted.text(bundles.count, "collection")), but this layout supports only "
                    + "one",
                remedy: "choose one BUCKET/COLLECTION")
        }
        let text = try defaults(of: bundle)
        if try FileStore.isDirectory(output) {
            throw Failure(
                .usage, file: output, found: "it is a directory, not a file", remedy: "choose a different --output")
        }
        try FileStore.makeDirectories(FileStore.parent(of: output))
        try FileStore.writeOutput(output, Bytes(text))
        (report.files, report.bytes) = (1, text.count)
    }
}

extension Export {
    /// Returns the content of the file for the layout: the chosen fields of the records, or the parameters.
    private func defaults(of bundle: BundleReader) throws -> [UInt8] {
        if let fields { return try DefaultsTable(ExportedCollection(bundle), fields).text(layout) }
        let name = "\(bundle.head.collection)"
        let records = try bundle.payload().records
        let parameters = try mapFailure(of: try ParameterSet(records)) {
            Failure(
                .usage, file: name, found: "\($0)",
                remedy: "choose a collection of parameters, or specify the fields with --key and --value")
        }
        return layout == .swift
            ? try Array(ParameterAccessors(parameters, name: name).text.utf8)
            : try ParameterDefaults(parameters, name: name).text(layout)
    }
}

/// The layouts to which bundles can be exported.
package enum ExportLayout: String, CaseIterable, Sendable {
    case applicationServices = "application-services"
    case firefox
    case changesets
    case files
    case tarZstd = "tar.zst"
    case plist
    case json
    case swift

    /// A description of the layout for help texts, in one line.
    package var summary: String {
        switch self {
        case .applicationServices: "the dumps directory of Mozilla's application-services"
        case .firefox: "Firefox's defaults/settings directory"
        case .changesets: "saved changesets of a server, with chains and attachments"
        case .files: "firefox-ios: NAME.json, attachments/NAME/FILE named by --key"
        case .tarZstd: "bundles, lock file and dumps.yaml in one archive, for offline use"
        case .plist: "the default values of parameters, as an XML property list"
        case .json: "the default values of parameters, as a JSON object"
        case .swift: "a Swift accessor for each parameter, with a type that fits all its values"
        }
    }

    /// Whether the layout is that of another project's tree, so that an export can replace some collections and keep
    /// the others.
    package var isUpdatable: Bool { [.firefox, .applicationServices, .files].contains(self) }

    /// Whether the layout is a file of defaults, for which the fields with the keys and the values can be chosen.
    package var hasFields: Bool { [.plist, .json].contains(self) }
}

/// An export in the layout of the `dumps` directory of application-services.
///
/// Each collection has `<bucket>/<name>.json` and `.timestamp`. Each attachment has
/// `<bucket>/attachments/<name>/<record>` and `.meta.json`. These files are compiled into the client. The timestamp is
/// in a separate file, so that the client can compare states without parsing records.
enum ApplicationServicesExport {
    static func write(_ collection: ExportedCollection, into directory: ExportDirectory) throws {
        let id = collection.id
        try directory.write(collection.text(.applicationServices), to: "\(id.bucket)/\(id.name).json")
        try directory.write(Array("\(collection.timestamp)".utf8), to: "\(id.bucket)/\(id.name).timestamp")
        let folder = "\(id.bucket)/attachments/\(id.name)"
        directory.own(folder)
        for (entry, attachment) in collection.attached {
            let name = "\(folder)/\(entry.id)"
            guard try collection.put(attachment, as: name, into: directory) else { continue }
            try directory.write(sidecar(attachment), to: "\(name).meta.json")
        }
    }

    private static func sidecar(_ attachment: RecordAttachment) -> [UInt8] {
        let members: [JSONValue.Member] = [
            .init(key: "location", value: .string(attachment.location)),
            .init(key: "hash", value: .string(attachment.hash.hex)),
            .init(key: "size", value: .number(JSONNumber(attachment.size))),
        ]
        return DumpText.record(.object(members), keys: .sorted, indent: 2)
    }
}

/// An archive of a dumps directory, `dumps/…`, with its lock file, configuration and bundles. Collections that are not
/// exported are removed from the lock file and the configuration.
enum ArchiveExport {
    /// Writes the archive.
    ///
    /// - Returns: the number of files and their total size in bytes.
    static func write(
        _ bundles: [BundleReader], of directory: DumpsDirectory, to output: String
    ) throws -> (files: Int, bytes: Int) {
        var members: [TarFile.Member] = []
        let ids = bundles.map(\.head.collection)
        var lock = try directory.lockFile()
        lock.collections = lock.collections.filter { ids.contains($0.key) }
        if let text = try directory.configurationText() {
            var editor = try ConfigurationEditor(text, file: directory.configurationPath)
            for collection in try directory.configuration().collections where !ids.contains(collection.id) {
                _ = try editor.remove(collection.id)
            }
            members.append(.init(name: "dumps/dumps.yaml", content: Bytes(utf8: editor.text)))
        }
        members.append(.init(name: "dumps/dumps.lock.json", content: Bytes(lock.text)))
        for id in ids {
            let file = try MappedFile(bundle: directory.bundlePath(id))
            members.append(.init(name: "dumps/\(LockFile.Bundle.path(of: id))", content: file.bytes))
        }
        try FileStore.makeDirectories(FileStore.parent(of: output))
        let temporary = try TemporaryDirectory(beside: output)
        defer { withExtendedLifetime(temporary) {} }
        let archive = "\(temporary.path)/archive"
        let size = try TarFile.write(members, toNewFile: archive)
        try FileStore.placeOutput(archive, at: output)
        return (1, size)
    }
}

/// An export of a server's responses: for each collection, `<bucket>/<name>.json` with `{"metadata": …, "timestamp": …,
/// "changes": […]}`.
///
/// The metadata is as received. Its certificate chain is in `<name>.pem`, and attachments are in `attachments/`, named
/// after their hashes.
enum ChangesetsExport {
    static func write(_ bundle: BundleReader, into directory: ExportDirectory) throws {
        let id = bundle.head.collection
        var reader = JSONReader(try bundle.payloadText())
        try reader.beginObject()
        var records = Bytes(utf8: "[]")
        while let key = try reader.nextKey() {
            let value = try reader.skipValue()
            if key == "data" { records = value }
        }
        let metadata = try bundle.metadataText()
        try directory.write(to: "\(id.bucket)/\(id.name).json") { write in
            try write(Array("{\"metadata\":".utf8).span)
            try metadata.withSpan { try write($0) }
            try write(Array(",\"timestamp\":\(bundle.head.timestamp),\"changes\":".utf8).span)
            try records.withSpan { try write($0) }
            try write(Array("}\n".utf8).span)
        }
        if let chain = try bundle.chain() { try directory.write(chain.array, to: "\(id.bucket)/\(id.name).pem") }
        for digest in bundle.attachments where try !directory.contains("attachments/\(digest)") {
            try directory.write(to: "attachments/\(digest)") { write in
                _ = try bundle.streamAttachment(digest, to: write)
            }
        }
    }
}
