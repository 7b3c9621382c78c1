import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The source file that was made of another system's export.
package struct SourceImport: Sendable {
    package enum Format: Hashable, Sendable {
        /// A Remote Config template; `skipping` leaves out what cannot be converted.
        case template(skipping: Bool)
        /// In-app defaults.
        case defaults
    }

    /// The path of the new source file.
    package let file: String
    package let records: Int
    package let notes: [String]

    /// Converts an export, and writes the source file. Does I/O.
    ///
    /// - Throws: ``DumpsError`` if there is no such file, or if the collection has a source already;
    ///   `DumpsError` if the file cannot be converted; `BundleError`. Nothing is written then.
    package init(_ path: String, as format: Format, of id: CollectionID, into sources: SourceDirectory) throws {
        guard let bytes = try FileStore.read(path, limit: 16 << 20) else {
            throw DumpsError(file: path, problem: "there is no such file", remedy: "check the path")
        }
        let folder = "\(sources.path)/\(id.bucket)"
        for name in ["", ".yaml", ".yml", ".json"] where try FileStore.exists("\(folder)/\(id.name)\(name)") {
            throw DumpsError(
                file: "\(folder)/\(id.name)\(name)", problem: "it already exists",
                remedy: "remove it, or give a different --collection")
        }
        let source: Bytes
        switch format {
        case .template(let skipping):
            let template = try FirebaseTemplate(bytes, file: path, skipping: skipping)
            source = template.source
            notes = template.skipped.map { "skipped: \($0)" } + template.notes
        case .defaults:
            source = try DefaultsFile(bytes, file: path).source
            notes = []
        }
        file = "\(folder)/\(id.name).yaml"
        try FileStore.makeDirectories(folder)
        try FileStore.replace(file, with: source)
        do {
            records = try sources.read([id]).first?.records.count ?? 0
        } catch {
            try? FileStore.remove(file)
            throw error
        }
    }
}
