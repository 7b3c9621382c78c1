import ArgumentParser
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump pin`
struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Keep collections at one state, by default the current one.",
        usage: "rsdump pin [<collections> ...] [<options>]",
        discussion: """
            A refresh leaves a pinned collection unchanged, and reports whether the server has a newer state.
              rsdump pin main/markets --reason "bug 1234" --until 2026-12-31
              rsdump pin --all --at v1.0
            For details, see Pins.md in share/doc/rsdump.
            """)

    @Argument(help: "Collections, as BUCKET/COLLECTION.", transform: collectionID)
    var collections: [CollectionID] = []

    @Flag(help: "All collections; with --remove, all that are pinned.")
    var all = false

    @Flag(help: "Remove the pin, so that refresh updates the collections again.")
    var remove = false

    @Option(
        help: ArgumentHelp("The state to pin: a timestamp, a date or time in UTC, or a commit.", valueName: "state"))
    var at: PinRequest?

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp(
            "Take the state from this commit (git:REV), bundle or folder of bundles.", valueName: "path"))
    var path: String?

    @Option(help: ArgumentHelp("Why it is pinned, in one line; shown by refresh and status.", valueName: "text"))
    var reason: String?

    @Option(help: ArgumentHelp("Warn about the pin after this day, such as 2026-12-31.", valueName: "date"))
    var until: String?

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @OptionGroup var result: FormatOption<OutputFormat>

    func validate() throws {
        guard all == collections.isEmpty else {
            throw ValidationError(all ? "--all cannot be combined with collections" : "give collections, or --all")
        }
        let isChoice = at != nil || path != nil || reason != nil || until != nil || server.isGiven
        if remove, isChoice || result.format != .text {
            throw ValidationError("--remove can be combined only with --all and --dumps")
        }
        if let reason, !Pin.isReason(reason) {
            throw ValidationError("--reason expects one line of 1 to 500 characters")
        }
        guard let until else { return }
        guard let date = Pin.date(until) else {
            throw ValidationError("--until expects a date such as 2026-12-31; found \(until)")
        }
        if Pin(at: date, until: date).isOverdue(at: HTTPEnvironment.system.now()) {
            throw ValidationError("--until is \(until), which has passed; give today or a later day")
        }
    }

    func run() async throws {
        if remove { return try await unpin() }
        let (transaction, opened) = try await OpenDumps.begin(dumps, applying: server.applied)
        defer { try? transaction.end() }
        let pinning = Pinning(
            transaction, configuration: opened.configuration, policy: opened.policy,
            now: HTTPEnvironment.system.now())
        var names = all ? opened.configuration.collections.map(\.id) : collections
        var missing: [CollectionID] = []
        if all, path == nil, case .revision(let name)? = at {
            let difference = try await pinning.difference(from: name)
            missing = difference.missing
            names.removeAll(where: difference.added.contains)
            for id in difference.added {
                Console.error("note: \(id): \(name) does not have it; it is kept unless you run: rsdump remove \(id)")
            }
            for id in missing {
                Console.error(
                    "warning: \(id): \(name) has it, but dumps.yaml does not list it; restore it with: rsdump add "
                        + "\(id) && rsdump pin \(id) --at \(name)")
            }
        }
        var (outcomes, failures) = ([Pinning.Outcome](), [CommandFailure]())
        let results = try await pinning.pin(
            names, at ?? .present, from: path, reason: reason, until: until.flatMap(Pin.date))
        for (_, result) in results {
            switch result {
            case .success(let outcome):
                outcomes.append(outcome)
                PinText.warning(outcome).map { Console.error("warning: \($0)") }
            case .failure(let error): failures.append(CommandFailure(error))
            }
        }
        if !outcomes.isEmpty || result.format == .json {
            try result.print(outcomes.map { Console.visible(PinText.outcome($0)) }.joined(separator: "\n"), outcomes)
        }
        for failure in failures.dropLast() { Console.error(failure) }
        if let last = failures.last { throw last }
        if !missing.isEmpty { throw ExitStatus.someFailed.code }
    }

    private func unpin() async throws {
        let pins = try await Pinning.unpin(all ? nil : collections, in: dumps.directory)
        if pins.isEmpty { return Console.print("nothing is pinned") }
        for (id, pin) in pins {
            Console.print(
                pin.map {
                    "\(id): no longer pinned at \($0.at) (\($0.at.rfc3339)); to fetch the server's state, run rsdump "
                        + "refresh"
                }
                    ?? "\(id): not pinned")
        }
    }
}

extension PinRequest: ExpressibleByArgument {
    package init?(argument: String) { self.init(argument) }
}
