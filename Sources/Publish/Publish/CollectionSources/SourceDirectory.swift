import ConfigParameters
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// A directory with the source files of collections. The article <doc:Sources> describes the format.
///
/// A collection is `<bucket>/<collection>.yaml` (or `.yml`, `.json`), or a directory `<bucket>/<collection>/` with
/// `collection.yaml` and one file for each record. Links are never followed, and no path may lead outside the
/// collection's directory.
package struct SourceDirectory: Sendable {
    /// The maximum size of a source file, in bytes.
    static let fileBytes = 64 << 20

    package let path: String
    private let limits: Limits

    package init(_ path: String, limits: Limits = Limits()) {
        self.path = path
        self.limits = limits
    }

    /// Returns the directory's collections, sorted, each with its file or directory. Does I/O.
    ///
    /// - Throws: ``DumpsError`` if there is no such directory, if it contains a link or an invalid name, or if a
    ///   collection appears twice; `BundleError`.
    package func collections() throws -> [(id: CollectionID, place: String)] {
        var problems = ProblemList()
        var found: [ExactString: (id: CollectionID, place: String)] = [:]
        guard try FileStore.isDirectory(path), let buckets = try FileStore.list(path) else {
            problems.add(path, nil, "there is no such directory", "give the directory of the sources with --sources")
            throw DumpsError(problems: problems.problems)
        }
        for bucket in buckets where !bucket.hasPrefix(".") {
            let folder = "\(path)/\(bucket)"
            guard try FileStore.isDirectory(folder) else {
                // Ignore other files beside the buckets, such as READMEs and schemas.
                if try FileStore.size(folder) == nil {
                    problems.add(folder, nil, "it is a symbolic link", "replace it with a directory")
                }
                continue
            }
            for name in try FileStore.list(folder) ?? [] where !name.hasPrefix(".") {
                let place = "\(folder)/\(name)"
                let isDirectory = try FileStore.isDirectory(place)
                guard try isDirectory || FileStore.size(place) != nil else {
                    problems.add(
                        place, nil, "it is neither a file nor a directory",
                        "replace it with one; links are not followed")
                    continue
                }
                guard let stem = isDirectory ? name : Self.stem(name) else { continue }
                do {
                    let id = try CollectionID(bucket: bucket, name: stem)
                    if let other = found.updateValue((id, place), forKey: id.ignoringCase.exact) {
                        let problem =
                            other.id == id
                            ? "\(id) is also defined in \(other.place)"
                            : "its bundle would have the same file name as that of \(other.place) on a "
                                + "case-insensitive file system"
                        problems.add(place, nil, problem, "keep one of them")
                    }
                } catch {
                    problems.add(place, nil, "\(error)", "rename it")
                }
            }
        }
        guard problems.problems.isEmpty else { throw DumpsError(problems: problems.problems) }
        return found.values.sorted { $0.id < $1.id }
    }

    /// Returns the name of a source file without its extension; `nil` if the extension is not that of a source file.
    static func stem(_ name: String) -> String? {
        for ending in [".yaml", ".yml", ".json"] where name.hasSuffix(ending) {
            return String(name.dropLast(ending.utf8.count))
        }
        return nil
    }

    /// Reads and checks collections. Does I/O and reads every attachment.
    ///
    /// - Parameter names: the collections; empty for all of them.
    /// - Throws: ``DumpsError`` with all problems of all collections, or `BundleError`.
    package func read(_ names: [CollectionID] = []) throws -> [CollectionSource] {
        let places = try collections()
        var problems: [DumpsError] = []
        for name in names where !places.contains(where: { $0.id == name }) {
            problems.append(
                DumpsError(
                    file: "\(path)/\(name).yaml", problem: "there is no such file, and no directory \(path)/\(name)",
                    remedy: "create it, or correct the name"))
        }
        var sources: [CollectionSource] = []
        for (id, place) in places where names.isEmpty || names.contains(id) {
            do {
                sources.append(try CollectionReader(id: id, place: place, limits: limits).read())
            } catch let error as DumpsError {
                problems += error.problems
            }
        }
        guard problems.isEmpty else { throw DumpsError(problems: problems) }
        return sources
    }
}

/// A reader of the source files of one collection.
struct CollectionReader {
    let id: CollectionID
    /// The collection's file or directory.
    let place: String
    let limits: Limits

    func read() throws -> CollectionSource {
        let isDirectory = try FileStore.isDirectory(place)
        var builder = CollectionBuilder(
            id: id, root: isDirectory ? place : FileStore.parent(of: place), limits: limits)
        do throws(DumpsError) {
            if isDirectory {
                try readDirectory(&builder)
            } else {
                builder.add(collection: try node(place), file: place)
            }
        } catch {
            builder.problems.add(error)
        }
        return try builder.finish()
    }

    private func readDirectory(_ builder: inout CollectionBuilder) throws(DumpsError) {
        let names: [String]
        do throws(BundleError) {
            names = try FileStore.list(place) ?? []
        } catch {
            throw DumpsError(file: place, problem: "\(error)", remedy: "make it readable")
        }
        let files = names.filter { !$0.hasPrefix(".") && SourceDirectory.stem($0) != nil }
        let own = files.filter { SourceDirectory.stem($0) == "collection" }
        guard own.count <= 1 else {
            throw DumpsError(
                file: "\(place)/\(own[1])", problem: "\(own[0]) also exists", remedy: "keep one of them")
        }
        // Read this file first, because its schema and its `id-from` apply to the records in the other files.
        if let own = own.first { builder.add(collection: try node("\(place)/\(own)"), file: "\(place)/\(own)") }
        for name in files where SourceDirectory.stem(name) != "collection" {
            let file = "\(place)/\(name)"
            do throws(DumpsError) {
                let node = try node(file)
                if case .list(let records) = node.content {
                    for record in records { builder.add(record: record, file: file) }
                } else {
                    builder.add(record: node, file: file, id: SourceDirectory.stem(name))
                }
            } catch {
                builder.problems.add(error)
            }
        }
    }

    private func node(_ file: String) throws(DumpsError) -> SourceNode {
        let text: Bytes?
        do throws(BundleError) {
            // `FileStore.size` returns a value only for a regular file, so this excludes links.
            text = try FileStore.size(file) == nil ? nil : FileStore.read(file, limit: SourceDirectory.fileBytes)
        } catch {
            throw DumpsError(file: file, problem: "\(error)", remedy: "make it readable, or split it")
        }
        guard let text else {
            throw DumpsError(
                file: file, problem: "it is not a regular file", remedy: "replace it with one; links are not followed")
        }
        return try SourceReader(file: file, limits: limits).node(text)
    }
}
