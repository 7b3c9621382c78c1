import ArgumentParser
import CurlTransport
import Dumps
import DumpsRefresh
import RemoteSettingsHTTP
import RemoteSettingsModel
import Subprocess

/// `rsdump watch`
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow a server's update channel, and refresh the dumps on each change.",
        discussion: """
            Holds a connection to the event stream at <server>/updates, which rsdump serve and a mirror behind nginx \
            have, and prints what happens as JSON, one line each: "connected", "update" (with the server's timestamp \
            and the collections that changed), "pause", "disconnected", "refreshed", "executed", "failed". "time" is \
            in milliseconds since 1970.

            With --refresh, the dumps are refreshed on each update, as rsdump refresh does. Together with rsdump serve \
            --watch, this makes a mirror that follows within a second. One refresh runs at a time, and updates that \
            arrive meanwhile are merged into the next one. An update is only a hint: the server's list of collections \
            decides what is new. While the list is older than the update says, the server is asked again, after 1 s, 2 \
            s, 4 s and so on up to 5 minutes. There is a second between two refreshes, and at most ten updates a \
            second are printed, whatever a server sends. A server that announces nothing is asked every quarter of an \
            hour.

            --exec runs a command in a shell on each update that the server's list of collections confirms, or with \
            --refresh after each refresh that changed something. RSDUMP_EVENT has the update as JSON. One command runs \
            at a time, and at most one starts in a second. Its output goes to standard error.

            A lost connection is made again after a random wait, of at most 1 s at first and 5 minutes later. A \
            connection without a sign of life for 45 s counts as lost. Events may be lost, so keep a nightly refresh.

            SIGTERM and SIGINT end a refresh or command that is under way (the command after 5 s at the latest), and \
            then the process.

            Examples:
              rsdump watch --server https://settings.example.org
              rsdump watch --refresh --dumps dumps
              rsdump watch --refresh --exec 'git -C dumps commit -qam "Refresh dumps"'

            Exit codes:
              0  ended by SIGTERM or SIGINT
              2  bad usage or configuration
              5  the server has no update channel; from the first connection on,
                 everything is tried again
            """)

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var server: ServerOptions

    @Flag(help: "Refresh the dumps on each update.")
    var refresh = false

    @Option(
        name: .customLong("exec"),
        help: ArgumentHelp(
            "Run this command on each update; with --refresh, after each refresh that changed something.",
            valueName: "command"))
    var command: String?

    func validate() throws {
        if let command, command.isEmpty { throw ValidationError("--exec is empty, expected a command") }
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
                        await actions.follow(request, client)
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
                "\(error); expected an update channel, which rsdump serve and a mirror behind nginx have")
        }
    }
}

/// The actions of `watch` for each update.
private struct UpdateActions: Sendable {
    let command: WatchCommand

    /// Does what the options say. Calls are a second apart, and so are the commands.
    func follow(_ request: UpdateTiming.Request, _ client: ServerClient) async -> UpdateTiming.Answer {
        guard command.refresh || command.command != nil else { return .irrelevant }
        let (answer, isChanged) = command.refresh ? await refresh(request) : await look(request, client)
        if isChanged, let line = command.command { await execute(line, answer, request.collections) }
        return answer
    }

    /// Refreshes the dumps.
    ///
    /// - Returns: also whether something changed.
    private func refresh(_ request: UpdateTiming.Request) async -> (UpdateTiming.Answer, isChanged: Bool) {
        let start = ContinuousClock.now
        do {
            // The configuration is read again, because dumps.yaml may have changed.
            let opened = try OpenDumps(command.dumps, applying: command.server.applied)
            if let named = request.collections, opened.configuration.collections.allSatisfy({ !named.contains($0.id) })
            {
                return (.irrelevant, false)
            }
            var options = Refresh.Options()
            options.expected = request.announced
            let report = try await opened.refresh([], options: options, progress: Progress(isShown: false))
            if Task.isCancelled { return (.failed, false) }
            let changed = report.outcomes.filter { ![.unchanged, .pinned, .failed].contains($0.status) }.map(\.id)
            WatchLine.print(
                "refreshed",
                [
                    "changed": .array(changed.map { .string("\($0)") }),
                    "failed": .array(report.failed.map { .string("\($0.id)") }),
                    "milliseconds": .count((ContinuousClock.now - start).wholeMilliseconds),
                    "exitCode": .count(report.exitStatus.rawValue),
                ])
            for failure in report.failed {
                Console.error("rsdump: \(failure.id): \(Console.visible(failure.error.map { "\($0)" } ?? ""))")
            }
            let isChanged = !changed.isEmpty || !report.recovered.isEmpty
            if report.exitStatus == .done { return (.seen(report.monitor), isChanged) }
            if let seconds = report.backoffSeconds, !isChanged { return (.notBefore(seconds: seconds), false) }
            return (.failed, isChanged)
        } catch {
            return (failed(error), false)
        }
    }

    /// Asks whether the server has the state that it announced.
    ///
    /// - Returns: also whether the state is another one than at the last look.
    private func look(
        _ request: UpdateTiming.Request, _ client: ServerClient
    ) async -> (UpdateTiming.Answer, isChanged: Bool) {
        do {
            guard let seen = try await client.monitorTimestamp(expected: request.announced) else {
                throw DumpsError.emptyMonitor("\(client.server)")
            }
            return (.seen(seen), seen != request.seen)
        } catch {
            return (failed(error), false)
        }
    }

    private func failed(_ error: any Error) -> UpdateTiming.Answer {
        guard !Task.isCancelled else { return .failed }
        let failure = CommandFailure(error)
        WatchLine.print(
            "failed", ["error": .string(failure.description), "exitCode": .count(failure.status.rawValue)])
        if case .backoff(_, let seconds)? = (error as? HTTPError)?.reason { return .notBefore(seconds: seconds) }
        return .failed
    }

    private func execute(_ line: String, _ answer: UpdateTiming.Answer, _ collections: Set<CollectionID>?) async {
        let newest = try? command.dumps.directory.lockFile(limits: Limits()).collections.values.map(\.timestamp).max()
        let timestamp = if case .seen(let seen) = answer { seen } else { newest ?? Timestamp(milliseconds: 0) }
        var event = UpdateEvent.update(timestamp: timestamp, collections: collections?.sorted())
        // The system limits the length of an environment variable.
        if event.json.utf8.count > 64 << 10 { event = .update(timestamp: timestamp, collections: nil) }
        var options = PlatformOptions()
        options.createSession = true
        options.teardownSequence = [
            .gracefulShutDown(toProcessGroup: true, allowedDurationToNextStep: .seconds(5))
        ]
        do {
            let result = try await Subprocess.run(
                .path("/bin/sh"), arguments: ["-c", line],
                environment: .inherit.updating(["RSDUMP_EVENT": event.json]), platformOptions: options,
                output: .currentStandardError, error: .currentStandardError)
            guard !Task.isCancelled else { return }
            switch result.terminationStatus {
            case .exited(let code): WatchLine.print("executed", ["exitCode": .count(code)])
            case .signaled(let signal): WatchLine.print("executed", ["signal": .count(signal)])
            }
        } catch {
            guard !Task.isCancelled else { return }
            WatchLine.print("failed", ["error": .string("--exec: \(error)")])
        }
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
                ["error": .string(error.description), "wait_milliseconds": .count(wait.wholeMilliseconds)])
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
