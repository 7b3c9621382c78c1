import RemoteSettingsModel
import SnapshotBundle

/// The record of how well the app has started with the states of a collection.
///
/// | Event | State used from the next start on |
/// |---|---|
/// | a successful start | the same state, which is now good |
/// | three consecutive starts with a new state, none successful | the last good state, otherwise the packaged one |
/// | six consecutive starts with any states, none successful | the packaged state, until a start succeeds |
/// | the app or its check rejects a state | the last good state, otherwise the packaged one |
///
/// The record is part of the index (``StorageIndex/Slot``).
///
/// A rejected state is neither fetched nor used again, but a newer one is. A state is identified by its timestamp and
/// content, so the device's clock has no influence. The record is not signed. It can therefore prevent the use of a
/// state, but it never causes the use of a state that is not verified.
package struct StateTrial: Hashable, Sendable {
    /// The identity of a state of a collection.
    package struct State: Hashable, Sendable {
        package let timestamp: Timestamp
        /// The SHA-256 of the signed payload.
        package let payload: SHA256Digest

        package init(timestamp: Timestamp, payload: SHA256Digest) {
            (self.timestamp, self.payload) = (timestamp, payload)
        }

        package init(_ snapshot: Snapshot) {
            self.init(timestamp: snapshot.timestamp, payload: SHA256Digest(hashing: snapshot.payload.bytes))
        }
    }

    /// A rejected state.
    struct Rejection: Hashable, Sendable {
        let state: State
        let reason: String
        /// The version of the app whose check rejected the state; `nil` if it is rejected for every version.
        var app: String?
    }

    /// The number of starts with a new state, none of them successful, after which the state is rejected.
    static let startsOnTrial = 3
    /// The number of consecutive starts, none of them successful, after which only the packaged state is used.
    static let mostStarts = 6
    private static let mostStates = 16

    /// The number of consecutive starts that have not succeeded, including the current one.
    package private(set) var failedStarts = 0
    /// The state used in the last start, and the number of consecutive starts that have used it.
    private var served: State?
    private var servedStarts = 0
    /// The last states that the app has started successfully with, newest last.
    private(set) var good: [State] = []
    /// The rejected states, newest last.
    private(set) var rejected: [Rejection] = []

    package init() {}

    package var usesPackagedOnly: Bool { failedStarts >= Self.mostStarts }

    package func isGood(_ state: State) -> Bool { good.contains(state) }

    /// Returns the rejection of a state; `nil` if the state may be used.
    func refusal(of state: State) -> Rejection? { rejected.last { $0.state == state } }

    /// Returns the rejection of the state with this timestamp, for a state whose content is not known yet.
    func refusal(at timestamp: Timestamp) -> Rejection? { rejected.last { $0.state.timestamp == timestamp } }

    /// Returns a sentence for each rejected state that is newer than the state in use.
    package func problems(after timestamp: Timestamp?) -> [String] {
        rejected.filter { entry in timestamp.map { $0 < entry.state.timestamp } ?? true }
            .map { "the state of \($0.state.timestamp.rfc3339) was rejected: \($0.reason)" }
    }

    /// Returns the reason that a snapshot was rejected; `nil` if it may be used. The content is hashed only if a state
    /// with the same timestamp was rejected.
    package func reason(against snapshot: Snapshot) -> String? {
        refusal(at: snapshot.timestamp) == nil ? nil : refusal(of: State(snapshot))?.reason
    }
}

extension StateTrial {
    /// Rejects the last used state if too many starts have failed. Call it before a state is used.
    mutating func settle() {
        guard let served, usesPackagedOnly || !isGood(served) && servedStarts >= Self.startsOnTrial else { return }
        reject(served, because: "the app failed to start with it (\(Counted.text(servedStarts, "attempt")))")
    }

    /// Counts the current start. Call it before the state is used.
    mutating func countStart(serving state: State) {
        servedStarts = served == state ? servedStarts.saturatingAdding(1) : 1
        served = state
        failedStarts = failedStarts.saturatingAdding(1)
    }

    /// Records a successful start with a state.
    mutating func recordSuccess(of state: State) {
        (failedStarts, servedStarts) = (0, 0)
        // Another process may have rejected the state in the meantime.
        rejected.removeAll { $0.state == state }
        recordGood(state)
    }

    mutating func recordGood(_ state: State) {
        good = (good.filter { $0 != state } + [state]).suffix(Self.mostStates)
    }

    package mutating func reject(_ state: State, because reason: String, app: String? = nil) {
        let reason = Self.bounded(reason)
        rejected = (rejected.filter { $0.state != state } + [.init(state: state, reason: reason, app: app)])
            .suffix(Self.mostStates)
        good.removeAll { $0 == state }
        if served == state { (served, servedStarts) = (nil, 0) }
    }

    /// Removes the rejection of a state, so that it can be used again.
    mutating func acceptAgain(_ state: State) { rejected.removeAll { $0.state == state } }

    /// Removes the rejections by checks of other app versions. If starts are no longer counted, also removes their
    /// count.
    mutating func adapt(to app: String, countsStarts: Bool) {
        rejected.removeAll { $0.app != nil && $0.app != app }
        if !countsStarts { (failedStarts, served, servedStarts) = (0, nil, 0) }
    }

    // MARK: - In the index
    /// Returns a reason or an app version, shortened to at most 500 bytes.
    static func bounded(_ text: String) -> String { VisibleText.excerpt(text, limit: 500) }

    init(_ json: JSONValue) {
        failedStarts = json.count("failedStarts")
        served = json["served"].flatMap(State.init)
        servedStarts = json.count("servedStarts")
        good = (json["good"]?.array ?? []).compactMap(State.init).suffix(Self.mostStates)
        for entry in json["rejected"]?.array ?? [] {
            guard let state = State(entry), let reason = entry["reason"]?.string else { continue }
            rejected.append(.init(state: state, reason: Self.bounded(reason), app: entry["app"]?.string))
        }
        rejected = rejected.suffix(Self.mostStates)
    }

    var json: JSONValue {
        let rejected = rejected.map { entry in
            JSONValue.members([
                "timestamp": .time(entry.state.timestamp), "payload": .string(entry.state.payload.hex),
                "reason": .string(entry.reason), "app": entry.app.map { .string($0) },
            ])
        }
        return .members([
            "failedStarts": .count(failedStarts), "served": served?.json, "servedStarts": .count(servedStarts),
            "good": .array(good.map(\.json)), "rejected": .array(rejected),
        ])
    }
}

extension StateTrial.State {
    init?(_ json: JSONValue) {
        guard let timestamp = json.time("timestamp"), let payload = json.digest("payload") else { return nil }
        self.init(timestamp: timestamp, payload: payload)
    }

    fileprivate var json: JSONValue { .members(["timestamp": .time(timestamp), "payload": .string(payload.hex)]) }
}
