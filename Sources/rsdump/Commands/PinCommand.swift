import ArgumentParser
import Dumps
import DumpsRefresh
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump pin`
struct PinCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pin",
        abstract: "Keep a collection at one state; comments in dumps.yaml are kept.",
        discussion: """
            A pinned collection is not moved by a refresh, which says how far behind the server it is. Without --at, the \
            state that is held is pinned. With --at, an older one is put in its place: from the git history of the dumps \
            directory, or from --from, a bundle or a folder of bundles at any depth and of any names. It is never taken from \
            the server.

            An older bundle is verified like any other, as of the time that the lock of its commit keeps, or the lock \
            beside it (DIR/dumps.lock.json for DIR/BUCKET/COLLECTION.zip). A bundle that comes without such a lock is \
            verified as of now: its certificates must still be valid.

            Past --until, refresh and status warn; with --max-age they fail where the bundle is older than that.

            Examples:
              rsdump pin main/regions --reason "bug 1234" --until 2026-12-31
              rsdump pin main/regions --at 2026-10-01
              rsdump pin main/regions --at 1760000000000 --from backups/

            Exits with 1 where there is no bundle of that time, with 3 where none of it can be verified.
            """)

    @Argument(help: "The collection, as BUCKET/COLLECTION.")
    var collection: String

    @Option(
        help: ArgumentHelp(
            "The state to pin: its timestamp in milliseconds, or a date or time in UTC, which means the newest state not later than that.",
            valueName: "timestamp|date"))
    var at: PinRequest?

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp("A bundle or a folder of bundles to take it from.", valueName: "path"))
    var path: String?

    @Option(help: ArgumentHelp("Why, in one line; shown by refresh and status.", valueName: "text"))
    var reason: String?

    @Option(help: ArgumentHelp("The last day of the pin, such as 2026-12-31.", valueName: "date"))
    var until: String?

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    func validate() throws {
        _ = try collectionIDs([collection])
        if let reason, !Pin.isReason(reason) {
            throw ValidationError("--reason is not one line of 1 to 500 characters")
        }
        guard let until else { return }
        guard let date = Pin.date(until) else {
            throw ValidationError("--until is \(until), expected a date such as 2026-12-31")
        }
        if Pin(at: date, until: date).isOverdue(at: HTTPEnvironment.system.now()) {
            throw ValidationError("--until is \(until), which is over; expected today or later")
        }
    }

    func run() async throws {
        try await running {
            let opened = try OpenDumps(dumps, applying: server.applied)
            let pinning = Pinning(
                opened.directory, configuration: opened.configuration, policy: opened.policy,
                now: HTTPEnvironment.system.now(), limits: opened.limits)
            let id = try CollectionID(collection)
            let outcome = try await pinning.pin(
                id, at ?? .present, from: path, reason: reason, until: until.flatMap(Pin.date))
            switch format {
            case .text: Console.print(Console.visible(PinText.outcome(id, outcome)))
            case .json: Console.print(json: PinText.json(id, outcome))
            }
        }
    }
}

extension PinRequest: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}
