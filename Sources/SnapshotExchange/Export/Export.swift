import FileStorage
import RemoteSettingsModel
import SnapshotBuilder
import SnapshotBundle

/// Writes bundles of a dumps directory in another project's form.
public struct Export: Sendable {
    /// What was written.
    public struct Report: Sendable {
        public var collections: [CollectionID] = []
        public var files = 0
        /// Of all files together.
        public var bytes = 0
        /// What is not in the export although its collection is, one line each.
        public var notes: [String] = []
    }

    private let directory: DumpsDirectory
    private let layout: ExportLayout
    private let fields: DefaultsFields?
    private let limits: Limits

    /// - Parameter fields: what to take from records, for a layout of defaults.
    public init(
        _ directory: DumpsDirectory, to layout: ExportLayout, fields: DefaultsFields? = nil, limits: Limits = Limits()
    ) {
        self.directory = directory
        self.layout = layout
        self.fields = fields
        self.limits = limits
    }

    /// Writes the export under a temporary name and renames it when it is complete. Does I/O.
    ///
    /// - Parameters:
    ///   - names: the collections; none for all that the lock has.
    ///   - replaces: whether what is at `output` is replaced.
    /// - Throws: ``ExchangeError``, `BundleError` where a bundle is damaged or not what the lock says, or `FileError`;
    ///   then what was at `output` is still there, and nothing else.
    public func write(_ names: [CollectionID], to output: String, replacing replaces: Bool) throws -> Report {
        try ExportTarget.check(output, replaces: replaces)
        let bundles = try LockedBundles(directory, limits: limits).open(names)
        var report = Report(collections: bundles.map(\.head.collection))
        switch layout {
        case .applicationServices:
            try directory(output, replaces, &report) { target in
                for bundle in bundles {
                    try ApplicationServicesExport.write(LaidOutCollection(bundle, limits: limits), into: target)
                }
            }
        case .firefox:
            try directory(output, replaces, &report) { target in
                for bundle in bundles {
                    try FirefoxExport.write(LaidOutCollection(bundle, limits: limits), into: target)
                }
                try FirefoxExport.writeTimes(
                    bundles.map { ($0.head.collection, $0.head.timestamp) }, into: target)
            }
        case .changesets:
            try directory(output, replaces, &report) { target in
                for bundle in bundles { try ChangesetsExport.write(bundle, into: target, limits: limits) }
            }
        case .tarZstd, .tarXz:
            (report.files, report.bytes) = try ArchiveExport.write(
                bundles, of: directory, to: output, layout == .tarXz ? .xz : .zstd, replaces: replaces, limits: limits)
        case .plist, .json, .xml: try writeDefaults(bundles, output, &report)
        }
        for bundle in bundles where bundle.head.omitted > 0 {
            report.notes.append("\(bundle.head.collection): \(bundle.head.omitted) attachments are not in its bundle")
        }
        return report
    }

    private func directory(
        _ output: String, _ replaces: Bool, _ report: inout Report, _ body: (ExportDirectory) throws -> Void
    ) throws {
        let target = try ExportDirectory(output, replaces: replaces)
        try body(target)
        try target.finish()
        report.files = target.files
        report.bytes = target.size
    }

    private func writeDefaults(_ bundles: [BundleReader], _ output: String, _ report: inout Report) throws {
        guard let format = layout.defaults, let fields, bundles.count == 1, let bundle = bundles.first else {
            throw ExchangeError(
                .usage, directory.lockPath, expected: "one collection, and the fields of its keys and values",
                found: "\(bundles.count) collections\(fields == nil ? ", and no fields" : "")",
                remedy: "name one BUCKET/COLLECTION, --key and --value")
        }
        let text = try DefaultsTable(LaidOutCollection(bundle, limits: limits), fields).text(format)
        if FileStore.isDirectory(output) {
            throw ExchangeError(
                .usage, output, expected: "a file or nothing", found: "a directory", remedy: "choose another --output")
        }
        try FileStore.replace(output, with: Bytes(text))
        (report.files, report.bytes) = (1, text.count)
    }
}
