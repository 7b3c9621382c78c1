import FileStorage
import RemoteSettingsModel

/// When the next connection to an update channel may be made, after connections that failed. It is kept across starts.
///
/// The rules are those of Firebase's clients: at most seven tries, the first after two minutes, each after twice the time of
/// the one before, with jitter; one success resets both the count and the time.
struct UpdateRetries: Hashable, Sendable {
    static let mostTries = 7
    static let longestPause = Duration.seconds(14_400)
    private static let firstPause = Duration.seconds(120)
    /// The longest pause that a server can ask for.
    private static let longestAskedPause = Duration.seconds(86_400)

    /// Connections that failed since the last one that succeeded.
    var failures = 0
    /// No connection before this time, by this device's clock.
    var next: Timestamp?
    /// Whether the server asked for that.
    var isAsked = false

    /// Whether no further try follows by itself.
    var hasGivenUp: Bool { failures > Self.mostTries }

    /// How long to wait at `now`; zero where a connection may be made.
    func wait(at now: Timestamp) -> Duration {
        let left = next?.elapsed(since: now) ?? .zero
        // No pause is ever longer: the clock was set back since, and the time means nothing.
        return left <= (isAsked ? Self.longestAskedPause : Self.longestPause) ? left : .zero
    }

    /// A connection failed. The pause is a random time from half of the full one to all of it.
    ///
    /// - Parameters:
    ///   - random: from 0 up to 1.
    ///   - isUnsupported: the server has no update channel; then the pause is the longest one.
    mutating func noteFailure(at now: Timestamp, random: Double, isUnsupported: Bool = false) {
        var pause = isUnsupported ? Self.longestPause : Self.firstPause
        for _ in 0..<min(failures, Self.mostTries) { pause = min(pause * 2, Self.longestPause) }
        failures = min(failures + 1, Self.mostTries + 1)
        next = now.advanced(by: pause * (0.5 + min(max(random, 0), 1) / 2))
        isAsked = false
    }

    /// The server asked for a pause of so many seconds; at most a day counts.
    mutating func notePause(seconds: Int, at now: Timestamp) {
        let until = now.advanced(by: min(.seconds(max(1, seconds)), Self.longestAskedPause))
        next = max(until, next ?? until)
        isAsked = true
    }

    /// Something other than time allows another try, such as a change of the network. What the server asked for stays.
    mutating func noteReason() { if !isAsked { next = nil } }
}

extension UpdateRetries {
    /// The file, in bytes.
    private static let mostBytes = 64 << 10

    /// Reads what was kept. A file that cannot be read, or that is about another channel, counts as empty. Does I/O.
    static func read(_ path: String, of channel: String, limits: Limits) -> UpdateRetries {
        guard let bytes = try? FileStore.read(path, limit: mostBytes),
            let document = try? JSONValue(parsing: bytes, limits: limits), document["channel"]?.string == channel,
            let failures = document["failures"]?.number?.uint64
        else { return UpdateRetries() }
        return UpdateRetries(
            failures: Int(clamping: min(failures, UInt64(mostTries + 1))),
            next: document["next"]?.number?.uint64.map(Timestamp.init(milliseconds:)),
            isAsked: document["isAsked"] == .bool(true))
    }

    func write(to path: String, of channel: String) throws(FileError) {
        let document = JSONValue.members([
            "channel": .string(channel), "failures": .count(failures), "next": next.map { .count($0.milliseconds) },
            "isAsked": .bool(isAsked),
        ])
        try FileStore.replace(path, with: Bytes(JSONText.compact(document)), isContended: true, flushing: false)
    }
}
