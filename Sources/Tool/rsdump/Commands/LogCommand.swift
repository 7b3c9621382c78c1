import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump log`
struct LogCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "log",
        abstract: "Show what each commit changed in a collection.",
        usage: "rsdump log [<collection>] [<options>]",
        discussion: """
            Reads the commits of the dumps directory, newest first. Exits with 1 if there is no entry.
              rsdump log main/markets
              rsdump log --id jp --tags     releases that contain a record, with its value
            For details, see Log.md in share/doc/rsdump.
            """)

    @Argument(help: "The collection; without it, --id lists the tags that contain the record.", transform: collectionID)
    var collection: CollectionID?

    @Option(help: ArgumentHelp("Show only changes of the record with this id, and their values.", valueName: "id"))
    var id: String?

    @Option(help: ArgumentHelp("Show only changes of this field, such as name or attachment.hash.", valueName: "field"))
    var field: String?

    @Flag(help: "Show the tags that contain each state.")
    var tags = false

    @Flag(help: "With --id: show which entry last changed each field of the record.")
    var blame = false

    @Option(
        name: .customLong("from"), parsing: .singleValue,
        help: ArgumentHelp("Read copies of bundles in this folder instead of git; repeatable.", valueName: "folder"))
    var folders: [String] = []

    @OptionGroup var dumps: DumpsOptions

    @OptionGroup var result: FormatOption<DiffCommand.Format>

    func validate() throws {
        if blame, id == nil { throw ValidationError("--blame requires --id") }
        if blame, result.format != .text { throw ValidationError("--blame requires --format text") }
        if tags, !folders.isEmpty {
            throw ValidationError("--tags cannot be combined with --from, because copies have no tags")
        }
        guard collection == nil else { return }
        if id == nil { throw ValidationError("give a collection, or a record with --id") }
        if blame || field != nil || !folders.isEmpty || result.format == .markdown {
            throw ValidationError("--blame, --field, --from and --format markdown require a collection")
        }
    }

    func run() async throws {
        let directory = dumps.directory.path
        guard let collection else { return try await printTaggedRecords(of: directory) }
        let log =
            folders.isEmpty
            ? try await CollectionLog(of: collection, inCommitsOf: directory, withTags: tags)
            : try await CollectionLog(of: collection, inFolders: folders)
        for problem in log.unusable { report(problem) }
        if let gap = log.gap { Console.error("note: \(gap)") }
        guard try await blame ? printBlame(log) : printEntries(log) else {
            let wanted = [id.map { "the record \($0)" }, field.map { "the field \($0)" }].compactMap(\.self)
            let known = (try? dumps.directory.lockFile().collections.keys.sorted()) ?? []
            let other = folders.isEmpty ? "commit its bundle first" : "give other folders with --from"
            throw CommandFailure(
                .someFailed,
                "\(folders.first ?? directory): "
                    + (wanted.isEmpty
                        ? "no changes in \(collection); \([collection].didYouMean(known, or: other))"
                        : "no state of \(collection) has \(wanted.joined(separator: " with "))"))
        }
    }

    private func printTaggedRecords(of directory: String) async throws {
        guard let id else { return }
        let search = try await TaggedRecord.search(for: id, inTagsOf: directory, unusable: report)
        for gap in search.gaps { Console.error("note: \(Console.visible(gap))") }
        let found = search.found
        switch result.format {
        case .json: try Console.print(json: found)
        case .text, .markdown:
            for each in found {
                let tags = VisibleText.escape(each.tags.joined(separator: ", "))
                Console.print("\(Style.output.yellow("\(each.collection)"))  (\(tags))  \(each.record.json.text)")
            }
        }
        guard found.isEmpty else { return }
        throw CommandFailure(.someFailed, "\(directory): no tag contains the record \(VisibleText.escape(id))")
    }

    private func report(_ problem: any Error) {
        Console.error("note: skipped a state that cannot be read: \(problem)")
    }

    /// Prints the entries of a log.
    ///
    /// - Returns: whether any entry was printed.
    private func printEntries(_ log: CollectionLog) async throws -> Bool {
        var text = LogText(showsFields: id != nil || field != nil, paint: Style.output.paint)
        var count = 0
        try await log.forEach(record: id, field: field, unusable: report) { entry in
            switch result.format {
            case .text: for line in text.lines(entry) { Console.print(line) }
            case .json:
                Console.buffered { write in
                    write(Array((count == 0 ? "[\n  " : ",\n  ").utf8))
                    text.write(entry, to: write)
                }
            case .markdown: for line in entry.markdown { Console.print(line) }
            }
            count += 1
            return true
        }
        if result.format == .json { Console.print(count == 0 ? "[]" : "\n]") }
        return count > 0
    }

    /// Prints each field of the record with the entry that last changed it.
    ///
    /// - Returns: whether the record has a requested field.
    private func printBlame(_ log: CollectionLog) async throws -> Bool {
        var members: [JSONValue.Member]?
        var entries: [ExactString: (entry: CollectionLog.Entry, tags: [String])] = [:]
        // The tags of this entry and of all newer ones: a value that an entry introduced is also in all later states.
        var later: Set<ExactString> = []
        try await log.forEach(record: id, field: field, unusable: report) { entry in
            guard let change = entry.changes.first else { return true }
            // The newest entry contains the record's current state or its deletion.
            if members == nil { members = change.members ?? [] }
            later.formUnion(entry.tags.map(\.exact))
            // Only the field names are needed.
            _ = change.fields { path in
                if entries[path.root] == nil { entries[path.root] = (entry, later.sorted().map(\.string)) }
                return false
            }
            return change.kind == .updated
        }
        var isThere = false
        for member in members ?? [] {
            guard let (entry, tags) = entries[member.key] else { continue }
            isThere = true
            let value = String(decoding: JSONText.shown(member.value), as: UTF8.self)
            let when = entry.committed ?? entry.diff.new?.timestamp
            Console.print(
                "\(Style.output.yellow(entry.name))  \(Style.output.dim(when?.rfc3339 ?? ""))  "
                    + "\(VisibleText.excerpt(member.key)): \(VisibleText.excerpt(value))"
                    + (tags.isEmpty ? "" : "  (\(VisibleText.escape(tags.joined(separator: ", "))))"))
        }
        return isThere
    }
}
