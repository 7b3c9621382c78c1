import RemoteSettingsModel

/// Limits the number of simultaneous requests. Further ones wait in order of arrival.
///
/// An HTTP/1.1 connection carries one request at a time, and an HTTP/2 connection many. So the limit of an origin is
/// higher once it has responded over HTTP/2.
package final class RequestGate: Sendable {
    private struct Waiting {
        var url: HTTPURL
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var connections = 0
        var streams = 0
        var waiting: [Waiting] = []
    }

    private let state = Mutex(State())
    private let connections: Int
    private let streams: Int
    private let isMultiplexed: @Sendable (HTTPURL) -> Bool

    /// Creates a gate.
    ///
    /// - Parameters:
    ///   - connections: the largest number of simultaneous requests to origins for which `isMultiplexed` is false; at
    ///     least 1.
    ///   - streams: the largest number of simultaneous requests to all other origins; at least 1.
    ///   - isMultiplexed: whether the URL's origin has responded over a connection that carries several requests at the
    ///     same time.
    package init(connections: Int, streams: Int, isMultiplexed: @escaping @Sendable (HTTPURL) -> Bool) {
        self.connections = connections
        self.streams = streams
        self.isMultiplexed = isMultiplexed
    }

    /// Runs `body`, which sends requests to the URL's origin, as soon as the limits allow it.
    package func pass<Value: Sendable, Failure: Error>(
        to url: HTTPURL, _ body: () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let isStream = await enter(url)
        defer { leave(isStream) }
        return try await body()
    }

    /// Waits for a free slot.
    ///
    /// - Returns: whether the slot is one of the `streams`.
    private func enter(_ url: HTTPURL) async -> Bool {
        await withCheckedContinuation { continuation in
            let isStream = state.withLock { state -> Bool? in
                if let isStream = reserve(&state, for: url) { return isStream }
                state.waiting.append(Waiting(url: url, continuation: continuation))
                return nil
            }
            if let isStream { continuation.resume(returning: isStream) }
        }
    }

    private func leave(_ isStream: Bool) {
        let admitted = state.withLock { state in
            if isStream { state.streams -= 1 } else { state.connections -= 1 }
            var admitted: [(continuation: CheckedContinuation<Bool, Never>, isStream: Bool)] = []
            var index = 0
            // Several waiting requests may start now, because the last response may have shown that its origin uses
            // HTTP/2.
            while index < state.waiting.count, state.connections < connections || state.streams < streams {
                if let isStream = reserve(&state, for: state.waiting[index].url) {
                    admitted.append((state.waiting.remove(at: index).continuation, isStream))
                } else {
                    index += 1
                }
            }
            return admitted
        }
        for each in admitted { each.continuation.resume(returning: each.isStream) }
    }

    /// Reserves a free slot.
    ///
    /// - Returns: whether the slot is one of the `streams`; `nil` if none is free.
    private func reserve(_ state: inout State, for url: HTTPURL) -> Bool? {
        if isMultiplexed(url) {
            guard state.streams < streams else { return nil }
            state.streams += 1
            return true
        }
        guard state.connections < connections else { return nil }
        state.connections += 1
        return false
    }
}
