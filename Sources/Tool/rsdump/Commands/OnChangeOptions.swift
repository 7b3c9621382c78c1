import ArgumentParser
import Dumps
import RemoteSettingsModel
import SnapshotBundle
import DumpsExchange

/// The `--on-change` option, which specifies commands to run after a change.
struct OnChangeOptions: ParsableArguments {
    @Option(
        name: .customLong("on-change"), parsing: .singleValue,
        help: ArgumentHelp(
            "Run this after a change, with the change as JSON on stdin; repeatable.",
            valueName: "command"))
    var commands: [String] = []

    func validate() throws {
        if commands.contains("") { throw ValidationError("--on-change is empty; give a command") }
    }

    /// Runs `change`, which changes a dumps directory, and then the commands.
    ///
    /// - Parameter wait: how long to wait if another process is using the directory.
    func telling<Value>(
        of directory: DumpsDirectory, waiting wait: Duration = .zero, _ change: () async throws -> Value
    ) async throws -> (Value, [ChangeHooks.Outcome]) {
        guard !commands.isEmpty else { return (try await change(), []) }
        let hooks = ChangeHooks(commands, of: directory, keeping: directory.hooksPath)
        return try await tell(hooks, waiting: wait, change) {
            try directory.lockFile().collections.mapValues(\.timestamp)
        }
    }

    /// Runs `change`, which publishes a mirror, and then the commands.
    func telling<Value>(
        ofMirror folder: String, state: () throws -> DumpsChange.State, _ change: () async throws -> Value
    ) async throws -> (Value, [ChangeHooks.Outcome]) {
        guard !commands.isEmpty else { return (try await change(), []) }
        try StaticMirror.check(folder)
        let hooks = ChangeHooks(commands, of: DumpsDirectory(folder), keeping: "\(folder)/\(StaticMirror.hooksName)")
        return try await tell(hooks, waiting: .zero, change, state: state)
    }

    private func tell<Value>(
        _ hooks: ChangeHooks, waiting wait: Duration, _ change: () async throws -> Value,
        state: () throws -> DumpsChange.State
    ) async throws -> (Value, [ChangeHooks.Outcome]) {
        var hooks = hooks
        try await hooks.begin(waiting: max(wait, .seconds(1)), state)
        let result: Result<Value, any Error>
        do { result = .success(try await change()) } catch { result = .failure(error) }
        var outcomes: [ChangeHooks.Outcome] = []
        do {
            outcomes = try await hooks.finish(state())
            try await hooks.end()
        } catch {
            // The change is complete, even if a command could not be notified, so this is only a warning.
            Console.error("warning: \(Console.visible("\(error)"))")
        }
        for outcome in outcomes {
            guard let failure = outcome.failure else { continue }
            Console.error(
                "warning: \(HooksReport.name(outcome)): \(Console.visible(failure)); "
                    + "the next run with this command will try again")
        }
        return (try result.get(), outcomes)
    }
}
