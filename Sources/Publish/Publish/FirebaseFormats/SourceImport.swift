import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// An import that converts a Firebase Remote Config template or a file with in-app defaults to a source file.
package struct SourceImport: Sendable {
    package enum Format: Hashable, Sendable {
        /// A Remote Config template. If `skipping` is true, items that cannot be converted are skipped.
        case template(skipping: Bool)
        /// A file with in-app defaults.
        case defaults
    }

    /// The path of the new source file.
    package let file: String
    package let records: Int
    package let notes: [String]

    /// Converts the file at `path`, and writes the source file. Does I/O.
    ///
    /// - Throws: ``Failure`` if there is no such file, if it cannot be converted, or if the collection already has a
    ///   source; `Failure`. Nothing is written in these cases.
    package init(_ path: String, as format: Format, of id: CollectionID, into sources: SourceDirectory) throws {
        guard let bytes = try FileStore.read(path, limit: 16 << 20) else {
            throw Failure(place: path, problem: "there is no such file", remedy: "check the path")
        }
        let folder = "\(sources.path)/\(id.bucket)"
        for name in ["", ".yaml", ".yml", ".json"] where try FileStore.exists("\(folder)/\(id.name)\(name)") {
            throw Failure(
                place: "\(folder)/\(id.name)\(name)", problem: "it already exists",
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
