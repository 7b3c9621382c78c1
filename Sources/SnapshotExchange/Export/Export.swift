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
    private let limits: Limits

    public init(_ directory: DumpsDirectory, to layout: ExportLayout, limits: Limits = Limits()) {
        self.directory = directory
        self.layout = layout
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
            let target = try ExportDirectory(output, replaces: replaces)
            for bundle in bundles {
                try ApplicationServicesExport.write(LaidOutCollection(bundle, limits: limits), into: target)
            }
            try finish(target, &report)
        }
        for bundle in bundles where bundle.head.omitted > 0 {
            report.notes.append("\(bundle.head.collection): \(bundle.head.omitted) attachments are not in its bundle")
        }
        return report
    }

    private func finish(_ target: ExportDirectory, _ report: inout Report) throws {
        try target.finish()
        report.files = target.files
        report.bytes = target.size
    }
}
