import ArgumentParser
import FileStorage
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump attachment`
struct AttachmentCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attachment",
        abstract: "Take a record's attachment out of a bundle.",
        discussion: """
            Size and hash are checked against the record. Without -o the bytes go to standard output.

            Example:
              rsdump attachment main/icons RECORD -o icon.svg
            """)

    @OptionGroup var argument: BundleArgument

    @Argument(help: ArgumentHelp("The record's id.", valueName: "record-id"))
    var recordID: String

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write.", valueName: "file"))
    var output: String?

    func run() async throws {
        try await running {
            let bundle = try argument.open()
            guard let record = try bundle.payload().records.record(id: recordID) else {
                throw CommandFailure(
                    .someFailed, "\(bundle.name): expected a record \(recordID), found none with this id")
            }
            guard let attachment = try record.attachment() else {
                throw CommandFailure(.someFailed, "\(bundle.name): record \(recordID) has no attachment")
            }
            guard try bundle.attachmentSize(attachment.hash) != nil else {
                throw CommandFailure(.someFailed, "\(bundle.name): \(try reason(bundle, attachment))")
            }
            if let output {
                try FileStore.replace(output) { write in
                    _ = try bundle.streamAttachment(attachment.hash) { piece in try write(piece) }
                }
            } else {
                _ = try bundle.streamAttachment(attachment.hash) { piece in Console.write(piece, to: 1) }
            }
        }
    }

    private func reason(_ bundle: BundleReader, _ attachment: RecordAttachment) throws -> String {
        let file = try bundle.manifest().files.first { $0.sha256 == attachment.hash }
        return
            "the attachment of \(recordID) was left out of this bundle (\(file?.omitted.map { "\($0)" } ?? "no reason")); "
            + "change attachments in dumps.yaml and refresh"
    }
}
