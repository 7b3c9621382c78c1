import ArgumentParser
import CurlTransport
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump list`
struct ListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the collections that the server has.",
        discussion: """
            Each line has a collection's name, the time of its last change, and its state in the dumps directory: \
            current, behind, or in dumps.yaml and not fetched. A collection that the directory does not have is new if \
            it changed after the directory was last verified. The command makes one request; with --sizes it makes one \
            more for each collection, whose records are counted and not verified.

            Examples:
              rsdump list
              rsdump list regions --sizes
              rsdump list --server https://settings.example.org --format json
            """)

    @Argument(help: ArgumentHelp("Show only names that contain this text.", valueName: "text"))
    var text: String?

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOption

    @Flag(help: "Show only collections that are new since the directory was last verified.")
    var new = false

    @Flag(help: "Fetch the collections, and show how many records and attachments they have.")
    var sizes = false

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    /// The state in the dumps directory of a collection of the server.
    private enum Standing: String {
        case current
        case behind
        case named
        case new
        case other
    }

    /// The unverified counts of a collection.
    private struct Size {
        let records: Int
        let bytes: Int
        let attachments: Int
        let attachmentBytes: UInt64
    }

    func run() async throws {
        let directory = dumps.directory
        var configuration = try directory.configurationOrDefault()
        if let name = server.server { configuration.server = name }
        let limits = Limits()
        let lock = try directory.lockFile(limits: limits)
        let url = try configuration.serverURL()
        let lastVerified = lock.collections.values.compactMap(\.trust.verdict?.verifiedAt).max()
        let client = ServerClient(
            server: url, transport: CurlTransport(connectionsPerHost: 8),
            userAgent: UserAgent(name: "rsdump", version: RSDump.version), limits: limits,
            backoff: directory.backoff(limits: limits), onEvent: Console.showAlert)
        guard case .changes(let document, _) = try await client.monitor() else {
            throw DumpsError.emptyMonitor("\(url)")
        }
        let monitor = try MonitorChangeset(parsing: document.body, limits: limits)
        func standing(_ id: CollectionID, _ changed: Timestamp) -> Standing {
            if let entry = lock.collections[id] { return entry.timestamp < changed ? .behind : .current }
            if configuration.collections.contains(where: { $0.id == id }) { return .named }
            return lastVerified.map { $0 < changed } ?? false ? .new : .other
        }
        let rows = monitor.collections.sorted { $0.key < $1.key }.map { ($0.key, $0.value, standing($0.key, $0.value)) }
            .filter { id, _, standing in (text.map("\(id)".contains) ?? true) && (!new || standing == .new) }
        let counted =
            sizes ? await rows.concurrentMap(width: 8) { id, changed, _ in await size(of: id, changed, client) } : []
        let width = rows.map { "\($0.0)".count }.max() ?? 0
        let lines = rows.enumerated().map { index, row in
            let (id, changed, standing) = row
            let size = sizes ? counted[index].map(sentence) ?? "not readable" : ""
            let word = standing == .other ? "" : standing.rawValue
            return "\("\(id)".padded(to: width))  \(changed.rfc3339)  \(word.padded(to: 7))  \(size)".trimmed
        }
        let summary = "\(url): \(Counted.text(rows.count, "collection"))"
        format.print(
            (lines + [summary]).joined(separator: "\n"),
            .members([
                "server": .string("\(url)"),
                "collections": .array(
                    rows.enumerated().map { index, row in
                        let size = sizes ? counted[index] : nil
                        return .members([
                            "collection": .string("\(row.0)"), "timestamp": .count(row.1.milliseconds),
                            "lastModified": .string(row.1.rfc3339), "status": .string(row.2.rawValue),
                            "records": size.map { .count($0.records) }, "recordBytes": size.map { .count($0.bytes) },
                            "attachments": size.map { .count($0.attachments) },
                            "attachmentBytes": size.map { .count($0.attachmentBytes) },
                        ])
                    }),
            ]))
    }

    /// Fetches a collection and counts; `nil` if the server's answer cannot be read.
    private func size(of id: CollectionID, _ changed: Timestamp, _ client: ServerClient) async -> Size? {
        guard case .changes(let document, _)? = try? await client.changeset(id, expected: changed, since: nil),
            let changeset = try? Changeset(parsing: document.body, limits: client.limits)
        else { return nil }
        var files: [SHA256Digest: UInt64] = [:]
        var bytes = 0
        for record in changeset.records {
            bytes = bytes.saturatingAdding(record.json.count)
            if let attachment = try? record.attachment() { files[attachment.hash] = attachment.size }
        }
        return Size(
            records: changeset.records.count, bytes: bytes, attachments: files.count,
            attachmentBytes: files.values.reduce(0) { $0.saturatingAdding($1) })
    }

    private func sentence(_ size: Size) -> String {
        let records = "\(Counted.text(size.records, "record")) (\(ByteSize.text(UInt64(clamping: size.bytes))))"
        guard size.attachments > 0 else { return records }
        return "\(records), \(Counted.text(size.attachments, "attachment")) (\(ByteSize.text(size.attachmentBytes)))"
    }
}

extension String {
    /// The text without spaces at its end.
    fileprivate var trimmed: String { String(reversed().drop { $0 == " " }.reversed()) }
}
