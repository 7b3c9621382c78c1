import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump records`
struct Records: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "records",
        abstract: "Print a bundle's records, one JSON object a line.",
        discussion: """
            Records come in canonical JSON, sorted by id. Nothing is verified: rsdump verify does that.

            Examples:
              rsdump records main/regions | jq .name
              rsdump records old/regions.zip --id de
            """)

    @OptionGroup var argument: BundleArgument

    @Option(help: ArgumentHelp("Print only the record with this id.", valueName: "id"))
    var id: String?

    func run() async throws {
        try await running {
            let bundle = try argument.open()
            let records = try bundle.payload().records
            if let id {
                guard let record = records.record(id: id) else {
                    throw CommandFailure(
                        .someFailed, "\(bundle.name): expected a record \(id), found none with this id")
                }
                Console.print(record.json.text)
                return
            }
            var lines: [UInt8] = []
            for record in records {
                lines.append(contentsOf: record.json.array)
                lines.append(UInt8(ascii: "\n"))
                if lines.count > 1 << 16 {
                    Console.write(lines, to: 1)
                    lines.removeAll(keepingCapacity: true)
                }
            }
            Console.write(lines, to: 1)
        }
    }
}
