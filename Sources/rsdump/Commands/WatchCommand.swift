import ArgumentParser
import AsyncHTTPTransport
import Dumps
import DumpsRefresh
import DumpsWatch
import LibC
import RemoteSettingsHTTP
import RemoteSettingsModel
import Subprocess
import Synchronization
import UnixSignals
import UpdateEvents
import UpdateSchedule

/// `rsdump watch`
struct WatchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Follow a server's update channel, and refresh the dumps on each change.",
        discussion: """
            Holds a connection to the event stream at <server>/updates, which rsdump serve and a mirror with --updates \
            have, and prints what happens as JSON, one line each: "connected", "update" (with the server's timestamp and \
            the collections that changed), "pause", "disconnected", "refreshed", "executed", "failed". "time" is in \
            milliseconds since 1970.

            With --refresh, the dumps are refreshed on each update, as by rsdump refresh. With rsdump serve --watch beside \
            it, that makes a mirror which follows within a second. One refresh runs at a time; updates that arrive \
            meanwhile are merged into the next one. After two refreshes in a row that changed nothing, the next one waits \
            for a minute: a server that announces what is not there costs one request a minute.

            --exec runs a command in a shell on each update, or with --refresh after each refresh that changed something. \
            RSDUMP_EVENT has the update as JSON. One command runs at a time, and at most one starts in a second. Its \
            output goes to standard error.

            A lost connection is made again after a random wait, of at most 1 s first and 5 minutes later; one without \
            any sign of life for 45 s counts as lost. Events may be lost: keep a nightly refresh.

            SIGTERM and SIGINT end a refresh or command that is under way (the command after 5 s at the latest), and then \
            the process.

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
        let transport = AsyncHTTPClientTransport(jobs: 1, limits: limits)
        let client = ServerClient(
            server: url, transport: transport, userAgent: UserAgent(name: "rsdump", version: RSDump.version),
            limits: limits, onEvent: Console.showAlert)
        let due = DueUpdates()
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        let result = await withTaskGroup(of: Result<Void, HTTPError>.self) { group in
            group.addTask {
                do throws(HTTPError) {
                    try await UpdateWatch(client: client).run { notice in
                        WatchLine.print(notice)
                        switch notice {
                        case .event(.update(let timestamp, let collections)):
                            due.add(.init(timestamp: timestamp, collections: collections.map { Set($0) }))
                        // What changed while there was no connection: not every engine tells its state to a newcomer.
                        case .connected where refresh: due.add(.init())
                        default: break
                        }
                    }
                    return .success(())
                } catch {
                    return .failure(error)
                }
            }
            group.addTask {
                await UpdateWork(command: self, due: due).run()
                return .success(())
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
        await transport.shutdown()
        do {
            try result.get()
        } catch {
            guard error.category != .usage else { throw CommandFailure(error) }
            throw CommandFailure(
                .unreachable,
                "\(error); expected an update channel, which rsdump serve and a mirror with --updates have")
        }
    }
}

/// The updates that wait to be worked on, merged into one.
private final class DueUpdates: Sendable {
    struct Update {
        /// `nil` where it is not known whether anything has changed.
        var timestamp: Timestamp?
        /// `nil` for any.
        var collections: Set<CollectionID>?
    }

    /// More collections than any server has; a longer list means any.
    private static let most = 10_000

    private let state = Mutex<Update?>(nil)
    private let signal = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    func add(_ update: Update) {
        state.withLock { state in
            var merged = state ?? update
            merged.timestamp = [merged.timestamp, update.timestamp].compactMap(\.self).max()
            merged.collections = merged.collections.flatMap { present in update.collections.map { $0.union(present) } }
            if let count = merged.collections?.count, count > Self.most { merged.collections = nil }
            state = merged
        }
        signal.continuation.yield()
    }

    /// Waits for an update; `nil` where the task is cancelled. There is one reader.
    func next() async -> Update? {
        for await _ in signal.stream {
            // Most servers tell their state within a moment after a connection.
            if let update = state.withLock({ $0 }), update.timestamp == nil { try? await Task.sleep(for: .seconds(1)) }
            if let update = state.withLock({ state in
                defer { state = nil }
                return state
            }) {
                return update
            }
        }
        return nil
    }
}

/// Refreshes and runs the command on updates, one after the other.
private struct UpdateWork {
    private static let fruitlessPause = Duration.seconds(60)
    private static let commandPause = Duration.seconds(1)

    let command: WatchCommand
    let due: DueUpdates

    func run() async {
        guard command.refresh || command.command != nil else { return await untilCancelled() }
        var handled: Timestamp?
        var failures = 0
        // The refreshes in a row that changed nothing, and when the last of them ended.
        var fruitless = (count: 0, end: ContinuousClock.now)
        while let update = await due.next() {
            // After each connection the server tells its present state, which is mostly the one that is held.
            if let handled, let timestamp = update.timestamp, timestamp <= handled { continue }
            var pause = Duration.zero
            if command.refresh {
                switch await refreshed(update) {
                case .changed:
                    failures = 0
                    fruitless.count = 0
                case .unchanged:
                    failures = 0
                    handled = update.timestamp ?? handled
                    let isRow = ContinuousClock.now - fruitless.end < Self.fruitlessPause * 5
                    fruitless = (isRow ? fruitless.count + 1 : 1, .now)
                    guard fruitless.count > 1 else { continue }
                    pause = Self.fruitlessPause
                case .irrelevant:
                    handled = update.timestamp ?? handled
                    continue
                case .failed:
                    failures += 1
                    pause = RetryPauses(first: .seconds(5), longest: .seconds(300))
                        .pause(after: failures, random: HTTPEnvironment.system.random())
                    due.add(update)
                }
            }
            if pause == .zero {
                handled = update.timestamp ?? handled
                if let line = command.command {
                    await execute(line, update)
                    pause = Self.commandPause
                }
            }
            if pause > .zero { try? await Task.sleep(for: pause) }
            if Task.isCancelled { return }
        }
    }

    private func untilCancelled() async {
        while !Task.isCancelled { try? await Task.sleep(for: .seconds(3600)) }
    }

    private enum Refreshed {
        case changed
        case unchanged
        /// The update is about collections that `dumps.yaml` does not name.
        case irrelevant
        case failed
    }

    private func refreshed(_ update: DueUpdates.Update) async -> Refreshed {
        let start = ContinuousClock.now
        do {
            // Read anew: dumps.yaml may have been changed.
            let opened = try OpenDumps(command.dumps, applying: command.server.applied)
            if let named = update.collections, opened.configuration.collections.allSatisfy({ !named.contains($0.id) }) {
                return .irrelevant
            }
            var options = Refresh.Options()
            options.expected = update.timestamp
            let report = try await opened.refresh([], options: options, progress: Progress(isShown: false))
            if Task.isCancelled { return .failed }
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
            if report.exitStatus != .done {
                guard !changed.isEmpty else { return .failed }
                // What failed is tried again, though something else changed.
                due.add(.init())
            }
            return changed.isEmpty && report.recovered.isEmpty ? .unchanged : .changed
        } catch {
            guard !Task.isCancelled else { return .failed }
            let failure = CommandFailure(error)
            WatchLine.print(
                "failed",
                ["error": .string(failure.description), "exitCode": .count(failure.status.rawValue)])
            return .failed
        }
    }

    private func execute(_ line: String, _ update: DueUpdates.Update) async {
        let newest = try? command.dumps.directory.lockFile(limits: Limits()).collections.values.map(\.timestamp).max()
        let timestamp = update.timestamp ?? newest ?? Timestamp(milliseconds: 0)
        var event = UpdateEvent.update(timestamp: timestamp, collections: update.collections?.sorted())
        // The system limits the length of a variable.
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
                ["error": error.map { .string("\($0)") }, "wait_milliseconds": .count(wait.wholeMilliseconds)])
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
