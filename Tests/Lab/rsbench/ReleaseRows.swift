#if Lab
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

/// What a release adds to an app's first read: the same collection is read by itself and as part of its release, in
/// turn, each time in a service of its own.
struct ReleaseRows {
    let dumps: PackagedDumps
    /// A storage directory that a sync of the release has written.
    let storage: String
    let origin: String
    let runs: Int

    func table() throws -> Table {
        var table = Table("The first `getRecords` of \(dumps.entry.records) records, without and with their release")
        let places: [(name: String, packaged: [PackagedSource], storage: String)] = [
            ("embedded", [try dumps.embedded(with: "releases/catalogue")], "\(storage).none"),
            ("directory, trusted", [.directory(dumps.path, trusted: true)], "\(storage).none"),
            ("directory, verified", [.directory(dumps.path)], "\(storage).none"),
            ("cache after a sync, verified", [], storage),
        ]
        for place in places {
            func first(_ origin: String?) throws -> Int {
                var config = try dumps.config(place.packaged)
                config.origin = origin
                let service = RemoteSettingsService(storageDir: place.storage, config: config)
                let client = service.makeClient(collectionName: "\(dumps.id)")
                guard let records = client.getRecords(), records.count == dumps.entry.records,
                    (service.release != nil) == (origin != nil)
                else { throw BenchmarkError("\(place.name): \(client.snapshot)") }
                return records.count
            }
            let (alone, release) = try Measurement.inTurn(runs: runs, { try first(nil) }, { try first(origin) })
            table.add("\(place.name): by itself", alone)
            table.add("\(place.name): of its release", release, goal: "≤ 0.2 ms more")
        }
        return table
    }
}
#endif
