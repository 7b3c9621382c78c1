import ArgumentParser
import CurlTransport
import Dumps
import DumpsRefresh
import RemoteSettingsHTTP
import RemoteSettingsModel

/// `rsdump watch`
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow a server's update channel, and refresh the dumps on each change.",
        discussion: """
            Reads the event stream at <server>/updates, which rsdump serve and a mirror behind nginx have. Prints each \
            event as one line of JSON: "connected", "update" (with the server's timestamp and the collections that \
            changed), "pause", "disconnected", "refreshed", "hook" or "failed". "time" is in milliseconds since 1970.

            With --refresh, the dumps are refreshed on each update, as rsdump refresh does. Together with rsdump serve \
            --watch, this makes a mirror that follows within a second. One refresh runs at a time; updates that arrive \
            meanwhile are merged into the next one. An update is only a hint: the server's list of collections says \
            what is new. If the list is older than the update says, the server is asked again after 1 s, 2 s, 4 s and \
            so on up to 5 minutes. There is at least a second between two refreshes, and at most ten updates a second \
            are printed, whatever a server sends. A server that announces nothing is asked every quarter of an hour.

            \(OnChangeOptions.help)

            Here, --on-change requires --refresh. A failed command is told again after a pause of at most 5 s at first \
            and 5 minutes later. Commands run at most once a second.

            After a lost connection, a new one is made after a random wait of at most 1 s at first and 5 minutes \
            later. A connection counts as lost after 45 s without a sign of life. Events may be lost, so keep a \
            nightly refresh.

            SIGTERM and SIGINT end a running refresh or command, and then the process.

            Examples:
              rsdump watch --server https://settings.example.org
              rsdump watch --refresh --dumps dumps
              rsdump watch --refresh \\
                --on-change 'git -C dumps commit -qam "Refresh dumps"'

            Exit codes:
              0  ended by SIGTERM or SIGINT
              2  bad usage or configuration
              5  the server has no update channel; after the first connection,
                 every failure is retried
            """)

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Flag(help: "Refresh the dumps on each update.")
    var refresh = false

    @OptionGroup var onChange: OnChangeOptions

    func validate() throws {
        if !refresh, !onChange.commands.isEmpty {
            throw ValidationError("--on-change requires --refresh, because nothing changes without it")
        }
        if !refresh, !server.trust.roots.isEmpty {
            throw ValidationError("--trust-root requires --refresh, because nothing is verified without it")
        }
    }

    func run() async throws {
        let configuration =
            try refresh
            ? OpenDumps(dumps, applying: server.applied).configuration
            : server.applied(to: dumps.directory.configurationOrDefault())
        let url = try configuration.serverURL()
        var limits = Limits()
        limits.updateIdleSeconds = UpdateWatch.idleSeconds
        limits.idleTimeoutSeconds = UpdateWatch.idleSeconds
        let transport = CurlTransport(connectionsPerHost: 2)
        let client = ServerClient(
            server: url, transport: transport, userAgent: UserAgent(name: "rsdump", version: RSDump.version),
            limits: limits, onEvent: Console.showAlert)
        let actions = UpdateActions(command: self)
        let signals = TerminationSignals.stream()
        let result = await withTaskGroup(of: Result<Void, HTTPError>.self) { group in
            group.addTask {
                do throws(HTTPError) {
                    try await UpdateWatch(client: client).run { request in
                        await actions.follow(request)
                    } report: { notice in
                        WatchLine.print(notice)
                    }
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                for await _ in signals { break }
                return .success(())
            }
            let first = await group.next() ?? .success(())
            group.cancelAll()
            await group.waitForAll()
            return first
        }
        do {
            try result.get()
        } catch {
            guard error.category != .usage else { throw CommandFailure(error) }
            throw CommandFailure(
                .unreachable,
                "\(error); the server may have no update channel: use a server that has one, such as rsdump serve or "
                    + "a mirror behind nginx"
            )
        }
    }
}

/// The actions of `watch` for each update.
private struct UpdateActions: Sendable {
    let command: WatchCommand

    /// With `--refresh`, refreshes the dumps, and runs the commands of `--on-change`. Calls are at least a second
    /// apart.
    func follow(_ request: UpdateTiming.Request) async -> UpdateTiming.Answer {
        guard command.refresh else { return .irrelevant }
        do {
            // The configuration is read again, because dumps.yaml may have changed.
            let opened = try OpenDumps(command.dumps, applying: command.server.applied)
            if let named = request.collections, opened.configuration.collections.allSatisfy({ !named.contains($0.id) })
            {
                return .irrelevant
            }
            let (report, told) = try await command.onChange.telling(of: opened.directory) {
                try await refresh(opened, expecting: request.announced)
            }
            if Task.isCancelled { return .failed }
            for outcome in told where outcome.status != "unchanged" {
                WatchLine.print("hook", HooksReport.members(outcome))
            }
            let isChanged = !report.changed.isEmpty || !report.recovered.isEmpty
            if report.exitStatus == .done, told.allSatisfy({ $0.failure == nil }) {
                return .seen(report.monitor)
            }
            if let seconds = report.backoffSeconds, !isChanged { return .notBefore(seconds: seconds) }
            return .failed
        } catch {
            return failed(error)
        }
    }

    private func refresh(_ opened: OpenDumps, expecting announced: Timestamp?) async throws -> RefreshReport {
        let start = ContinuousClock.now
        var options = Refresh.Options()
        options.expected = announced
        let report = try await opened.refresh([], options: options, progress: Progress(isShown: false))
        guard !Task.isCancelled else { return report }
        WatchLine.print(
            "refreshed",
            [
                "changed": .array(report.changed.map { .string("\($0)") }),
                "failed": .array(report.failed.map { .string("\($0.id)") }),
                "milliseconds": .count((ContinuousClock.now - start).wholeMilliseconds),
                "exitCode": .count(report.exitStatus.rawValue),
            ])
        for failure in report.failed {
            Console.error("rsdump: \(failure.id): \(Console.visible(failure.error.map { "\($0)" } ?? ""))")
        }
        return report
    }

    private func failed(_ error: any Error) -> UpdateTiming.Answer {
        guard !Task.isCancelled else { return .failed }
        let failure = CommandFailure(error)
        WatchLine.print(
            "failed", ["error": .string(failure.description), "exitCode": .count(failure.status.rawValue)])
        if case .backoff(_, let seconds)? = (error as? HTTPError)?.reason { return .notBefore(seconds: seconds) }
        return .failed
    }
}

extension RefreshReport {
    fileprivate var changed: [CollectionID] {
        outcomes.filter { ![.unchanged, .pinned, .failed].contains($0.status) }.map(\.id)
    }
}

/// One line of the output of `rsdump watch`.
private enum WatchLine {
    static func print(_ notice: UpdateWatch.Notice) {
        switch notice {
        case .connected(let url): print("connected", ["url": .string("\(url)")])
        case .event(.update(let timestamp, let collections)):
            print(
                "update",
                [
                    "timestamp": .count(timestamp.milliseconds),
                    "collections": collections.map { .array($0.map { .string("\($0)") }) },
                ])
        case .event(.pause(.retryAfter(let seconds))): print("pause", ["retry_after": .count(seconds)])
        case .event(.pause(.disabled)): print("pause", ["disabled": .bool(true)])
        case .refused(let error): print("refused", ["error": .string(error.description)])
        case .disconnected(let error, let wait):
            print(
                "disconnected",
                ["error": .string("\(error)"), "wait_milliseconds": .count(wait.wholeMilliseconds)])
        }
    }

    static func print(_ name: String, _ members: KeyValuePairs<String, JSONValue?>) {
        guard case .object(let list) = JSONValue.members(members) else { return }
        let head = [
            JSONValue.Member(key: "event", value: .string(name)),
            JSONValue.Member(key: "time", value: .count(HTTPEnvironment.system.now().milliseconds)),
        ]
        Console.write(JSONText.compact(.object(head + list)) + [UInt8(ascii: "\n")], to: 1)
    }
}
