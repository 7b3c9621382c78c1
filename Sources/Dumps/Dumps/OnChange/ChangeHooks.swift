import RemoteSettingsModel
import SnapshotBundle

/// The commands that are run after a change, when the new state is in place. Their standard input is the change as
/// JSON.
///
/// The state that a command knows is recorded before anything changes, and the record is removed when the command has
/// succeeded. If a run is killed or a command fails, the next run tells the command everything that has changed since.
/// So each command is told of each change at least once.
package struct ChangeHooks: Sendable {
    /// The result of one command.
    package struct Outcome: Sendable {
        /// The command's place among the commands, from 1. The command itself may contain a secret, so it is not shown.
        package let position: Int
        /// What has changed since the command was last told.
        package let change: DumpsChange
        /// Why the command must be told again; `nil` if it was told, or if nothing has changed.
        package let failure: String?

        /// `unchanged`, `told`, or `pending` if the next run tells it.
        package var status: String {
            failure != nil ? "pending" : change.collections.isEmpty ? "unchanged" : "told"
        }
    }

    private let commands: [String]
    /// The directory whose lock each change of the record needs.
    private let directory: DumpsDirectory
    private let path: String
    private let seconds: Int
    private let limits: Limits
    /// What each command knows.
    private var known: [ExactString: DumpsChange.State] = [:]

    /// - Parameters:
    ///   - commands: commands for the shell.
    ///   - path: the file in the directory that records the states that the commands know.
    ///   - seconds: how long a command may take.
    package init(
        _ commands: [String], of directory: DumpsDirectory, keeping path: String, seconds: Int = 60,
        limits: Limits = Limits()
    ) {
        self.commands = commands
        self.directory = directory
        self.path = path
        self.seconds = seconds
        self.limits = limits
    }

    /// Records what the commands know, before the state changes. Does I/O.
    ///
    /// - Parameters:
    ///   - wait: how long to wait for another process that works in the directory.
    ///   - state: the current state. A command that failed in an earlier run knows an older one.
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

    /// Runs each command, one after another, if something has changed since the state that it knows. Does I/O.
    ///
    /// - Parameter state: the state that is in place now.
    /// - Throws: ``DumpsError`` if another process works in the directory, or `BundleError` if the record cannot
    ///   be written. A command that was told may then be told again.
    package func finish(_ state: DumpsChange.State) async throws -> [Outcome] {
        var outcomes: [Outcome] = []
        for (index, command) in commands.enumerated() {
            let change = DumpsChange(from: known[command] ?? state, to: state)
            let failure = change.collections.isEmpty ? nil : await run(command, change)
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

    /// Removes a directory that only ``begin(waiting:_:)`` needed. Does I/O.
    package func end() async throws {
        guard path == directory.hooksPath else { return }
        let lock = try await directory.lock(waiting: .seconds(1))
        try withExtendedLifetime(lock) {
            try directory.removeIdleWork()
            try FileStore.removeIfEmpty(directory.path)
        }
    }

    /// - Returns: why the command failed; `nil` if it ended with 0.
    private func run(_ command: String, _ change: DumpsChange) async -> String? {
        guard !Task.isCancelled else { return "it was not started, because rsdump was interrupted" }
        do throws(DumpsError) {
            let input = Bytes(JSONText.compact(change.json) + [UInt8(ascii: "\n")])
            let status = try await ExternalProgram(shell: command).runVisibly(input: input, seconds: seconds)
            return status == 0 ? nil : "it exited with code \(status)"
        } catch {
            return "\(error)"
        }
    }

    /// The states that commands know. A damaged file counts as empty.
    ///
    /// - Throws: `BundleError` if the file cannot be read. Replacing it would lose which commands are not notified yet.
    private func read() throws(BundleError) -> [ExactString: DumpsChange.State] {
        guard let bytes = try FileStore.read(path, limit: Limits.lockBytes),
            let document = try? JSONValue(parsing: bytes, limits: limits), case .object(let commands) = document
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

    private func write(_ known: [ExactString: DumpsChange.State]) throws(BundleError) {
        guard !known.isEmpty else { return try FileStore.remove(path) }
        let commands = known.sorted { $0.key < $1.key }.map { command, state in
            let members = state.sorted { $0.key < $1.key }.map { id, timestamp in
                JSONValue.Member(key: "\(id)", value: .count(timestamp.milliseconds))
            }
            return JSONValue.Member(key: command.string, value: .object(members))
        }
        // A command may contain a secret.
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
