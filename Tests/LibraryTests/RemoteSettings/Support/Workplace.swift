import Dumps
import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import RemoteSettingsTesting
import SnapshotBundle
import Testing

/// A test's separate directory and server. The directory is removed when the test ends.
final class Workplace: Sendable {
    let directory: URL
    let server: OriginTransport

    var storage: String { directory.appending(path: "storage").path }

    /// - Parameter address: the server's address.
    init(address: String = "https://settings.test") throws {
        directory = SteppedTime.folder.appending(path: "rs-test-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        server = try OriginTransport(address: address)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func path(_ name: String) -> String { directory.appending(path: name).path }

    /// A configuration for the test server, with short pauses.
    func config(_ change: (inout RemoteSettingsConfig) -> Void = { _ in }) -> RemoteSettingsConfig {
        var config = server.config
        config.log = { _ in }
        change(&config)
        return config
    }

    /// Writes a file in the directory.
    @discardableResult func write(_ text: String, to name: String) throws -> String {
        let url = directory.appending(path: name)
        try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: url)
        return url.path
    }

    /// A service as in a newly started process.
    ///
    /// - Parameter name: the name of the storage directory.
    func service(
        in name: String = "storage", _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) -> RemoteSettingsService {
        RemoteSettingsService(storageDirectory: path(name), config: config(change))
    }

    /// A client of a new service.
    func client(
        _ collection: ServerCollection, in name: String = "storage",
        _ change: (inout RemoteSettingsConfig) -> Void = { _ in }
    ) -> RemoteSettingsClient {
        service(in: name, change).makeClient(collectionName: collection.name)
    }

    /// Makes a collection: records by their ids, records with fields, and attached texts by the ids of their records.
    func collection(
        _ records: String..., with fields: [String: [String: Any]] = [:], attaching texts: [String: String] = [:]
    ) throws -> ServerCollection {
        try collection(records, with: fields, attaching: texts)
    }

    private func collection(
        _ records: [String], with fields: [String: [String: Any]], attaching texts: [String: String]
    ) throws -> ServerCollection {
        let collection = try server.makeCollection()
        for record in records { try collection.put(record) }
        for record in fields.keys.sorted() { try collection.put(record, fields[record] ?? [:]) }
        for (record, text) in texts.sorted(by: <) { try collection.attach(Data(text.utf8), to: record) }
        return collection
    }

    /// Makes such a collection, and a client that has synced it.
    func synced(
        _ records: String..., with fields: [String: [String: Any]] = [:], attaching texts: [String: String] = [:]
    ) async throws -> (ServerCollection, RemoteSettingsClient) {
        let collection = try collection(records, with: fields, attaching: texts)
        let client = client(collection)
        try await client.sync()
        return (collection, client)
    }

    /// Serves this changeset instead of the collection's own; the monitor is unchanged.
    func serve(_ changeset: [String: Any], as collection: ServerCollection) throws {
        let body = String(decoding: try JSONSerialization.data(withJSONObject: changeset), as: UTF8.self)
        server.inject([Fault("/\(collection.name)/changeset", effect: .body(body))])
    }

    /// Packages the current states of collections, as `rsdump refresh` does.
    ///
    /// - Returns: the path of the directory.
    func package(
        _ collections: [ServerCollection], as name: String = "dumps", acceptsUnsigned: Bool = false,
        attachments: AttachmentRule = AttachmentRule(.all)
    ) async throws -> String {
        let path = path(name)
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        var configuration = DumpsConfiguration()
        configuration.server = server.url
        configuration.collections = try collections.map { .init(id: try CollectionID($0.id), attachments: attachments) }
            .sorted { $0.id < $1.id }
        let client = ServerClient(
            server: try ServerURL(server.url), transport: server, userAgent: UserAgent(name: "tests", version: "1"))
        let report = try await Refresh(
            DumpsTransaction.begin(in: DumpsDirectory(path)), configuration: configuration, client: client,
            policy: TrustPolicy(roots: server.root, acceptsUnsigned: acceptsUnsigned), options: .init(),
            now: HTTPEnvironment.system.now(), onEvent: { _ in }
        ).run()
        if let error = report.outcomes.compactMap(\.error).first { throw error }
        return path
    }
}

extension ServerCollection {
    /// The collection's changeset with changed metadata.
    func changeset(_ change: (inout [String: Any]) throws -> Void) throws -> [String: Any] {
        var answer = try changeset()
        var metadata = try #require(answer["metadata"] as? [String: Any])
        try change(&metadata)
        answer["metadata"] = metadata
        return answer
    }

    /// The collection's changeset without its signatures.
    func unsignedChangeset() throws -> [String: Any] {
        try changeset { ($0["signature"], $0["signatures"]) = (nil, nil) }
    }
}

/// Returns the text of the error with which a sync fails.
func refusal(of client: RemoteSettingsClient, sourceLocation: SourceLocation = #_sourceLocation) async -> String {
    let error = await #expect(throws: RemoteSettingsError.self, sourceLocation: sourceLocation) {
        try await client.sync()
    }
    return error.map { "\($0)" } ?? ""
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

    func record(_ id: String) throws -> RemoteSettingsRecord { try #require(recordsByID?[id]) }

    /// The records, after a sync if there are none yet; `nil` if it fails.
    func recordsOrSync() async -> [RemoteSettingsRecord]? { try? await fetchRecords(.init(sync: .ifEmpty)) }
}

/// The ids and `last_modified` of a client's records, for comparison with the server's state.
func state(of client: RemoteSettingsClient) -> [String: UInt64]? { client.recordsByID?.mapValues(\.lastModified) }

extension OriginTransport {
    /// Makes collections of Mozilla's size: 31, with more than 2000 attachments in total.
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
}
