import Foundation
import RemoteSettingsModel
import SnapshotBundle
import SnapshotServer

/// A collection of hand-written records, as a bundle and as input for the page.
struct PageFixture {
    var name = "main/samples"
    var timestamp: UInt64 = 1_700_000_000_123
    /// Why the collection is not served in its locked state.
    var problem: String?
    var pin: String?
    /// The path of the server's public URL.
    var path = ""
    /// The members of each record by id, except the id itself.
    var records: [String: [String: JSONValue]] = ["one": ["name": .string("First")]]
    /// The attached files by record id.
    var files: [String: (name: String, type: String, bytes: [UInt8])] = [:]
    var older: [(timestamp: UInt64, records: [String: [String: JSONValue]])] = []

    static let now = Timestamp(milliseconds: 1_700_000_000_123 + 3 * 86_400_000)

    func answer(_ target: String) async throws -> PageAnswer {
        let collection = try collection()
        return await Self.answer(
            target,
            of: PageCatalog(
                collections: [collection], problems: problem.map { [collection.id: $0] } ?? [:], path: path))
    }

    static func answer(_ target: String, of catalog: PageCatalog) async -> PageAnswer {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        return await OriginPage().answer(
            path: String(parts[0]), query: parts.count == 2 ? String(parts[1]) : "", of: catalog, now: now)
    }

    func collection() throws -> PageCatalog.Collection {
        let bytes = try bundle(records, timestamp)
        return PageCatalog.Collection(
            bundle: try BundleReader(bytes: Bytes(bytes), name: "\(name).zip"), bundleSize: bytes.count,
            provenance: .unsigned, server: "http://127.0.0.1:8888/v1", pin: pin,
            olderStates: try older.map { state in
                let bundle = try BundleReader(bytes: Bytes(try bundle(state.records, state.timestamp)), name: "older")
                return PageCatalog.OlderState(timestamp: Timestamp(milliseconds: state.timestamp)) { bundle }
            })
    }

    private func bundle(_ records: [String: [String: JSONValue]], _ timestamp: UInt64) throws -> [UInt8] {
        let id = try CollectionID(name)
        var changes: [JSONValue] = []
        var sources: [SHA256Digest: AttachmentInput] = [:]
        for (record, fields) in records {
            var members = [JSONValue.Member(key: "id", value: .string(record))]
            members += fields.map { JSONValue.Member(key: $0.key, value: $0.value) }
            if let file = files[record] {
                let hash = SHA256Digest(hashing: Bytes(file.bytes))
                sources[hash] = .bytes(Bytes(file.bytes))
                let attachment: JSONValue = [
                    "filename": .string(file.name), "hash": .string(hash.hex), "location": .string("main/\(hash.hex)"),
                    "mimetype": .string(file.type), "size": .number(JSONNumber(file.bytes.count)),
                ]
                members.append(.init(key: "attachment", value: attachment))
            }
            changes.append(.object(members))
        }
        let body = JSONText.compact([
            "metadata": ["id": .string(id.name)], "timestamp": .number(JSONNumber(timestamp)),
            "changes": .array(changes),
        ])
        let changeset = try Changeset(parsing: Bytes(body))
        let snapshot = Snapshot(
            vouchingFor: try changeset.snapshot(of: id, onto: nil), chain: nil, provenance: .unsigned)
        let url = FileManager.default.temporaryDirectory.appending(path: "page-\(UUID().uuidString).zip")
        defer { try? FileManager.default.removeItem(at: url) }
        _ = try BundleWriter(snapshot, attachments: sources, compression: .storedRecords).write(toNewFile: url.path)
        return Array(try Data(contentsOf: url))
    }
}

extension PageAnswer {
    var text: String {
        switch body {
        case .bytes(let bytes): bytes.text
        case .attachment(let hash, let bundle, _): (try? bundle.attachment(hash)?.text) ?? "missing"
        }
    }
}
