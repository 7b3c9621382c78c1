import Dumps
import FileStorage
import RemoteSettingsModel
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
    ///   - target: where to, and what becomes of what is there.
    /// - Throws: ``ExchangeError``, `BundleError` where a bundle is damaged or not what the lock says, or `FileError`;
    ///   then what was at the target is still there, and nothing else.
    public func write(_ names: [CollectionID], to target: ExportTarget) throws -> Report {
        try target.check(exporting: directory, isUpdatable: layout.isUpdatable, limits: limits)
        if target.existing == .update, !layout.isUpdatable {
            throw ExchangeError(
                .usage, target.path, expected: "a layout that can be updated: firefox or application-services",
                found: layout.rawValue, remedy: "replace it as a whole with --force")
        }
        let bundles = try directory.lockedBundles(names, limits: limits)
        var report = Report(collections: bundles.map(\.head.collection))
        switch layout {
        case .applicationServices:
            try directory(target, &report) { directory in
                for bundle in bundles {
                    try ApplicationServicesExport.write(LaidOutCollection(bundle, limits: limits), into: directory)
                }
            }
        case .firefox:
            try directory(target, &report) { directory in
                for bundle in bundles {
                    try FirefoxExport.write(LaidOutCollection(bundle, limits: limits), into: directory)
                }
                try FirefoxExport.writeTimes(
                    bundles.map { ($0.head.collection, $0.head.timestamp) }, into: directory, limits: limits)
            }
        case .changesets:
            try directory(target, &report) { directory in
                for bundle in bundles { try ChangesetsExport.write(bundle, into: directory, limits: limits) }
            }
        case .tarZstd, .tarXz:
            (report.files, report.bytes) = try ArchiveExport.write(
                bundles, of: directory, to: target.path, layout == .tarXz ? .xz : .zstd,
                replaces: target.existing == .replace, limits: limits)
        case .plist, .json, .xml: try writeDefaults(bundles, target.path, &report)
        }
        for bundle in bundles where bundle.head.omitted > 0 {
            report.notes.append("\(bundle.head.collection): \(Self.leftOut(bundle.head.omitted))")
        }
        return report
    }

    /// `2 attachments are not in its bundle`.
    private static func leftOut(_ count: Int) -> String {
        "\(Counted.text(count, "attachment")) \(Counted.noun(count, "is", "are")) not in its bundle"
    }

    private func directory(
        _ target: ExportTarget, _ report: inout Report, _ body: (ExportDirectory) throws -> Void
    ) throws {
        let directory = try ExportDirectory(target)
        try body(directory)
        report.notes += try directory.finish().map { "\($0): no record has this attachment; it was removed" }
        report.files = directory.files
        report.bytes = directory.size
    }

    private func writeDefaults(_ bundles: [BundleReader], _ output: String, _ report: inout Report) throws {
        guard let format = layout.defaults, let fields, bundles.count == 1, let bundle = bundles.first else {
            throw ExchangeError(
                .usage, directory.lockPath, expected: "one collection, and the fields of its keys and values",
                found: "\(Counted.text(bundles.count, "collection"))\(fields == nil ? ", and no fields" : "")",
                remedy: "name one BUCKET/COLLECTION, --key and --value")
        }
        let text = try DefaultsTable(LaidOutCollection(bundle, limits: limits), fields).text(format)
        if FileStore.isDirectory(output) {
            throw ExchangeError(
                .usage, output, expected: "a file or nothing", found: "a directory", remedy: "choose another --output")
        }
        try FileStore.makeDirectories(FileStore.parent(of: output))
        try FileStore.replace(output, with: Bytes(text))
        (report.files, report.bytes) = (1, text.count)
    }
}
