import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump inspect`
struct Inspect: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show what a bundle contains.",
        discussion: """
            Reads the bundle's manifest, and verifies nothing. To verify it, use rsdump verify.

            Examples:
              rsdump inspect main/regions
              rsdump inspect old/regions.zip --attachments --format json
            """)

    @OptionGroup var argument: BundleArgument

    @Flag(help: "Also list the attachments.")
    var attachments = false

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func run() async throws {
        let bundle = try await argument.open()
        let report = InspectReport(
            manifest: try bundle.manifest(), content: Manifest.digest(of: try bundle.manifestText()),
            name: bundle.name, listsAttachments: attachments)
        format.print(report.text, report.json)
    }
}

/// `rsdump records`
struct Records: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "records",
        abstract: "Print a bundle's records, one JSON object per line.",
        discussion: """
            Prints canonical JSON, sorted by id, and verifies nothing. To verify the bundle, use rsdump verify.

            Examples:
              rsdump records main/regions | jq .name
              rsdump records old/regions.zip --id de
            """)

    @OptionGroup var argument: BundleArgument

    @Option(help: ArgumentHelp("Print only the record with this id.", valueName: "id"))
    var id: String?

    func run() async throws {
        let bundle = try await argument.open()
        if let id { return Console.print(try bundle.record(id).json.text) }
        let records = try bundle.payload().records
        Console.buffered { write in
            for record in records { write(record.json.array + [UInt8(ascii: "\n")]) }
        }
    }
}

/// `rsdump attachment`
struct AttachmentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attachment",
        abstract: "Extract a record's attachment from a bundle.",
        discussion: """
            Checks the attachment's size and hash against the record. Without -o, writes the bytes to standard output.

            Example:
              rsdump attachment main/icons RECORD -o icon.svg
            """)

    @OptionGroup var argument: BundleArgument

    @Argument(help: ArgumentHelp("The record's id.", valueName: "record-id"))
    var recordID: String

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write.", valueName: "file"))
    var output: String?

    func run() async throws {
        try FileStore.checkOutput(output)
        let bundle = try await argument.open()
        guard let attachment = try bundle.record(recordID).attachment() else {
            throw CommandFailure(.someFailed, "\(bundle.name): record \(recordID) has no attachment")
        }
        guard try bundle.attachmentSize(attachment.hash) != nil else {
            let reason = try bundle.manifest().files.first { $0.sha256 == attachment.hash }?.omitted
            throw CommandFailure(
                .someFailed,
                "\(bundle.name): the attachment of record \(recordID) is not in this bundle "
                    + "(\(reason.map { "\($0)" } ?? "no reason")); change attachments: in dumps.yaml, then run "
                    + "rsdump refresh"
            )
        }
        guard let output else {
            _ = try bundle.streamAttachment(attachment.hash) { piece in Console.write(piece, to: 1) }
            return
        }
        guard try !FileStore.isSameFile(output, bundle.name) else {
            throw CommandFailure(
                .usage, "\(output) is the bundle itself, which would be overwritten; give another file to --output")
        }
        try FileStore.writeOutput(output) { write in
            _ = try bundle.streamAttachment(attachment.hash) { piece in try write(piece) }
        }
    }
}

extension BundleReader {
    /// - Throws: ``CommandFailure`` if the bundle has no such record, or `BundleError`.
    fileprivate func record(_ id: String) throws -> Record {
        guard let record = try payload().records.record(id: id) else {
            throw CommandFailure(
                .someFailed, "\(name): there is no record with the id \(id); rsdump records lists them")
        }
        return record
    }
}
