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
    /// - Throws: ``DumpsError``, or `BundleError`, for example if a bundle is damaged or differs from the lock file.
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
            throw DumpsError(
                .usage, output, found: "an export in the layout \(layout.rawValue) cannot be updated",
                remedy: "replace it as a whole with --force")
        }
        guard try !directory.hasFiles(at: output) else {
            throw DumpsError(
                .usage, output, found: "the export would overwrite files of the dumps directory \(directory.path)",
                remedy: "choose a different --output")
        }
        try FileStore.refuseLinks(onWayTo: output)
        if [.link, .other].contains(try FileStore.kind(output)) {
            throw DumpsError(
                .usage, output, found: "it is a link, a pipe or a device, not a file or directory",
                remedy: "choose a different --output")
        }
        let isDirectory = try FileStore.isDirectory(output)
        guard try isDirectory || FileStore.size(output) != nil else { return }
        switch existing {
        case .replace: try FileStore.checkReplaceable(output)
        case .update:
            guard !isDirectory else { return }
            throw DumpsError(
                .usage, output, found: "it is a file; only a directory can be updated",
                remedy: "choose a different --output")
        case .keep:
            throw DumpsError(
                .usage, output, found: "it already exists",
                remedy: "choose a different --output, or replace it with --force"
                    + (layout.isUpdatable ? ", or replace only these collections in it with --update" : ""))
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
            throw DumpsError(
                .usage, directory.lockPath,
                found:
                    "the export would have \(Counted.text(bundles.count, "collection")), but this layout supports only "
                    + "one",
                remedy: "choose one BUCKET/COLLECTION")
        }
        let text = try defaults(of: bundle)
        if try FileStore.isDirectory(output) {
            throw DumpsError(
                .usage, output, found: "it is a directory, not a file", remedy: "choose a different --output")
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
        let parameters: ParameterSet
        do throws(ParameterError) {
            parameters = try ParameterSet(records)
        } catch {
            throw DumpsError(
                .usage, name, found: "\(error)",
                remedy: "choose a collection of parameters, or specify the fields with --key and --value")
        }
        return layout == .swift
            ? Array(ParameterAccessors(parameters, name: name).text.utf8)
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
