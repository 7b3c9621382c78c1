import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump show`
struct ShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show what a bundle contains: a summary, its records, or an attachment.",
        usage: "rsdump show <bundle> [<record-id>] [<options>]",
        discussion: """
            Does not verify signatures; rsdump verify does that.
              rsdump show main/markets --records | jq .name
              rsdump show main/icons petals-05 --attachment -o icon.svg
            For details, see Show.md in share/doc/rsdump.
            """)

    @OptionGroup var argument: BundleArgument

    @Argument(help: ArgumentHelp("The id of the record to show.", valueName: "record-id"))
    var recordID: String?

    @Flag(help: "Print all records, one JSON object per line.")
    var records = false

    @Flag(help: "List the attachments in the summary.")
    var attachments = false

    @Flag(help: "Print the record's attachment, or write it to -o.")
    var attachment = false

    @OptionGroup var output: FileOutput
    @OptionGroup var result: FormatOption<OutputFormat>

    @Flag(help: .hidden)
    var textconv = false

    func validate() throws {
        if attachment, recordID == nil { throw ValidationError("--attachment requires the id of a record") }
        if output.path != nil, !attachment { throw ValidationError("--output requires --attachment") }
        let isSummary = recordID == nil && !records
        if !isSummary, attachments || result.format != .text {
            throw ValidationError("--attachments and --format cannot be combined with --records or a record's id")
        }
        if records, recordID != nil { throw ValidationError("give a record's id or --records, not both") }
    }

    func run() async throws {
        try FileStore.checkOutput(output.path)
        if textconv { return convertForGit(argument.bundle) }
        let bundle = try await argument.open()
        if let recordID {
            let record = try bundle.record(recordID)
            if attachment { try writeAttachment(of: record, in: bundle) } else { Console.print(record.json.text) }
        } else if records {
            print(try bundle.payload().records)
        } else {
            let report = BundleSummary(
                manifest: try bundle.manifest(), content: Manifest.digest(of: try bundle.manifestText()),
                name: bundle.name, listsAttachments: attachments)
            try result.print(report.text, report)
        }
    }

    private func print(_ records: RecordTable) {
        Console.buffered { write in
            for record in records { write(record.json.array + [UInt8(ascii: "\n")]) }
        }
    }

    /// Prints a bundle's records for git (`diff.rsdump.textconv`). If this command failed, git would stop, so for an
    /// invalid bundle it prints the error instead. The error omits git's temporary path, because git caches the text.
    private func convertForGit(_ file: String) {
        let name = file.split(separator: "/").last.map { "\($0)" } ?? file
        do {
            print(try BundleReader(bytes: MappedFile(path: file).bytes, name: name).payload().records)
        } catch {
            Console.print(Console.visible("\(error)"))
        }
    }

    private func writeAttachment(of record: Record, in bundle: BundleReader) throws {
        guard let attachment = try record.attachment() else {
            throw CommandFailure(.someFailed, "\(bundle.name): record \(Console.visible(record.id)) has no attachment")
        }
        guard try bundle.attachmentSize(attachment.hash) != nil else {
            let reason = try bundle.manifest().files.first { $0.sha256 == attachment.hash }?.omitted
            throw CommandFailure(
                .someFailed,
                "\(bundle.name): the attachment of record \(Console.visible(record.id)) is not in this bundle "
                    + "(\(reason.map { "\($0)" } ?? "no reason")); change attachments: in dumps.yaml, then run "
                    + "rsdump refresh"
            )
        }
        guard let path = output.path else {
            _ = try bundle.streamAttachment(attachment.hash) { piece in Console.write(piece, to: 1) }
            return
        }
        guard try !FileStore.isSameFile(path, bundle.name) else {
            throw CommandFailure(.usage, "\(path) would overwrite the bundle; choose a different --output")
        }
        try FileStore.writeOutput(path) { write in
            _ = try bundle.streamAttachment(attachment.hash) { piece in try write(piece) }
        }
    }
}

extension BundleReader {
    /// Returns a record of the bundle.
    ///
    /// - Throws: ``CommandFailure`` if the bundle does not contain the record, or `Failure`.
    fileprivate func record(_ id: String) throws -> Record {
        guard let record = try payload().records.record(id: id) else {
            throw CommandFailure(
                .someFailed, "\(name): no record has the id \(Console.visible(id)); list all with --records")
        }
        return record
    }
}
