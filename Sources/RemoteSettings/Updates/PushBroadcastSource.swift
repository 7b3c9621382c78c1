#if canImport(Darwin)
    import Foundation
    import UpdateEvents

    /// Mozilla's push service as an update channel, over `URLSession`'s WebSocket.
    ///
    /// It announces each change of Mozilla's collections within minutes. It can also use another server that speaks the
    /// same protocol, such as `rsdump serve` at `/push`.
    ///
    ///     config.updates.channel = .source(PushBroadcastSource())
    public struct PushBroadcastSource: UpdateSource {
        private let url: String
        private let session: URLSession

        /// Makes a source. Does no I/O.
        ///
        /// - Parameters:
        ///   - url: `wss` or, on this machine only, `ws`; `nil` for Mozilla's service.
        ///   - session: makes the connections.
        public init(url: String? = nil, session: URLSession = .shared) {
            self.url = url ?? MozillaPush.mozilla
            self.session = session
        }

        /// Opens a connection and greets the server. Uses the network.
        ///
        /// - Throws: ``UpdateSourceError`` if no connection can be made, or if the server refuses the greeting.
        public func connect() async throws(UpdateSourceError) -> any UpdateConnection {
            guard let url = URL(string: url), url.scheme == "wss" || url.scheme == "ws" else {
                throw UpdateSourceError(.unsupported, "\(url): expected the URL of a WebSocket, wss://…")
            }
            let isHere = ["localhost", "127.0.0.1", "::1"].contains(url.host() ?? "")
            guard url.scheme == "wss" || isHere else {
                throw UpdateSourceError(.unsupported, "\(url): plain ws is refused; use wss")
            }
            let task = session.webSocketTask(with: url, protocols: [MozillaPush.subprotocol])
            task.maximumMessageSize = MozillaPush.mostMessageBytes
            task.resume()
            let connection = Connection(task: task)
            do {
                try await withTaskCancellationHandler {
                    try await task.send(.string(MozillaPush.hello))
                } onCancel: {
                    task.cancel(with: .goingAway, reason: nil)
                }
            } catch {
                throw UpdateSourceError(.failed, "\(url): \(error.localizedDescription)")
            }
            return connection
        }

        private final class Connection: UpdateConnection {
            private let task: URLSessionWebSocketTask
            private let messages: AsyncThrowingStream<UpdateMessage, any Error>
            private var iterator: AsyncThrowingStream<UpdateMessage, any Error>.Iterator
            private let reader: Task<Void, Never>
            private let pinger: Task<Void, any Error>

            init(task: URLSessionWebSocketTask) {
                self.task = task
                // If announcements are not read in time, the newest one covers them.
                let (messages, continuation) = AsyncThrowingStream<UpdateMessage, any Error>.makeStream(
                    bufferingPolicy: .bufferingNewest(64))
                self.messages = messages
                iterator = messages.makeAsyncIterator()
                reader = Task {
                    do {
                        while true {
                            guard case .string(let text) = try await task.receive() else { continue }
                            continuation.yield(try MozillaPush.message(text))
                        }
                    } catch {
                        continuation.finish(throwing: error)
                    }
                }
                pinger = Task {
                    while true {
                        try await Task.sleep(for: .seconds(MozillaPush.pingSeconds))
                        task.sendPing { error in
                            guard let error else {
                                continuation.yield(.heartbeat)
                                return
                            }
                            continuation.finish(throwing: error)
                        }
                    }
                }
            }

            deinit {
                reader.cancel()
                pinger.cancel()
                task.cancel(with: .goingAway, reason: nil)
            }

            func next() async throws(UpdateSourceError) -> UpdateMessage? {
                do {
                    return try await iterator.next()
                } catch {
                    throw error as? UpdateSourceError ?? UpdateSourceError(.failed, error.localizedDescription)
                }
            }
        }
    }
#endif
