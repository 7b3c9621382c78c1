import ArgumentParser
import CurlTransport
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump list`
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the collections that the server has.",
        discussion: """
            Each line shows a collection's name, the time of its last change, and its state in the dumps directory: \
            current, behind, or not fetched (but listed in dumps.yaml). Other collections are marked as new if they \
            changed after the newest bundle was downloaded. The command makes one request.

            Examples:
              rsdump list
              rsdump list markets
              rsdump list --server https://settings.example.org --format json
            """)

    @Argument(help: ArgumentHelp("Show only names that contain this text.", valueName: "text"))
    var text: String?

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOption

    @OptionGroup var result: FormatOption<OutputFormat>

    /// The status of a server's collection in the dumps directory.
    private enum Standing: String, Encodable {
        case current
        case behind
        case notFetched
        case new
        case other
    }

    private struct Row: Encodable {
        let collection: CollectionID
        let timestamp: Timestamp
        let lastModified: String
        let status: Standing
    }

    private struct Report: Encodable {
        let server: String
        let collections: [Row]
    }

    func run() async throws {
        let directory = dumps.directory
        var configuration = try directory.configurationOrDefault()
        if let name = server.server { configuration.server = name }
        let lock = try directory.lockFile()
        let url = try configuration.serverURL()
        let lastVerified = lock.collections.values.compactMap(\.trust.verdict?.verifiedAt).max()
        let client = ServerClient(
            server: url, transport: CurlTransport(connectionsPerHost: 8),
            userAgent: UserAgent(name: "rsdump", version: RSDump.version),
            backoff: directory.backoff(), onEvent: Console.showAlert)
        guard case .changes(let document, _) = try await client.monitor() else { throw Failure.emptyMonitor("\(url)") }
        let monitor = try MonitorChangeset(parsing: document.body)
        func standing(_ id: CollectionID, _ changed: Timestamp) -> Standing {
            if let entry = lock.collections[id] { return entry.timestamp < changed ? .behind : .current }
            if configuration.collections.contains(where: { $0.id == id }) { return .notFetched }
            return lastVerified.map { $0 < changed } ?? false ? .new : .other
        }
        let rows = monitor.collections.sorted { $0.key < $1.key }.filter { id, _ in text.map("\(id)".contains) ?? true }
            .map { id, changed in
                Row(collection: id, timestamp: changed, lastModified: changed.rfc3339, status: standing(id, changed))
            }
        let width = rows.map { "\($0.collection)".count }.max() ?? 0
        let lines = rows.map { row in
            "\("\(row.collection)".padded(to: width))  \(row.lastModified)"
                + (row.status == .other ? "" : "  \(row.status == .notFetched ? "not fetched" : row.status.rawValue)")
        }
        try result.print(
            (lines + ["\(url): \(rows.count) of \(Counted.text(monitor.collections.count, "collection"))"]).joined(
                separator: "\n"),
            Report(server: "\(url)", collections: rows))
    }
}
