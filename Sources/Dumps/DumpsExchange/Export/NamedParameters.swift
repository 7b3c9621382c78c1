import ConfigParameters
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// Parameters, and the collection, bundle or file that they were read from.
package struct NamedParameters {
    package let parameters: ParameterSet
    /// The name of the collection, bundle or file in messages.
    package let name: String

    /// Reads the parameters. Does I/O.
    ///
    /// - Parameter place: a collection in the dumps directory, the path of a bundle (.zip), or a JSON file of records;
    ///   `nil` for the only collection in the directory.
    /// - Throws: ``Failure``, or the errors of the lock file.
    package init(_ place: String?, in directory: DumpsDirectory) throws {
        let name = try place ?? Self.only(in: directory)
        self.name = name
        let records = try Self.records(name, in: directory)
        parameters = try mapFailure(of: try ParameterSet(records)) {
            Failure(
                .usage, file: name, found: "\($0)",
                remedy: "give a different collection, bundle or file with --parameters"
            )
        }
    }

    private static func only(in directory: DumpsDirectory) throws -> String {
        let collections = try directory.lockFile().collections.keys
        guard let only = collections.first, collections.count == 1 else {
            throw Failure(
                .usage, file: directory.path,
                found: "the directory has \(Counted.text(collections.count, "collection"))",
                remedy: "specify a collection, a bundle or a JSON file of records with --parameters, or another "
                    + "directory with --dumps")
        }
        return "\(only)"
    }

    private static func records(_ place: String, in directory: DumpsDirectory) throws -> RecordTable {
        if place.hasSuffix(".json") { return try records(ofFile: place) }
        let id = place.hasSuffix(".zip") ? nil : try? CollectionID(place)
        let path = id.map(directory.bundlePath) ?? place
        guard try path.hasSuffix(".zip") && FileStore.exists(path) else {
            throw Failure(
                .usage, file: path, found: "there is no such bundle",
                remedy: "give the path of a .zip or .json file, or BUCKET/COLLECTION and --dumps DIR")
        }
        return try BundleReader(path: path).payload().records
    }

    /// Returns the records in a JSON file: an array of records, or an object with such an array as `data` or `changes`.
    private static func records(ofFile file: String) throws -> RecordTable {
        guard let content = try FileStore.read(file, limit: Limits.changesetBytes) else {
            throw Failure(
                .usage, file: file, found: "there is no such file", remedy: "give --parameters a JSON file of records")
        }
        do {
            let document = try JSONValue(parsing: content)
            guard let records = document.array ?? document["data"]?.array ?? document["changes"]?.array else {
                throw Failure(
                    .usage, file: file,
                    found: "the file is neither an array of records nor an object with \"data\" or \"changes\"",
                    remedy: "give --parameters a JSON file of records")
            }
            let changeset = JSONValue.members([
                "metadata": .object([]), "timestamp": .count(1), "changes": .array(records),
            ])
            return try Changeset(parsing: Bytes(JSONText.compact(changeset))).records
        } catch let error as Failure where !error.place.isEmpty {
            throw error
        } catch {
            throw Failure(
                .usage, file: file, found: "the file does not contain JSON records: \(error)",
                remedy: "correct the file, or give a different one")
        }
    }
}
