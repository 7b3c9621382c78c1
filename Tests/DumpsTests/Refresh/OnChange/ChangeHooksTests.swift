import Dumps
import RemoteSettingsModel
import SnapshotBundle
import Testing

struct ChangeHooksTests {
    private func state(_ timestamps: [String: UInt64]) throws -> DumpsChange.State {
        var state: DumpsChange.State = [:]
        for (name, timestamp) in timestamps { state[try CollectionID(name)] = Timestamp(milliseconds: timestamp) }
        return state
    }

    @Test func onChangeNamesBothTimestamps() throws {
        let change = try DumpsChange(
            from: state(["main/a": 1, "main/b": 2, "main/gone": 3]), to: state(["main/a": 4, "main/b": 2, "main/c": 5]))
        #expect(
            String(decoding: JSONText.compact(change.json()), as: UTF8.self)
                == #"{"timestamp":5,"collections":["main/a","main/c"],"changes":["#
                + #"{"collection":"main/a","previousTimestamp":1,"timestamp":4},"#
                + #"{"collection":"main/c","timestamp":5}]}"#)
    }

    /// On a timeout, all processes started by the command are killed, and the next run repeats the notification.
    @Test(arguments: ["", "trap '' TERM; "])
    func onChangeCommandTimeoutIsRetried(trap: String) async throws {
        let folder = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/hooks")
        defer { try? FileStore.removeTree(folder) }
        let (kept, over, late) = ("\(folder)/on-change.json", "\(folder)/over", "\(folder)/late")
        let waits = "until [ -e '\(over)' ]; do sleep 0.1; done; touch '\(late)'"
        let command = "\(trap)(trap '' TERM; \(waits)) & touch '\(folder)/begun'; while :; do sleep 1; done"
        // The first command times out as soon as it has begun. The second one has as much time as it needs.
        let isOver = Mutex(false)
        let sleep: @Sendable (Duration) async throws -> Void = { _ in
            while try isOver.withLock({ $0 }) || !FileStore.exists("\(folder)/begun") {
                try await Task.sleep(for: .milliseconds(5))
            }
            isOver.withLock { $0 = true }
        }
        var hooks = ChangeHooks(
            [command, "cat >'\(folder)/told'"], of: DumpsDirectory(folder), keeping: kept, seconds: 1, sleep: sleep)
        try await hooks.begin { try state(["main/a": 1]) }
        #expect(try !FileStore.isOpenToOthers(kept))
        let outcomes = try await hooks.finish(state(["main/a": 2]))
        #expect(outcomes.map(\.status) == ["pending", "told"])
        #expect(outcomes[0].failure?.contains("longer than 1 second") == true)
        #expect(try FileStore.read("\(folder)/told", limit: 1000)?.text.hasPrefix(#"{"timestamp":2,"#) == true)
        try FileStore.replace(over, with: Bytes(utf8: ""))
        try await Task.sleep(for: .seconds(1))
        #expect(try !FileStore.exists(late))

        var next = ChangeHooks([command], of: DumpsDirectory(folder), keeping: kept, seconds: 0)
        try await next.begin { try state(["main/a": 2]) }
        #expect(try await next.finish(state(["main/a": 2])).first?.change.collections == [CollectionID("main/a")])
    }

    /// If two runs overlap, the changes of the second are reported even if the first has already reported its own.
    @Test func overlappingRunsKeepPendingOnChange() async throws {
        let folder = try FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/hooks")
        defer { try? FileStore.removeTree(folder) }
        let kept = "\(folder)/on-change.json"
        var first = ChangeHooks(
            ["true"], of: DumpsDirectory(folder), keeping: kept,
            sleep: { _ in try await Task.sleep(for: .seconds(9999)) })
        try await first.begin { try state(["main/a": 1]) }
        var second = first
        try await second.begin { try state(["main/a": 1]) }
        #expect(try await first.finish(state(["main/a": 2])).map(\.status) == ["told"])
        #expect(try await second.finish(state(["main/a": 3])).map(\.status) == ["told"])
        #expect(try !FileStore.exists(kept))
    }
}
