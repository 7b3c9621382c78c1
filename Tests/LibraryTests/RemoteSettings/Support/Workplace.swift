import Dumps
import Foundation
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

/// A directory and a server of a test's own. The directory is removed when the test ends.
final class Workplace: Sendable {
    let directory: URL
    let server: OriginTransport

    var storage: String { directory.appending(path: "storage").path }

    /// - Parameter address: where the server says that it is.
    init(address: String = "https://settings.test") throws {
        directory = SteppedTime.folder.appending(path: "rs-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        server = try OriginTransport(address: address)
    }

    deinit {
        try? FileManager.default.removeItem(at: directory)
    }

    func path(_ name: String) -> String { directory.appending(path: name).path }

    /// A configuration for the test server. Pauses are short.
    func config(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) -> RemoteSettingsConfig {
        var config = server.config
        config.log = { _ in }
        change(&config)
        return config
    }

    /// A service as a process that has just started has it.
    func service(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) -> RemoteSettingsService {
        RemoteSettingsService(storageDirectory: storage, config: config(change))
    }

    /// Packages collections in their present state, as `rsdump refresh` does.
    ///
    /// - Returns: the directory.
    func package(
        _ collections: [ServerCollection], as name: String = "dumps", acceptsUnsigned: Bool = false,
        attachments: AttachmentRule = AttachmentRule(.all)
    ) async throws -> String {
        let path = path(name)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var configuration = DumpsConfiguration()
        configuration.server = server.url
        configuration.collections = try collections.map {
            .init(id: try CollectionID($0.id), attachments: attachments)
        }.sorted { $0.id < $1.id }
        let client = ServerClient(
            server: try ServerURL(server.url), transport: server,
            userAgent: UserAgent(name: "tests", version: "1"))
        let report = try await Refresh(
            DumpsTransaction.begin(in: DumpsDirectory(path)), configuration: configuration, client: client,
            policy: TrustPolicy(roots: server.root, acceptsUnsigned: acceptsUnsigned), options: .init(),
            now: HTTPEnvironment.system.now(), onEvent: { _ in }
        ).run()
        for outcome in report.outcomes {
            if let error = outcome.error { throw error }
        }
        return path
    }
}

/// A transport without a network: every request fails.
struct NoTransport: HTTPTransport {
    func send(_ request: HTTPRequest) async throws(Failure) -> HTTPResponse {
        throw Failure(request.url, .unreachable("this test is offline"))
    }
}

extension RemoteSettingsClient {
    /// The records by their ids.
    var recordsByID: [String: RemoteSettingsRecord]? {
        records.map { Dictionary($0.map { ($0.id, $0) }) { first, _ in first } }
    }

    /// The records, after a sync if nothing is held; `nil` if there are none.
    func recordsOrSync() async -> [RemoteSettingsRecord]? { try? await fetchRecords(.init(sync: .ifEmpty)) }
}

/// The ids of what a client holds with their `last_modified`, for comparison with the server's state.
func state(of client: RemoteSettingsClient) -> [String: UInt64]? {
    client.recordsByID?.mapValues(\.lastModified)
}

extension OriginTransport {
    /// A set of collections as large as Mozilla's: 31 of them, with more than 2000 attachments in all.
    func makeManyCollections() throws -> [ServerCollection] {
        try (0..<31).map { number in
            let collection = try makeCollection(["main", "blocklists", "security-state"][number % 3])
            var records: [String: String] = [:]
            var files: [Bytes] = []
            for index in 0..<(number == 0 ? 1908 : 20) {
                let id = "\(number)-\(index)"
                let file = Bytes(utf8: String(repeating: "file \(id) ", count: index % 40 + 1))
                let digest = SHA256Digest(hashing: file)
                let hasFile = index % 4 != 3 || number == 0
                files += hasFile ? [file] : []
                let attachment =
                    #","attachment":{"filename":"f.bin","mimetype":"text/plain","size":\#(file.count),"#
                    + #""location":"\#(collection.bucket)-workspace/\#(collection.name)/\#(id).bin","hash":"\#(digest)"}"#
                records[id] =
                    #"{"id":"\#(id)","last_modified":\#(1_700_000_000_000 + index),"text":"ü 🦊 \#(index)","#
                    + #""nested":{"numbers":[\#(index),1.5e300,-0.25],"none":null}\#(hasFile ? attachment : "")}"#
            }
            collection.load(records, files: files, timestamp: Timestamp(milliseconds: 1_700_000_100_000))
            return collection
        }
    }

    /// Real collections in Firefox's layout, `BUCKET/COLLECTION.json`, with their attachments made up.
    ///
    /// - Parameter attachmentBytes: the size of a made-up attachment at the most.
    func loadCollections(from directory: String, attachmentBytes: Int) throws -> [ServerCollection] {
        try FileManager.default.subpathsOfDirectory(atPath: directory).sorted().compactMap { path in
            let parts = path.split(separator: "/")
            guard parts.count == 2, parts[1].hasSuffix(".json"), !parts[1].hasSuffix(".meta.json") else { return nil }
            let content = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(path)"))
            let dump = try JSONValue(parsing: Bytes(Array(content)))
            var records: [String: String] = [:]
            var files: [Bytes] = []
            for record in dump["data"]?.array ?? [] {
                guard case .object(var members) = record, let id = record["id"]?.string else { continue }
                if let index = members.firstIndex(where: { $0.key == "attachment" }),
                    case .object(var attachment) = members[index].value
                {
                    let size = attachment.first { $0.key == "size" }?.value.number?.uint64 ?? 1
                    let text = String(repeating: "\(id) ", count: attachmentBytes)
                    let file = Bytes(utf8: String(text.prefix(max(1, min(Int(size), attachmentBytes)))))
                    files.append(file)
                    attachment.removeAll { ["size", "hash"].contains($0.key) }
                    attachment.append(.init(key: "size", value: .number(JSONNumber(file.count))))
                    attachment.append(.init(key: "hash", value: .string("\(SHA256Digest(hashing: file))")))
                    members[index] = .init(key: "attachment", value: .object(attachment))
                }
                records[id] = String(decoding: JSONText.compact(.object(members)), as: UTF8.self)
            }
            let time = try #require(dump["timestamp"]?.number?.uint64)
            let collection = try makeCollection(id: "\(parts[0])/\(parts[1].dropLast(5))")
            collection.load(records, files: files, timestamp: Timestamp(milliseconds: time))
            return collection
        }
    }
}
