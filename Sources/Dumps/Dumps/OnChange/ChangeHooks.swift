import RemoteSettingsModel
import SnapshotBundle

/// The commands that are run after a change, when the new state is in place. They receive the change as JSON on
/// standard input.
///
/// Before a change, the last state that each command was notified of is recorded. The record is removed when the
/// command has succeeded. If rsdump is killed or a command fails, the next run notifies the command of all changes
/// since the recorded state. So each command is notified of each change at least once.
package struct ChangeHooks: Sendable {
    /// The result of one command.
    package struct Outcome: Sendable {
        /// The position of the command, starting with 1. The command itself is not shown, because it may contain a
        /// secret.
        package let position: Int
        /// The changes since the command was last notified.
        package let change: DumpsChange
        /// The reason that the command must be notified again; `nil` if it succeeded, or if nothing has changed.
        package let failure: String?

        /// The status for reports: `unchanged`, `told`, or `pending` if the next run will notify the command.
        package var status: String {
            failure != nil ? "pending" : change.collections.isEmpty ? "unchanged" : "told"
        }
    }

    private let commands: [String]
    /// The directory that must be locked to change the record.
    private let directory: DumpsDirectory
    private let path: String
    private let seconds: Int
    private let sleep: @Sendable (Duration) async throws -> Void
    /// The last state that each command was notified of.
    private var known: [ExactString: DumpsChange.State] = [:]

    /// Creates hooks.
    ///
    /// - Parameters:
    ///   - commands: commands for the shell.
    ///   - path: the file in the directory that records the states that the commands were notified of.
    ///   - seconds: the time limit of a command.
    ///   - sleep: a closure that waits for that time.
    package init(
        _ commands: [String], of directory: DumpsDirectory, keeping path: String, seconds: Int = 60,
        sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.commands = commands
        self.directory = directory
        self.path = path
        self.seconds = seconds
        self.sleep = sleep
    }

    /// Records the current state for each command without a recorded one. Call it before the state changes. Does I/O.
    ///
    /// - Parameters:
    ///   - wait: how long to wait if another process is using the directory.
    ///   - state: the current state. For a command that failed in an earlier run, an older state is already recorded.
    package mutating func begin(
        waiting wait: Duration = .seconds(1), _ state: () throws -> DumpsChange.State
    ) async throws {
        try FileStore.makeDirectories(directory.path)
        let lock = try await directory.lock(waiting: wait)
        defer { withExtendedLifetime(lock) {} }
        if path == directory.hooksPath { try directory.prepareWork() }
        let state = try state()
        known = try read()
        for command in commands where known[command] == nil { known[command] = state }
        try write(known)
    }

    /// Runs the commands one after another, except those that were already notified of the current state. Does I/O.
    ///
    /// - Parameters:
    ///   - state: the state that is in place now.
    ///   - request: the address of the pull request that has the change; `nil` if there is none.
    /// - Throws: ``Failure`` if another process is working in the directory, or `Failure` if the record cannot
    ///   be written. A command that succeeded may then be notified again.
    package func finish(_ state: DumpsChange.State, request: String? = nil) async throws -> [Outcome] {
        var outcomes: [Outcome] = []
        for (index, command) in commands.enumerated() {
            let change = DumpsChange(from: known[command] ?? state, to: state)
            let failure = change.collections.isEmpty ? nil : await run(command, change.json(request: request))
            outcomes.append(Outcome(position: index + 1, change: change, failure: failure))
            if failure == nil {
                let lock = try await directory.lock(waiting: .seconds(1))
                defer { withExtendedLifetime(lock) {} }
                var left = try read()
                left[command] = nil
                try write(left)
            }
        }
        return outcomes
    }

    /// Removes the directories created by ``begin(waiting:_:)`` if nothing else uses them. Does I/O.
    package func end() async throws {
        guard path == directory.hooksPath else { return }
        let lock = try await directory.lock(waiting: .seconds(1))
        try withExtendedLifetime(lock) {
            try directory.removeIdleWork()
            try FileStore.removeIfEmpty(directory.path)
        }
    }

    /// Runs a command.
    ///
    /// - Returns: the reason that the command failed; `nil` if its exit code is 0.
    private func run(_ command: String, _ change: JSONValue) async -> String? {
        guard !Task.isCancelled else { return "it was not started, because rsdump was interrupted" }
        do throws(Failure) {
            let input = Bytes(JSONText.compact(change) + [UInt8(ascii: "\n")])
            let status = try await ExternalProgram(shell: command, sleep: sleep)
                .runVisibly(input: input, seconds: seconds)
            return status == 0 ? nil : "it exited with code \(status)"
        } catch {
            return "\(error)"
        }
    }

    /// Reads the recorded states. A damaged file is treated as empty.
    ///
    /// - Throws: `Failure` if the file cannot be read. Replacing it would then lose the pending notifications.
    private func read() throws(Failure) -> [ExactString: DumpsChange.State] {
        guard let bytes = try FileStore.read(path, limit: Limits.lockBytes),
            let document = try? JSONValue(parsing: bytes), case .object(let commands) = document
        else { return [:] }
        var known: [ExactString: DumpsChange.State] = [:]
        for command in commands {
            guard case .object(let members) = command.value else { continue }
            var state: DumpsChange.State = [:]
            for member in members {
                guard let id = try? CollectionID(member.key), let number = member.value.number?.uint64 else { continue }
                state[id] = Timestamp(milliseconds: number)
            }
            known[command.key] = state
        }
        return known
    }

    private func write(_ known: [ExactString: DumpsChange.State]) throws(Failure) {
        guard !known.isEmpty else { return try FileStore.remove(path) }
        let commands = known.sorted { $0.key < $1.key }.map { command, state in
            let members = state.sorted { $0.key < $1.key }.map { id, timestamp in
                JSONValue.Member(key: "\(id)", value: .count(timestamp.milliseconds))
            }
            return JSONValue.Member(key: command.string, value: .object(members))
        }
        // The file is private because a command may contain a secret.
        try FileStore.replace(
            path, with: Bytes(JSONText.compact(.object(commands))), limit: Limits.lockBytes, isPrivate: true)
    }
}

extension ChangeHooks.Outcome: Encodable {
    package func encode(to encoder: any Encoder) throws {
        try encoder.encode(members: [
            "command": position, "status": status, "timestamp": change.timestamp, "collections": change.collections,
            "error": failure,
        ])
    }
}
