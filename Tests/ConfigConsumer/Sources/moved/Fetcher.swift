import Foundation
import RemoteSettingsBlocking

struct RegionFields: Codable {
    let code: String
    let name: String
    let drivesOnThe: String
}

protocol RegionFetching: Sendable {
    func fetchRegions() async -> [RegionFields]
    func fetchIcon(named id: String) async -> Data?
    func prefetchIcons() async -> Int
}

/// Reads by calls that block, in functions that are asynchronous so as to leave the main thread.
final class RegionFetcher: RegionFetching {
    private let regions: RemoteSettingsClientProtocol?
    private let icons: RemoteSettingsClientProtocol?

    init(regions: RemoteSettingsClientProtocol?, icons: RemoteSettingsClientProtocol?) {
        self.regions = regions
        self.icons = icons
    }

    private func decode<Fields: Decodable>(_ record: RemoteSettingsRecord) -> Fields? {
        guard let data = record.fields.data(using: .utf8) else { return nil }
        return try? JSONDecoder().decode(Fields.self, from: data)
    }

    func fetchRegions() async -> [RegionFields] {
        guard let records = regions?.getRecords(syncIfEmpty: true) else { return [] }
        return records.compactMap { decode($0) }
    }

    private func record(_ id: String) async -> RemoteSettingsRecord? {
        icons?.getRecordsMap(syncIfEmpty: true)?[id]
    }

    func attachment(of record: RemoteSettingsRecord) async throws -> Data? {
        try icons?.getAttachment(record: record)
    }

    func fetchIcon(named id: String) async -> Data? {
        guard let record = await record(id), record.attachment?.mimetype == "image/svg+xml" else { return nil }
        return try? await attachment(of: record)
    }

    /// All of them, each in a task of its own.
    func prefetchIcons() async -> Int {
        let records = icons?.getRecords(syncIfEmpty: true) ?? []
        return await withTaskGroup(of: Bool.self) { group in
            for record in records {
                group.addTask { (try? self.icons?.getAttachment(record: record)) != nil }
            }
            return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
    }
}
