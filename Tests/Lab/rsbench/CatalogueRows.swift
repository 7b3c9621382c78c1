#if Lab
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

/// What a catalogue adds to an app's first read: the same collection is read by itself and as part of its catalogue, in
/// turn, each time in a service of its own.
struct CatalogueRows {
    let dumps: PackagedDumps
    /// A storage directory that a sync of the catalogue has written.
    let storage: String
    let publisher: String
    let runs: Int

    func table() throws -> Table {
        var table = Table("The first `getRecords` of \(dumps.entry.records) records, without and with their catalogue")
        let places: [(name: String, packaged: [PackagedSource], storage: String)] = [
            ("embedded", [try dumps.embedded(with: "publisher/catalogue")], "\(storage).none"),
            ("directory, trusted", [.directory(dumps.path, trusted: true)], "\(storage).none"),
            ("directory, verified", [.directory(dumps.path)], "\(storage).none"),
            ("cache after a sync, verified", [], storage),
        ]
        for place in places {
            func first(_ publisher: String?) throws -> Int {
                var config = try dumps.config(place.packaged)
                config.publisher = publisher
                let service = RemoteSettingsService(storageDir: place.storage, config: config)
                let client = service.makeClient(collectionName: "\(dumps.id)")
                guard let records = client.getRecords(), records.count == dumps.entry.records,
                    (service.catalogue != nil) == (publisher != nil)
                else { throw BenchmarkError("\(place.name): \(client.status)") }
                return records.count
            }
            let (alone, catalogue) = try Measurement.inTurn(runs: runs, { try first(nil) }, { try first(publisher) })
            table.add("\(place.name): by itself", alone)
            table.add("\(place.name): of its catalogue", catalogue, goal: "≤ 0.2 ms more")
        }
        return table
    }
}
#endif
