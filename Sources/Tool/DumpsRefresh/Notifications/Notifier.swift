import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// Tells targets of a change, after the new state is in place.
///
/// The state that a target knows is written down before anything changes, and removed when the target has been told. If
/// a run is killed or cannot reach a target, the next run can therefore make up for it. It then tells the target
/// everything that has changed since. A target is told of one state once.
package struct Notifier: Sendable {
    /// The timestamp of each collection.
    package typealias State = [CollectionID: Timestamp]
    /// Sends the bytes by POST, and returns the head of the answer, whatever its status is. The body is not awaited.
    package typealias Post =
        @Sendable (_ request: HTTPRequest, _ body: [UInt8]) async throws(HTTPError) -> (
            status: Int, headers: HTTPHeaders
        )

    /// A target, with what is needed to reach it.
    package struct Recipient: Sendable {
        package let target: NotificationTarget
        package let url: HTTPURL
        /// The header fields that are sent in addition to the message's own.
        let headers: HTTPHeaders

        /// - Throws: `NotificationTargetError` if the URL is not `http` or `https`, or if credentials would go over
        ///   plain `http` to another machine.
        package init(_ target: NotificationTarget, headers: HTTPHeaders) throws(NotificationTargetError) {
            do throws(HTTPError) {
                url = try HTTPURL(target.url)
            } catch {
                throw NotificationTargetError("\(error)")
            }
            guard target.headersVariable == nil || url.scheme == .https || url.isLoopback else {
                throw NotificationTargetError("\(url): credentials are not sent over plain http; use https")
            }
            self.target = target
            self.headers = headers
        }

        /// What people and files see of the URL: its origin, and the beginning of the SHA-256 of the whole.
        ///
        /// The path of a webhook is often a secret.
        package var label: String {
            "\(url.origin) (sha256 \("\(SHA256Digest(hashing: Bytes(utf8: "\(url)")))".prefix(12)))"
        }

        /// Distinguishes the targets in the kept file.
        var key: String { [target.format.rawValue, target.topic, label].compactMap(\.self).joined(separator: " ") }

        /// An error without the path and without the target's answer, which may contain the headers that were sent.
        func failure(_ reason: HTTPError.Reason) -> HTTPError {
            if case .status(let code, _) = reason {
                HTTPError(label, .status(code, body: ""))
            } else {
                HTTPError(label, reason)
            }
        }
    }

    /// The result for one target.
    package struct Outcome: Sendable {
        package enum Result: Sendable {
            /// Nothing has changed since it was last told.
            case unchanged
            case told
            /// It could not be told. The next run tells it.
            case pending(HTTPError)
            /// The target says that it no longer exists (410). It is not told again.
            case gone(HTTPError)
        }

        package let recipient: Recipient
        /// The newest timestamp of all collections.
        package let timestamp: Timestamp
        /// The collections that have changed since the target was last told, sorted.
        package let collections: [CollectionID]
        package let result: Result
    }

    /// The longest `Retry-After` that is waited for. A longer one is left to the next run.
    private static let patience = Duration.seconds(10)
    private static let tries = 3
    private static let timeout = Duration.seconds(10)
    /// The most seconds for all targets together.
    private static let seconds = 30

    private let recipients: [Recipient]
    private let path: String
    private let userAgent: UserAgent
    private let environment: HTTPEnvironment
    private let post: Post
    private let limits: Limits
    private let retryPauses = RetryPauses(first: .seconds(1), longest: .seconds(5))

    /// - Parameter path: where the states that targets know are kept.
    package init(
        _ recipients: [Recipient], keeping path: String, userAgent: UserAgent, environment: HTTPEnvironment = .system,
        limits: Limits = Limits(), post: @escaping Post
    ) {
        self.recipients = recipients
        self.path = path
        self.userAgent = userAgent
        self.environment = environment
        self.limits = limits
        self.post = post
    }

    /// Writes down what the targets know, before the state changes. Does I/O.
    ///
    /// - Parameter state: the present state. A target that an earlier run did not reach knows an older one.
    package func begin(_ state: State) throws(FileError) {
        var known = try readKnown()
        for recipient in recipients where known[recipient.key] == nil { known[recipient.key] = state }
        try write(known)
    }

    /// Tells each target what has changed since the state that it knows. Does I/O and uses the network, for at most
    /// half a minute.
    ///
    /// - Parameter state: the state that is in place now.
    /// - Throws: `FileError` if it cannot be written down who has been told. Some may then be told again.
    package func finish(_ state: State) async throws(FileError) -> [Outcome] {
        let known = try readKnown()
        let timestamp = state.values.max() ?? Timestamp(milliseconds: 0)
        let outcomes = await inTime { recipient in
            let before = known[recipient.key] ?? state
            let changed = state.filter { before[$0.key] != $0.value }.keys.sorted()
            guard !changed.isEmpty else {
                return Outcome(recipient: recipient, timestamp: timestamp, collections: [], result: .unchanged)
            }
            let message = NotificationMessage(to: recipient.target, timestamp: timestamp, collections: changed)
            let result = await tell(recipient, message)
            return Outcome(recipient: recipient, timestamp: timestamp, collections: changed, result: result)
        }
        var left = try readKnown()
        for outcome in outcomes {
            if case .pending = outcome.result { continue }
            left[outcome.recipient.key] = nil
        }
        try write(left)
        return outcomes
    }

    /// The result of `tell` for each recipient. When the time for all is over, the remaining ones are cancelled.
    private func inTime(_ tell: @escaping @Sendable (Recipient) async -> Outcome) async -> [Outcome] {
        await withTaskGroup(of: [Outcome]?.self) { group in
            group.addTask { await recipients.concurrentMap(width: 8, tell) }
            group.addTask {
                try? await environment.sleep(.seconds(Self.seconds))
                return nil
            }
            for await outcomes in group {
                group.cancelAll()
                if let outcomes { return outcomes }
            }
            return []
        }
    }

    private func tell(_ recipient: Recipient, _ message: NotificationMessage) async -> Outcome.Result {
        var all = HTTPHeaders(message.headers + recipient.headers.fields)
        all.add("User-Agent", "\(userAgent)")
        let request = HTTPRequest(
            url: recipient.url, headers: all, headTimeout: Self.timeout, idleTimeout: Self.timeout)
        var attempt = 1
        while true {
            let error: HTTPError
            var wait = retryPauses.pause(after: attempt, random: environment.random())
            do {
                let answer = try await post(request, message.body)
                if (200...299).contains(answer.status) { return .told }
                error = recipient.failure(.status(answer.status, body: ""))
                if answer.status == 410 { return .gone(error) }
                if let seconds = answer.headers["Retry-After"].flatMap({ Int($0) }) {
                    wait = max(wait, .seconds(min(max(0, seconds), limits.backoffSeconds)))
                }
            } catch let failure {
                error = recipient.failure(failure.reason)
            }
            guard error.isRetryable, attempt < Self.tries, wait <= Self.patience,
                (try? await environment.sleep(wait)) != nil
            else {
                return .pending(
                    Task.isCancelled ? recipient.failure(.timeout(.run, seconds: Self.seconds)) : error)
            }
            attempt += 1
        }
    }

    /// The states that targets know, by ``Recipient/key``. A damaged file counts as empty.
    ///
    /// - Throws: `FileError` if the file cannot be read. Writing it anew would forget who has not been told yet.
    private func readKnown() throws(FileError) -> [String: State] {
        guard let bytes = try FileStore.read(path, limit: limits.lockBytes),
            let document = try? JSONValue(parsing: bytes, limits: limits), case .object(let targets) = document
        else { return [:] }
        var known: [String: State] = [:]
        for target in targets {
            guard case .object(let members) = target.value else { continue }
            var state: State = [:]
            for member in members {
                guard let id = try? CollectionID(member.key), let number = member.value.number?.uint64 else { continue }
                state[id] = Timestamp(milliseconds: number)
            }
            known[target.key] = state
        }
        return known
    }

    private func write(_ known: [String: State]) throws(FileError) {
        guard !known.isEmpty else { return try FileStore.remove(path) }
        let targets = known.sorted { $0.key < $1.key }.map { key, state in
            let members = state.sorted { $0.key < $1.key }.map { id, timestamp in
                JSONValue.Member(key: "\(id)", value: .count(timestamp.milliseconds))
            }
            return JSONValue.Member(key: key, value: .object(members))
        }
        try FileStore.replace(path, with: Bytes(JSONText.compact(.object(targets))), isContended: true, isPrivate: true)
    }
}
