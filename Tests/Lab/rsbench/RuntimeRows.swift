import Foundation
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

/// What an app's calls take, each in a service of its own as after a start; the process itself is warm.
struct RuntimeRows {
    let deflated: PackagedDumps
    let stored: PackagedDumps
    /// A storage directory that a sync has written the collection into.
    let storage: String
    let runs: Int

    private struct Place {
        var name: String
        var packaged: [PackagedSource]
        var storage: String
        var goal: String
    }

    private func places() throws -> [Place] {
        let none = FileManager.default.temporaryDirectory.appending(path: "rsbench-\(UUID().uuidString)").path
        return [
            Place(name: "embedded, stored", packaged: [try stored.embedded()], storage: none, goal: "≤ 1 ms"),
            Place(name: "embedded, deflated", packaged: [try deflated.embedded()], storage: none, goal: "≤ 4.5 ms"),
            Place(
                name: "directory, deflated, verified", packaged: [.directory(deflated.path)], storage: none, goal: ""),
            Place(name: "cache after a sync, verified", packaged: [], storage: storage, goal: "≤ 6 ms"),
        ]
    }

    private func client(_ place: Place) throws -> RemoteSettingsClient {
        RemoteSettingsService(storageDirectory: place.storage, config: try deflated.config(place.packaged))
            .makeClient(collectionName: "\(deflated.id)")
    }

    func table() throws -> Table {
        var table = Table("The library over \(deflated.id): \(deflated.entry.records) records, in process")
        for place in try places() {
            table.add(
                "first `getRecords`: \(place.name)", try Measurement(runs: runs) { try records(client(place)) },
                goal: place.goal)
            table.add(
                "first `getRecords`: \(place.name)",
                try Measurement(runs: runs) { try client(place).records?.count })
        }
        let place = try places()[3]
        let warm = try client(place)
        _ = try records(warm)
        let calls = 1000
        table.add(
            "\(calls) more `getRecords`, each with one look at the cache file",
            try Measurement(runs: runs) { for _ in 0..<calls { _ = try records(warm) } })
        table.add("another `getRecords`", Measurement(runs: runs) { warm.records?.count })
        for place in try places().prefix(3) {
            let client = try client(place)
            let all = try records(client).filter { $0.attachment != nil }
            guard let first = all.first, let last = all.last else { throw BenchmarkError("no attachments") }
            func attachment(_ record: RemoteSettingsRecord, _ client: RemoteSettingsClient) throws -> Int {
                guard let content = client.localAttachment(for: record) else {
                    throw BenchmarkError("no attachment of \(record.id)")
                }
                return content.bytes.count
            }
            table.add(
                "first attachment: \(place.name)", try Measurement(runs: runs) { try attachment(first, client) },
                goal: "≤ 0.1 ms")
            table.add(
                "last attachment: \(place.name)", try Measurement(runs: runs) { try attachment(last, client) },
                goal: "≤ 0.1 ms")
        }
        return table
    }

    /// What Foundation takes for the same text. It gives less: nothing is verified, and of a record only two members.
    func comparison() throws -> Table {
        struct Payload: Decodable {
            struct Record: Decodable {
                let id: String
                let last_modified: UInt64
            }
            let data: [Record]
        }
        let text = Data(try BundleReader(path: "\(deflated.path)/\(deflated.entry.bundle.path)").payloadText().array)
        let decoder = JSONDecoder()
        var table = Table("The same \(text.count) bytes, in memory already, with Foundation")
        table.add(
            "`JSONDecoder`, of each record `id` and `last_modified`",
            try Measurement(runs: runs) { try decoder.decode(Payload.self, from: text).data.count }, bytes: text.count)
        table.add(
            "`JSONSerialization`",
            try Measurement(runs: runs) { try JSONSerialization.jsonObject(with: text) }, bytes: text.count)
        return table
    }

    private func records(_ client: RemoteSettingsClient) throws -> [RemoteSettingsRecord] {
        guard let records = client.records, !records.isEmpty else { throw BenchmarkError("\(client.status)") }
        return records
    }
}
