import ConfigParameters
import Dumps
import RemoteSettingsModel

/// The names of the record fields that contain the key and the value of each default.
package struct DefaultsFields: Hashable, Sendable {
    package let key: String
    package let value: String

    package init(key: String, value: String) {
        self.key = key
        self.value = value
    }
}

/// The keys and values in the records of one collection, sorted by key.
struct DefaultsTable {
    struct Row {
        let key: String
        let value: JSONValue
        /// The id of the record that contains the key and the value.
        let record: String
    }

    /// The collection's name in messages.
    let name: String
    /// The rows, sorted by key.
    let rows: [Row]
    /// Advice for the user if a layout cannot represent a key or a value.
    let remedy: String
}

extension DefaultsTable {
    /// Creates a table.
    ///
    /// - Throws: ``Failure`` for the first record that lacks one of the fields, whose key is not a string, or whose
    ///   key is a duplicate.
    init(_ collection: ExportedCollection, _ fields: DefaultsFields) throws(Failure) {
        var rows: [ExactString: Row] = [:]
        for entry in collection.entries {
            func refused(_ expected: String?, _ found: String) -> Failure {
                Failure(
                    .usage, file: "\(collection.id)", entry: "record \(entry.id)", expected: expected, found: found,
                    remedy: "choose other fields with --key and --value")
            }
            guard let key = entry.record[fields.key] else { throw refused(nil, "there is no field \(fields.key)") }
            guard let text = key.string else { throw refused(nil, "the field \(fields.key) is not a string") }
            guard let value = entry.record[fields.value] else {
                throw refused(nil, "there is no field \(fields.value)")
            }
            if let other = rows[text] {
                throw refused(nil, "record \(other.record) has the same key, \(VisibleText.quote(text))")
            }
            rows[text] = Row(key: text, value: value, record: entry.id)
        }
        self.init(
            name: "\(collection.id)", rows: rows.values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) },
            remedy: "export with --to json, or choose a different field with --value")
    }

    /// Returns the content of the file: a property list for the layout `plist`, and JSON for any other layout.
    ///
    /// - Throws: ``Failure`` for the first record with a key or value that the layout cannot represent.
    func text(_ layout: ExportLayout) throws(Failure) -> [UInt8] {
        let format: DefaultsFormat = layout == .plist ? .propertyList : .json
        do throws(Failure) {
            return try DefaultsText(rows.map { .init(key: $0.key, value: $0.value) }, as: format).bytes
        } catch {
            let row = rows.first { $0.key.exact == error.place.exact }
            throw Failure(place: name, entry: row.map { "record \($0.record)" }, problem: error.problem, remedy: remedy)
        }
    }
}
