import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The names of collections. An empty list means all collections.
struct CollectionNames: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Collections, as BUCKET/COLLECTION; all by default.", valueName: "collections"),
        transform: collectionID)
    var names: [CollectionID] = []
}

/// The names of one or more collections.
struct SomeCollections: ParsableArguments {
    @Argument(
        help: ArgumentHelp("Collections, as BUCKET/COLLECTION.", valueName: "collections"), transform: collectionID)
    var names: [CollectionID]

    mutating func validate() { names = names.uniqued() }
}

/// The option `--format` with the formats that a command supports.
struct FormatOption<Format: ResultFormat>: ParsableArguments {
    @Option(help: "How to print the result.")
    var format = Format.text
}

extension FormatOption<OutputFormat> {
    /// Prints a result to standard output, as text or as one JSON document and nothing else.
    func print(_ text: @autoclosure () -> String, _ value: some Encodable) throws {
        switch format {
        case .text: Console.print(text())
        case .json: try Console.print(json: value)
        }
    }
}

/// The `--accept` option, which accepts new states even if they violate guards.
struct AcceptOption: ParsableArguments {
    @Option(
        name: .customLong("accept"), parsing: .singleValue,
        help: ArgumentHelp(
            "Accept this collection's new state even if it violates guards; repeatable.",
            valueName: "collection"), transform: collectionID)
    var collections: [CollectionID] = []
}

/// The `--summary` option.
struct SummaryOption: ParsableArguments {
    @Option(
        name: .customLong("summary"),
        help: ArgumentHelp("Also write the result as Markdown to this file.", valueName: "file.md"))
    var file: String?
}

/// The `--history` option, which makes deltas possible.
struct HistoryOption: ParsableArguments {
    @Option(
        name: .customLong("history"), parsing: .singleValue,
        help: ArgumentHelp(
            "Also use older bundles, so that clients download only what changed: git for earlier commits, or a folder; "
                + "repeatable.", valueName: "git|dir"))
    var places: [String] = []
}

/// The `--dry-run` option, which shows what a command would do without doing it.
struct DryRunOption: ParsableArguments {
    @Flag(name: .customLong("dry-run"), help: "Only show what would change; write nothing.")
    var isGiven = false
}

/// Returns the older bundles in the places of `--history`; `nil` if there are none. Prints a note if some may be
/// missing.
func olderBundles(of directory: DumpsDirectory, in places: [String]) async throws(Failure) -> BundleHistory? {
    guard !places.isEmpty else { return nil }
    let history = try await BundleHistory(of: directory.path, in: places)
    if let gap = history.gap { Console.error("note: clients with older states get all records: \(gap)") }
    return history
}

/// The `--context` option, which describes an app or a device for filters.
struct ContextOption: ParsableArguments {
    @Option(
        name: .customLong("context"), parsing: .singleValue,
        help: ArgumentHelp("A property for filters, such as country=DE; repeatable.", valueName: "key=value"))
    var pairs: [String] = []

    func validate() throws { _ = try appContext(pairs) }
}

/// The `--output` option. Without it, the output goes to standard output.
struct FileOutput: ParsableArguments {
    @Option(
        name: [.customShort("o"), .customLong("output")],
        help: ArgumentHelp("The file to write; standard output by default.", valueName: "file"))
    var path: String?

    /// Writes to the file, or to standard output.
    func write(_ bytes: Bytes) throws {
        guard let path else { return Console.write(bytes.array, to: 1) }
        try FileStore.writeOutput(path, bytes)
    }
}
