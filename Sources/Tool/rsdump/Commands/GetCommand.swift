import ArgumentParser
import Dumps
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump get`
struct GetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print the records that an app would get, one JSON object per line.",
        usage: "rsdump get <collections> ... --storage <dir> [<options>]",
        discussion: """
            Uses the network only with --sync, or for an attachment that is not stored.
              rsdump get main/markets --storage /tmp/app --packaged dumps --sync
            For details, see Show.md in share/doc/rsdump.
            """)

    @OptionGroup var collections: SomeCollections
    @OptionGroup var options: ClientOptions

    @Flag(help: "Sync first, as an app does.")
    var sync = false

    @Flag(help: "Also print the records' source, age and signer to standard error.")
    var explain = false

    @Option(
        help: ArgumentHelp(
            "Print this record's attachment, or write it to -o, instead of the records.", valueName: "id"))
    var attachment: String?

    @OptionGroup var output: FileOutput

    func validate() throws {
        if output.path != nil, attachment == nil { throw ValidationError("-o requires --attachment") }
        if attachment != nil, collections.names.count > 1 {
            throw ValidationError("--attachment requires one collection")
        }
    }

    func run() async throws {
        try FileStore.checkOutput(output.path)
        let service = try options.service()
        let clients = collections.names.map { service.makeClient(collectionName: "\($0)") }
        let unsynced = sync ? try await sync(service) : nil
        var absences: [CommandFailure] = []
        for client in clients {
            var records = client.records
            // If `status` finds a snapshot now, the first attempt failed only temporarily, so try again.
            if records == nil, client.status.source != .noSnapshot { records = client.records }
            if explain { Console.error(SnapshotExplanation(status: client.status).text) }
            guard let records else {
                let why = SnapshotExplanation(status: client.status).absence
                absences.append(CommandFailure(.someFailed, why))
                continue
            }
            if let attachment {
                try await write(attachment, of: records, client)
            } else {
                Console.buffered { write in for record in records { write(Array("\(record.json.text)\n".utf8)) } }
            }
        }
        // A failed sync has already explained why there are no records.
        if let unsynced { throw unsynced.code }
        for absence in absences.dropLast() { Console.error(absence) }
        if let last = absences.last { throw last }
    }

    /// Syncs the collections of the clients.
    ///
    /// - Returns: the exit code if something failed; `nil` otherwise.
    private func sync(_ service: RemoteSettingsService) async throws -> ExitStatus? {
        let results: [CollectionSyncResult]
        do throws(RemoteSettingsError) {
            results = try await service.syncCollections()
        } catch {
            let failure = CommandFailure(error, service.serverURL)
            Console.error(failure)
            return failure.status
        }
        var failures: [ExitStatus] = []
        for result in results {
            switch result.result {
            case .success(.updated(let timestamp)):
                Console.error("\(result.collection)  updated, \(timestamp.rfc3339)")
            case .success(.upToDate(let timestamp)), .success(.notAsked(let timestamp)):
                Console.error("\(result.collection)  up to date, \(timestamp.rfc3339)")
            case .failure(let error):
                let failure = CommandFailure(error, result.collection)
                Console.error(failure)
                failures.append(failure.status)
            }
        }
        guard let first = failures.first else { return nil }
        // As in a refresh, a backoff explains all failures, even if other collections were synced.
        let isAlike =
            failures.allSatisfy { $0 == first } && (failures.count == results.count || first == .backoff)
        return isAlike ? first : .someFailed
    }

    private func write(_ id: String, of records: [RemoteSettingsRecord], _ client: RemoteSettingsClient) async throws {
        guard let record = records.first(where: { $0.id == id }) else {
            throw CommandFailure(.someFailed, "\(client.status.collection): no record has the id \(id)")
        }
        let content: AttachmentContent
        do throws(RemoteSettingsError) {
            content = try await client.attachment(for: record)
        } catch {
            throw CommandFailure(error, "\(client.status.collection), attachment of \(id)")
        }
        if explain {
            Console.error("attachment  \(Counted.text(content.bytes.count, "byte")), \(content.source.words)")
        }
        try output.write(content.bytes)
    }
}
