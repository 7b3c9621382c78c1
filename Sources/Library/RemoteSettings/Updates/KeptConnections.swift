import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// What is remembered about failed connections from one start to the next. The times in the file are by this device's
/// clock.
extension ConnectionSchedule.Kept {
    /// The most bytes that the file may have.
    private static let mostBytes = 64 << 10

    /// Reads what was kept. Does I/O.
    ///
    /// A file that cannot be read, or that is about another channel, counts as empty.
    static func read(
        _ path: String, of channel: String, limits: Limits, environment: HTTPEnvironment
    ) -> ConnectionSchedule.Kept {
        guard let bytes = try? FileStore.read(path, limit: mostBytes),
            let document = try? JSONValue(parsing: bytes, limits: limits), document["channel"]?.string == channel,
            let failures = document["failures"]?.number?.uint64
        else { return ConnectionSchedule.Kept() }
        let isAsked = document["isAsked"] == .bool(true)
        let next = document["next"]?.number?.uint64.map(Timestamp.init(milliseconds:))
        let left = next?.elapsed(since: environment.now()) ?? .zero
        // No pause is ever longer than this. A longer one means that the clock was set back, so the time is ignored.
        let isPossible = left <= (isAsked ? ConnectionSchedule.longestAskedPause : ConnectionSchedule.longestPause)
        return ConnectionSchedule.Kept(
            failures: Int(clamping: failures), until: isPossible ? environment.uptime() + left : .zero,
            isAsked: isAsked)
    }

    func write(to path: String, of channel: String, environment: HTTPEnvironment) throws(FileError) {
        let left = until - environment.uptime()
        let document = JSONValue.members([
            "channel": .string(channel), "failures": .count(failures),
            "next": left > .zero ? .count(environment.now().advanced(by: left).milliseconds) : nil,
            "isAsked": .bool(isAsked),
        ])
        try FileStore.replace(path, with: Bytes(JSONText.compact(document)), isContended: true, flushing: false)
    }
}
