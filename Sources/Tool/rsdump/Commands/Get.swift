import ArgumentParser
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump get`
struct Get: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "get",
        abstract: "Print the records that an app would get, one JSON object per line.",
        discussion: """
            The records are those of the newer of the stored and the packaged state, filtered for the given context. A \
            state that the app with this storage has set aside, after bad starts or by its own check, is skipped. The \
            network is used only with --sync-if-empty, and for an attachment that is neither stored nor packaged. If \
            there are no records, the command says why and exits with 1.

            Example:
              rsdump get main/regions --storage /tmp/app --packaged dumps \\
                --context country=DE --explain
            """)

    @Argument(help: "A collection, as BUCKET/COLLECTION.", transform: collectionID)
    var collection: CollectionID

    @OptionGroup var options: ClientOptions

    @Flag(help: "Sync first if nothing is stored or packaged.")
    var syncIfEmpty = false

    @Flag(help: "Also print the records' source, age and signer to standard error.")
    var explain = false

    @Option(help: ArgumentHelp("Print this record's attachment instead of the records.", valueName: "record-id"))
    var attachment: String?

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write the attachment to.", valueName: "file"))
    var output: String?

    func validate() throws {
        if output != nil, attachment == nil { throw ValidationError("-o requires --attachment") }
    }

    func run() async throws {
        try FileStore.checkOutput(output)
        let service = try options.service(isOnlooker: true)
        let client = service.makeClient(collectionName: "\(collection)")
        var records = await client.getRecords(syncIfEmpty: syncIfEmpty)
        // The first attempt could not read the storage; the second can.
        if records == nil, client.snapshot.source != .notHeld { records = client.getRecords() }
        if explain { Console.error(SnapshotExplanation(status: client.snapshot, catalogue: service.catalogue).text) }
        guard let records else {
            throw CommandFailure(.someFailed, SnapshotExplanation(status: client.snapshot, catalogue: nil).absence)
        }
        if let attachment {
            try await write(attachment, of: records, client)
        } else {
            for record in records { Console.print(record.json.text) }
        }
    }

    private func write(_ id: String, of records: [RemoteSettingsRecord], _ client: RemoteSettingsClient) async throws {
        guard let record = records.first(where: { $0.id == id }) else {
            throw CommandFailure(.someFailed, "\(collection): there is no record with the id \(id)")
        }
        let content: AttachmentContent
        do throws(RemoteSettingsError) {
            content = try await client.attachment(for: record)
        } catch {
            throw CommandFailure(error, "\(collection), attachment of \(id)")
        }
        if explain {
            Console.error("attachment  \(Counted.text(content.bytes.count, "byte")), \(content.source.words)")
        }
        if let output {
            try FileStore.writeOutput(output, content.bytes)
        } else {
            Console.write(content.bytes.array, to: 1)
        }
    }
}
