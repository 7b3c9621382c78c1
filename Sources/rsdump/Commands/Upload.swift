import ArgumentParser
import AsyncHTTPTransport
import Dumps
import FileStorage
import MirrorUpload
import Notifications
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump upload`
struct Upload: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "upload",
        abstract: "Bring a mirror into an object store.",
        discussion: """
            MIRROR is a folder of rsdump export --to mirror. STORE is a bucket with a prefix: s3://BUCKET/PREFIX if \
            the AWS command line (of 2025 or newer) is to reach it, REMOTE:BUCKET/PREFIX if rclone is. That client \
            takes its credentials and the store's address from its own configuration or environment.

            Only what has changed is written, in an order in which every reader sees one state. Content under new \
            names comes first, then the names that readers know, and the list of collections comes last. A run can be \
            killed at any moment, and the next one finishes it. A second upload waits for the first one, and an upload \
            of an older state is refused. Objects that no state names any more are removed after --keep.

            Rules at the edge map queries to objects (rsdump export --to edge).

            With --url, the command waits until the new state can be read from there, for 3 minutes at most. --notify \
            needs --url, because nobody is told of a state that cannot be read. Events that could not be posted yet \
            are kept in the store.

            \(NotifyOptions.help)

            Examples:
              rsdump upload /srv/mirror s3://settings-bucket
              rsdump upload /srv/mirror r2:settings/production --keep 7d \\
                --url https://settings.example.org \\
                --notify http://127.0.0.1:8889/publish

            Exit codes:
              0  done, or nothing had changed
              1  the store failed, or somebody else wrote to it; run it again
              2  bad usage, a mirror that is older than the store's state,
                 or no client
              5  uploaded, but the state cannot be read from --url yet
            """)

    @Argument(help: "The folder of rsdump export --to mirror.")
    var mirror: String

    @Argument(help: "Where it goes: s3://BUCKET/PREFIX or REMOTE:BUCKET/PREFIX.")
    var store: String

    @Option(
        help: ArgumentHelp(
            "How long an object stays after no state names it any more: a number with d, h, m or s.",
            valueName: "time"))
    var keep = "30d"

    @Flag(help: "Let collections go back to an older state, on purpose.")
    var allowOlder = false

    @Flag(help: "Replace objects in the store that no upload put there.")
    var adopt = false

    @Option(
        help: ArgumentHelp(
            "Where clients reach the store; the command waits for the new state there.", valueName: "url"))
    var url: String?

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var notify: NotifyOptions

    @Option(help: "How to print the result: text or json.")
    var format = OutputFormat.text

    /// How long the command waits until the new state can be read.
    private static let patience = Duration.seconds(180)

    func validate() throws {
        if mirror.isEmpty { throw ValidationError("MIRROR is empty, expected a folder") }
        guard StorePlace(store) != nil else {
            throw ValidationError(
                "STORE is \(Console.visible(store)), expected s3://BUCKET/PREFIX or REMOTE:BUCKET/PREFIX")
        }
        guard Self.seconds(keep) != nil else {
            throw ValidationError(
                "--keep is \(Console.visible(keep)), expected a number with d, h, m or s, such as 30d")
        }
        if let url {
            do { _ = try Self.server(url) } catch { throw ValidationError("--url: \(error)") }
        } else if !notify.names.isEmpty {
            throw ValidationError("--notify needs --url: the new state must be readable there before anybody is told")
        }
    }

    func run() async throws {
        guard let place = StorePlace(store) else { return }
        let client: any StoreClient =
            switch place.client {
            case .aws(let bucket): AWSClient(place, bucket: bucket)
            case .rclone(let bucket): RcloneClient(place, bucket: bucket)
            }
        var options = MirrorUpload.Options()
        options.keepSeconds = Self.seconds(keep) ?? options.keepSeconds
        options.allowsOlder = allowOlder
        options.adopts = adopt
        let upload = MirrorUpload(
            try FileStore.absolute(mirror.withoutTrailingSlashes), to: client, options: options
        ) { Console.error("rsdump: \(Console.visible($0))") }
        let notifications = notify.names.isEmpty ? nil : try StoredNotifications(client)
        defer { notifications?.removeFiles() }
        try await notifications?.fetch()
        var report: MirrorUpload.Report?
        var isVisible = true
        let (_, told) = try await notify.telling(
            keeping: notifications?.path ?? "",
            state: {
                guard let report else { return try await upload.uploaded() }
                guard isVisible else {
                    throw CommandFailure(
                        .unreachable, "nobody is told: the new state cannot be read yet; the next run tries again")
                }
                return report.collections
            }, dumps.directory.configurationOrDefault(), file: dumps.directory.configurationPath
        ) {
            // This comes before any change, so that a killed run leaves the list of targets that it has not told.
            try await notifications?.store()
            let done = try await upload.run()
            if let url { isVisible = try await isReadable(done.collections, at: url) }
            report = done
        }
        try await notifications?.store()
        if let report { show(report, told) }
        guard isVisible else {
            throw CommandFailure(
                .unreachable,
                "\(url ?? ""): expected the new state within 3 minutes, found an older one; check the rules and "
                    + "the caching of the edge"
            )
        }
    }

    private func show(_ report: MirrorUpload.Report, _ told: [Notifier.Outcome]) {
        for note in report.notes { Console.error("rsdump: \(Console.visible(note))") }
        let (files, size) = (Counted.text(report.written, "object"), ByteSize.text(UInt64(clamping: report.bytes)))
        let change =
            report.isUnchanged
            ? "nothing to do" : "\(files) written, \(size)" + (report.removed > 0 ? ", \(report.removed) removed" : "")
        format.print(
            "\(report.store): \(change); \(report.present) as before" + NotificationReport.text(told),
            .members([
                "store": .string(report.store), "tree": .string(report.tree), "unchanged": .bool(report.isUnchanged),
                "written": .count(report.written), "bytes": .count(report.bytes), "present": .count(report.present),
                "removed": .count(report.removed), "kept": .count(report.kept),
                "notes": .array(report.notes.map(JSONValue.string)), "notifications": NotificationReport.json(told),
            ]))
    }

    /// Whether the list of collections shows a state or a newer one within a time. Each question has its own number as
    /// the expected timestamp. If an answer comes too early, no cache may keep it under the timestamp that clients ask
    /// for.
    private func isReadable(_ collections: [CollectionID: Timestamp], at url: String) async throws -> Bool {
        let transport = AsyncHTTPClientTransport(jobs: 1)
        let client = ServerClient(
            server: try Self.server(url), transport: transport,
            userAgent: UserAgent(name: "rsdump", version: RSDump.version))
        let start = ContinuousClock.now
        var (pause, isFound) = (Duration.milliseconds(200), false)
        while !isFound {
            let number = UInt64.random(in: 9_000_000_000_000_000...9_007_199_254_740_991)
            let found: [CollectionID: Timestamp]
            do throws(HTTPError) {
                if case .changes(let document, _) = try await client.monitor(expected: Timestamp(milliseconds: number)),
                    let monitor = try? MonitorChangeset(parsing: document.body, limits: Limits())
                {
                    found = monitor.collections
                } else {
                    found = [:]
                }
            } catch {
                found = [:]
                Console.error("rsdump: \(Console.visible("\(error)"))")
            }
            isFound = collections.allSatisfy { id, timestamp in found[id].map { $0 >= timestamp } ?? false }
            guard !isFound, ContinuousClock.now - start < Self.patience else { break }
            try await Task.sleep(for: pause)
            pause = min(pause * 2, .seconds(10))
        }
        await transport.shutdown()
        return isFound
    }

    /// The server of a URL. The version does not matter, because each version of the API gives the same answer.
    private static func server(_ url: String) throws(HTTPError) -> ServerURL {
        let base = url.withoutTrailingSlashes
        return try ServerURL(base.hasSuffix("/v1") || base.hasSuffix("/v2") ? base : "\(base)/v2", allowPlainHTTP: true)
    }

    private static func seconds(_ text: String) -> Int? {
        let units: [Character: Int] = ["d": 86_400, "h": 3600, "m": 60, "s": 1]
        guard let unit = text.last.flatMap({ units[$0] }), let number = Int(text.dropLast()),
            (0...1_000_000).contains(number)
        else { return nil }
        return number * unit
    }
}

/// The file of undelivered notifications. It is in the store between the runs, because each run may be on another
/// machine.
private final class StoredNotifications {
    private static let key = ".rsdump/notify.json"
    private let client: any StoreClient
    private let folder: String
    /// The local path of the file while the command runs.
    let path: String
    private var isStored = false

    init(_ client: any StoreClient) throws {
        self.client = client
        folder = try FileStore.makeTemporaryDirectory("rsdump-notify")
        path = "\(folder)/notify.json"
    }

    func fetch() async throws {
        guard try await client.list()[Self.key] != nil else { return }
        _ = try await client.read(Self.key, to: path)
        isStored = true
    }

    func store() async throws {
        let headers = ObjectHeaders(contentType: "application/json", cacheControl: "no-store", contentEncoding: nil)
        if try FileStore.exists(path) {
            _ = try await client.write(Self.key, from: path, headers, .always)
            isStored = true
        } else if isStored {
            try await client.remove([Self.key], scratch: folder)
            isStored = false
        }
    }

    func removeFiles() { try? FileStore.removeTree(folder) }
}
