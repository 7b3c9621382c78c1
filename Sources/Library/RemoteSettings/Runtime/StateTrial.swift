import RemoteSettingsModel
import SnapshotBundle

/// How the states of a collection have fared with this app.
///
/// | What happened | What is served from the next start on |
/// |---|---|
/// | a start got well | the state that it served is good |
/// | three starts in a row with a state that was never good, and none well | the last good state, else the package |
/// | six starts in a row, whatever they served, and none got well | what is packaged, until a start gets well |
/// | the app or its check says that a state is bad | the last good state, else the package |
///
/// It is part of the index (``StorageIndex/Slot``).
///
/// A state that is set aside is neither fetched nor used again; a newer one is. A state is known by its timestamp and
/// its content, so no time of day counts. Nothing here is signed, so it can keep a state from being used, but never
/// puts one into use that is not verified.
package struct StateTrial: Hashable, Sendable {
    /// Which state of a collection it is.
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

    /// A state that is not used.
    struct SetAside: Hashable, Sendable {
        let state: State
        let reason: String
        /// The version of the app whose check refused it; `nil` if it is set aside for every version.
        var app: String?
    }

    /// The starts that a state has to get well once.
    static let startsOnTrial = 3
    /// The starts in a row after which only what is packaged is used.
    static let mostStarts = 6
    private static let mostStates = 16

    /// The starts in a row that have not got well, with the current one.
    package private(set) var failedStarts = 0
    /// What the last start served, and how many in a row have.
    private var served: State?
    private var servedStarts = 0
    /// The last states with which the app has started well, newest last.
    private(set) var good: [State] = []
    /// Newest last.
    private(set) var setAside: [SetAside] = []

    package init() {}

    package var usesPackagedOnly: Bool { failedStarts >= Self.mostStarts }

    package func isGood(_ state: State) -> Bool { good.contains(state) }

    /// Why a state is not used; `nil` if it may be.
    func refusal(of state: State) -> SetAside? { setAside.last { $0.state == state } }

    /// Why the state of a timestamp is not used. A server's list of collections says no more of a state.
    func refusal(at timestamp: Timestamp) -> SetAside? { setAside.last { $0.state.timestamp == timestamp } }

    /// Sentences about the states that are set aside and newer than the one in use.
    package func problems(after timestamp: Timestamp?) -> [String] {
        setAside.filter { entry in timestamp.map { $0 < entry.state.timestamp } ?? true }
            .map { "the state of \($0.state.timestamp.rfc3339) was rejected: \($0.reason)" }
    }

    /// Why a snapshot is not used; `nil` if it may be. Its content is hashed only if its timestamp is known.
    package func reason(against snapshot: Snapshot) -> String? {
        refusal(at: snapshot.timestamp) == nil ? nil : refusal(of: State(snapshot))?.reason
    }
}

extension StateTrial {
    /// Draws the conclusion from earlier starts. Call it once in a start, before anything is served.
    mutating func settle() {
        guard let served, usesPackagedOnly || !isGood(served) && servedStarts >= Self.startsOnTrial else { return }
        setAside(
            served, because: "the app failed to start with it (\(Counted.text(servedStarts, "attempt")))")
    }

    /// Counts the current start, before anything is served.
    mutating func countStart(serving state: State) {
        servedStarts = served == state ? servedStarts.saturatingAdding(1) : 1
        served = state
        failedStarts = failedStarts.saturatingAdding(1)
    }

    /// Notes that a start with this state got well.
    mutating func recordSuccess(of state: State) {
        (failedStarts, servedStarts) = (0, 0)
        // Another process may have been quicker to give up.
        setAside.removeAll { $0.state == state }
        recordGood(state)
    }

    mutating func recordGood(_ state: State) {
        good = (good.filter { $0 != state } + [state]).suffix(Self.mostStates)
    }

    package mutating func setAside(_ state: State, because reason: String, app: String? = nil) {
        let reason = Self.bounded(reason)
        setAside = (setAside.filter { $0.state != state } + [.init(state: state, reason: reason, app: app)])
            .suffix(Self.mostStates)
        good.removeAll { $0 == state }
        if served == state { (served, servedStarts) = (nil, 0) }
    }

    /// Uses a state again that was set aside.
    mutating func readmit(_ state: State) { setAside.removeAll { $0.state == state } }

    /// Forgets what the checks of other versions of the app have refused; and what starts have shown, if they are not
    /// counted any more.
    mutating func adapt(to app: String, countsStarts: Bool) {
        setAside.removeAll { $0.app != nil && $0.app != app }
        if !countsStarts { (failedStarts, served, servedStarts) = (0, nil, 0) }
    }
}

// MARK: - In the index

extension StateTrial {
    /// A reason, or an app's version, of at most 500 bytes.
    static func bounded(_ text: String) -> String { VisibleText.excerpt(text, limit: 500) }

    init(_ json: JSONValue) {
        failedStarts = json.count("failedStarts")
        served = json["served"].flatMap(State.init)
        servedStarts = json.count("servedStarts")
        good = (json["good"]?.array ?? []).compactMap(State.init).suffix(Self.mostStates)
        for entry in json["setAside"]?.array ?? [] {
            guard let state = State(entry), let reason = entry["reason"]?.string else { continue }
            setAside.append(
                .init(state: state, reason: Self.bounded(reason), app: entry["app"]?.string))
        }
        setAside = setAside.suffix(Self.mostStates)
    }

    var json: JSONValue {
        let setAside = setAside.map { entry in
            JSONValue.members([
                "timestamp": .time(entry.state.timestamp), "payload": .string(entry.state.payload.hex),
                "reason": .string(entry.reason), "app": entry.app.map { .string($0) },
            ])
        }
        return .members([
            "failedStarts": .count(failedStarts), "served": served?.json, "servedStarts": .count(servedStarts),
            "good": .array(good.map(\.json)), "setAside": .array(setAside),
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
