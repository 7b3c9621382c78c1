import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel

/// An update channel whose messages are sent by a test.
public final class ScriptedUpdates: UpdateSource {
    private struct State {
        var connects = 0
        var most = 0
        var open: [Int: AsyncThrowingStream<UpdateMessage, any Error>.Continuation] = [:]
        var refusal: Failure?
        var greeting: [UpdateMessage] = []
    }

    private let state = Mutex(State())

    /// Creates a channel that accepts every connection and sends nothing.
    public init() {}

    /// The number of connections so far, including refused ones.
    public var connects: Int { state.withLock { $0.connects } }
    /// The number of connections that are open now.
    public var open: Int { state.withLock { $0.open.count } }
    /// The highest number of simultaneous connections so far.
    package var most: Int { state.withLock { $0.most } }

    /// Refuses connections from now on; `nil` to accept them again.
    package func refuse(_ error: Failure?) { state.withLock { $0.refusal = error } }

    /// Sends these messages at the beginning of each connection.
    package func greet(_ messages: UpdateMessage...) { state.withLock { $0.greeting = messages } }

    /// Sends these messages on every open connection.
    package func send(_ messages: UpdateMessage...) {
        for connection in state.withLock({ Array($0.open.values) }) {
            for message in messages { connection.yield(message) }
        }
    }

    /// Announces a state of the server by its timestamp.
    public func announce(_ timestamp: RemoteSettingsTimestamp) { announce(timestamp, nil) }

    /// Announces a state of the server and the collections that it concerns; `nil` for all.
    package func announce(_ timestamp: Timestamp, _ collections: [CollectionID]?) {
        send(.event(.update(timestamp: timestamp, collections: collections)))
    }

    /// Closes all connections without an error.
    public func end() { end(nil) }

    /// Closes all connections, with an error if there is one.
    package func end(_ error: Failure?) {
        let connections = state.withLock { state in
            defer { state.open = [:] }
            return state.open.values
        }
        for connection in connections { connection.finish(throwing: error) }
    }

    /// Opens a connection.
    ///
    /// - Throws: the error that was passed to ``refuse(_:)``.
    package func connect() async throws(Failure) -> any UpdateConnection {
        let (stream, continuation) = AsyncThrowingStream<UpdateMessage, any Error>.makeStream()
        let result = state.withLock { state -> Result<Int, Failure> in
            state.connects += 1
            if let refusal = state.refusal { return .failure(refusal) }
            state.open[state.connects] = continuation
            state.most = max(state.most, state.open.count)
            for message in state.greeting { continuation.yield(message) }
            return .success(state.connects)
        }
        let number = try result.get()
        continuation.onTermination = { [weak self] _ in self?.state.withLock { _ = $0.open.removeValue(forKey: number) }
        }
        return Connection(messages: stream.makeAsyncIterator())
    }

    private struct Connection: UpdateConnection {
        var messages: AsyncThrowingStream<UpdateMessage, any Error>.Iterator

        mutating func next() async throws(Failure) -> UpdateMessage? {
            do {
                return try await messages.next()
            } catch {
                throw error as? Failure ?? Failure("", .connection("\(error)"))
            }
        }
    }
}

extension OriginTransport {
    /// The queries of all requests so far for the monitor, the server's list of collections.
    package var polls: [String] {
        requests.map(\.path).filter { $0.contains("/monitor/") }.map { String($0.drop { $0 != "?" }) }
    }

    /// Returns the timestamp of the monitor, the server's list of collections.
    package func monitorTimestamp() throws -> Timestamp {
        let document = try JSONValue(parsing: Bytes(utf8: try monitor()))
        return Timestamp(milliseconds: document["timestamp"]?.number?.uint64 ?? 0)
    }
}
