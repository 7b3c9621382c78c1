import ConfigParameters
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The parameter keys that are mentioned in an app's source files.
package struct AppSources {
    /// The maximum size of a source file, in bytes. Larger files are skipped, because they are probably generated.
    private static let fileBytes = 4 << 20

    private var mentions = KeyMentions()
    private var files = 0

    /// Reads the source files in directories. Skips links, hidden files, and the directories `build`, `Pods` and
    /// `node_modules`, whose content is generated or downloaded.
    ///
    /// - Throws: ``Failure`` if a directory cannot be read, or if there are no source files; `Failure`.
    package init(in directories: [String]) throws {
        for directory in directories { try read(directory) }
        guard files > 0 else {
            throw Failure(
                .usage, file: directories.joined(separator: ", "),
                found: "no source files (\(KeyMentions.endings.sorted().joined(separator: ", "))) found",
                remedy: "give the directory of the app's sources")
        }
    }

    private mutating func read(_ directory: String) throws {
        guard let names = try FileStore.list(directory) else {
            throw Failure(
                .usage, file: directory, found: "there is no such directory, or it cannot be read",
                remedy: "give a directory of source files")
        }
        for name in names.sorted() where !name.hasPrefix(".") && !["Pods", "node_modules", "build"].contains(name) {
            let path = "\(directory)/\(name)"
            if try FileStore.isDirectory(path) {
                try read(path)
            } else if let ending = name.split(separator: ".").dropFirst().last,
                KeyMentions.endings.contains(String(ending)), let size = try FileStore.size(path),
                size <= Self.fileBytes, let content = try FileStore.read(path, limit: Self.fileBytes)
            {
                mentions.add(content.text, file: path)
                files += 1
            }
        }
    }

    /// Returns the parameters that no file mentions, and the keys that the code reads but the collection does not
    /// contain, as lines of text.
    package func leftovers(of named: NamedParameters) -> [String] {
        let unused = named.parameters.keys.map(\.string).filter { !mentions.mentions($0) }.sorted {
            $0.exact < $1.exact
        }
        let unknown = mentions.reads.filter { !named.parameters.contains($0.key) }
            .sorted { ($0.file, $0.line, $0.key.exact) < ($1.file, $1.line, $1.key.exact) }
        let read = Counted.text(files, "file")
        return unused.map { "\(named.name): \($0): no source file mentions this key (\(read) searched)" }
            + unknown.map {
                "\($0.file):\($0.line): the code reads the key \($0.key), which is not in \(named.name)"
            }
    }
}
