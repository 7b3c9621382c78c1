import ConfigParameters
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// A directory with the source files of collections. The article <doc:Sources> describes the format.
///
/// A collection is `<bucket>/<collection>.yaml` (or `.yml`, `.json`), or a directory `<bucket>/<collection>/` with at
/// least one such file: `collection.yaml` and files of records. Links are never followed, and no path may lead outside
/// the collection's directory.
package struct SourceDirectory: Sendable {
    /// The maximum size of a source file, in bytes.
    static let fileBytes = 64 << 20

    package let path: String

    package init(_ path: String) {
        self.path = path
    }

    /// Returns the directory's collections, sorted, each with its file or directory. Does I/O.
    ///
    /// - Throws: ``Failure`` if there is no such directory, if it contains a link or an invalid name, or if a
    ///   collection appears twice; `Failure`.
    package func collections() throws -> [(id: CollectionID, place: String)] {
        var problems = ProblemList()
        var found: [ExactString: (id: CollectionID, place: String)] = [:]
        guard try FileStore.isDirectory(path), let buckets = try FileStore.list(path) else {
            problems.add(
                path, nil, "there is no such directory",
                "create it, with a file such as main/markets.yaml, or give another one")
            throw Failure(problems: problems.problems)
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
                // A directory without source files contains attachments, or files at the wrong level.
                guard try !isDirectory || !Self.sourceFiles(in: place).isEmpty else { continue }
                do {
                    let id = try CollectionID(bucket: bucket, name: stem)
                    if "\(id)" == "monitor/changes" {
                        problems.add(place, nil, "a server lists all collections under this name", "rename it")
                    }
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
        guard problems.problems.isEmpty else { throw Failure(problems: problems.problems) }
        return found.values.sorted { $0.id < $1.id }
    }

    /// Returns the name of a source file without its extension; `nil` if the extension is not that of a source file.
    static func stem(_ name: String) -> String? {
        for ending in [".yaml", ".yml", ".json"] where name.hasSuffix(ending) {
            return String(name.dropLast(ending.utf8.count))
        }
        return nil
    }

    /// Returns the names of the source files in a directory, without those in subdirectories.
    static func sourceFiles(in directory: String) throws(Failure) -> [String] {
        try (FileStore.list(directory) ?? []).filter { !$0.hasPrefix(".") && stem($0) != nil }
    }

    /// Reads and checks collections. Does I/O and reads every attachment.
    ///
    /// - Parameter names: the collections; empty for all of them.
    /// - Throws: ``Failure`` with all problems of all collections, or if there are no collections; `Failure`.
    package func read(_ names: [CollectionID] = []) throws -> [CollectionSource] {
        let places = try collections()
        var problems: [Failure] = []
        for name in names where !places.contains(where: { $0.id == name }) {
            problems.append(
                Failure(
                    place: "\(path)/\(name).yaml",
                    problem: "there is no such file, and no directory \(path)/\(name) with source files",
                    remedy: "create it, or correct the name"))
        }
        var sources: [CollectionSource] = []
        for (id, place) in places where names.isEmpty || names.contains(id) {
            do {
                sources.append(try CollectionReader(id: id, place: place).read())
            } catch let error as Failure where !error.isOfMachine {
                problems += error.problems
            }
        }
        if places.isEmpty, names.isEmpty {
            problems = try unused(by: [])
            if problems.isEmpty {
                problems.append(
                    Failure(
                        place: path, problem: "there are no collections in this directory",
                        remedy: "write one, such as \(path)/main/settings.yaml"))
            }
        }
        guard problems.isEmpty else { throw Failure(problems: problems) }
        return sources
    }

    /// Returns the files that `publish` ignores, although somebody may have written them for it. Does I/O.
    ///
    /// Files and directories whose names begin with `.` are not included.
    ///
    /// - Parameters:
    ///   - sources: the result of ``read(_:)``.
    ///   - names: the names that were given to ``read(_:)``. Files outside their directories are not included.
    package func unused(by sources: [CollectionSource], names: [CollectionID] = []) throws -> [Failure] {
        var used: Set<ExactString> = []
        for source in sources { used.formUnion(source.files) }
        var unused: [Failure] = []
        func visit(_ place: String, depth: Int) throws {
            for name in try FileStore.list(place) ?? [] where !name.hasPrefix(".") {
                let path = "\(place)/\(name)"
                if used.contains(path.exact) { continue }
                if try FileStore.isDirectory(path) {
                    try visit(path, depth: depth + 1)
                } else {
                    unused.append(
                        Failure(
                            place: path, problem: "this file is not used",
                            remedy: Self.remedy(name, depth: depth)))
                }
            }
        }
        if names.isEmpty {
            try visit(path, depth: 0)
        } else {
            for (id, place) in try collections() where names.contains(id) { try visit(place, depth: 2) }
        }
        return unused
    }

    /// Returns what to do with an unused file.
    ///
    /// - Parameter depth: the number of directories between the directory of the sources and the file.
    private static func remedy(_ name: String, depth: Int) -> String {
        let isSource = stem(name) != nil
        if isSource, depth == 0 { return "move it into the directory of its bucket, such as main" }
        if isSource { return "move it into the directory of its collection, or name it in the attachment of a record" }
        let ending = name.lowercased().split(separator: ".").dropFirst().last.map(String.init)
        if let ending, ["yaml", "yml", "json", "jsonc", "json5"].contains(ending) {
            return "rename it so that it ends with .yaml, .yml or .json, or name it in the attachment of a record"
        }
        return "name it in the attachment of a record, or remove it"
    }
}

/// A reader of the source files of one collection.
struct CollectionReader {
    let id: CollectionID
    /// The collection's file or directory.
    let place: String

    func read() throws -> CollectionSource {
        let isDirectory = try FileStore.isDirectory(place)
        var builder = CollectionBuilder(id: id, root: isDirectory ? place : FileStore.parent(of: place))
        do throws(Failure) {
            if isDirectory {
                try readDirectory(&builder)
            } else {
                builder.add(collection: try node(place, &builder), file: place)
            }
        } catch {
            builder.problems.add(error)
        }
        return try builder.finish()
    }

    private func readDirectory(_ builder: inout CollectionBuilder) throws(Failure) {
        let files = try mapFailure(of: try SourceDirectory.sourceFiles(in: place)) {
            Failure(place: place, problem: "\($0)", remedy: "make it readable")
        }
        let own = files.filter { SourceDirectory.stem($0) == "collection" }
        guard own.count <= 1 else {
            throw Failure(place: "\(place)/\(own[1])", problem: "\(own[0]) also exists", remedy: "keep one of them")
        }
        // Read this file first, because its schema and its `id-from` apply to the records in the other files.
        if let own = own.first {
            let file = "\(place)/\(own)"
            builder.add(collection: try node(file, &builder), file: file)
        }
        for name in files where SourceDirectory.stem(name) != "collection" {
            let file = "\(place)/\(name)"
            guard SourceDirectory.stem(name)?.lowercased() != "collection" else {
                builder.problems.add(
                    file, nil, "the name differs from collection.yaml only in case",
                    "rename it to collection.yaml or, if it contains records, to a different name")
                continue
            }
            do throws(Failure) {
                let node = try node(file, &builder)
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

    private func node(_ file: String, _ builder: inout CollectionBuilder) throws(Failure) -> SourceNode {
        builder.sourceFiles.append(file)
        let text: Bytes?
        do throws(Failure) {
            // `FileStore.size` returns a value only for a regular file, so this excludes links.
            text = try FileStore.size(file) == nil ? nil : FileStore.read(file, limit: SourceDirectory.fileBytes)
        } catch {
            throw Failure(place: file, problem: "\(error)", remedy: "make it readable, or split it")
        }
        guard let text else {
            throw Failure(
                place: file, problem: "it is not a regular file", remedy: "replace it with one; links are not followed")
        }
        return try SourceReader(file: file).node(text)
    }
}
