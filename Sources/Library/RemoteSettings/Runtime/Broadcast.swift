import RemoteSettingsModel

/// Passes elements on to streams and closures that come and go, to each in order and at its own speed.
package final class Broadcast<Element: Sendable>: Sendable {
    /// Adds an element to those that a receiver has not read, and limits their number.
    package typealias Queueing = @Sendable (_ element: Element, _ unread: inout [Element]) -> Void

    private final class Receiver: Sendable {
        private struct State {
            var unread: [Element] = []
            /// Whether the receiver was notified, and has not found the queue empty since.
            var isNotified = false
            /// `nil` once the receiver has ended.
            var notify: (@Sendable (Receiver) -> Void)?
        }

        let owner: WorkOwner?
        /// Ends the stream; `nil` for a closure.
        let finish: (@Sendable () -> Void)?
        private let queueing: Queueing
        private let state: Mutex<State>

        init(
            _ queueing: @escaping Queueing, owner: WorkOwner? = nil, finish: (@Sendable () -> Void)? = nil,
            notify: @escaping @Sendable (Receiver) -> Void
        ) {
            (self.queueing, self.owner, self.finish) = (queueing, owner, finish)
            state = Mutex(State(notify: notify))
        }

        func add(_ element: Element) {
            let notify = state.withLock { state -> (@Sendable (Receiver) -> Void)? in
                guard let notify = state.notify else { return nil }
                queueing(element, &state.unread)
                defer { state.isNotified = true }
                return state.isNotified ? nil : notify
            }
            notify?(self)
        }

        func next() -> Element? {
            state.withLock { state in
                if !state.unread.isEmpty { return state.unread.removeFirst() }
                state.isNotified = false
                return nil
            }
        }

        /// Drops what is unread and all that follows, and releases what a closure holds.
        func end() {
            _ = state.withLock { state in
                defer { (state.unread, state.notify) = ([], nil) }
                return state.notify
            }
        }
    }

    private struct State {
        var receivers: [(number: Int, receiver: Receiver)] = []
        var count = 0
        var isFinished = false
    }

    private let onChange: @Sendable () -> Void
    private let state = Mutex(State())

    /// Makes a broadcast without receivers.
    ///
    /// - Parameter onChange: called after the first receiver has come, and after the last one has gone. It must look at
    ///   ``isEmpty`` itself, because either of two concurrent calls may come last.
    package init(onChange: @escaping @Sendable () -> Void = {}) { self.onChange = onChange }

    package var isEmpty: Bool { state.withLock { $0.receivers.isEmpty } }

    package func send(_ element: Element) {
        for (_, receiver) in state.withLock({ $0.receivers }) { receiver.add(element) }
    }

    /// Calls `handle` for each element, one call at a time.
    ///
    /// - Parameters:
    ///   - queueing: what is kept while the receiver is busy, or is not called.
    ///   - schedule: runs its argument where the receiver wants to be called, and returns at once.
    /// - Returns: ends the calls. It waits for nothing, and only a call that has begun runs to its end.
    package func receive(
        keeping queueing: @escaping Queueing = Broadcast.newest(16),
        schedule: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void = { $0() },
        handle: @escaping @Sendable (Element) -> Void
    ) -> @Sendable () -> Void {
        let receiver = Receiver(queueing) { receiver in
            schedule { while let element = receiver.next() { handle(element) } }
        }
        let number = add(receiver)
        return { [weak self] in
            receiver.end()
            if let number { self?.remove(number) }
        }
    }

    /// A stream of the elements from now on. It ends with its reader, its owner and this object.
    ///
    /// - Parameter owner: the client that gives the stream out.
    package func stream(
        keeping queueing: @escaping Queueing = Broadcast.newest(1), owner: WorkOwner? = nil
    ) -> AsyncStream<Element> {
        let (signals, continuation) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let receiver = Receiver(queueing, owner: owner, finish: { continuation.finish() }) { _ in continuation.yield() }
        if let number = add(receiver) {
            continuation.onTermination = { [weak self] _ in self?.remove(number) }
        } else {
            continuation.finish()
        }
        return AsyncStream {
            if let element = receiver.next() { return element }
            for await _ in signals { if let element = receiver.next() { return element } }
            return nil
        }
    }

    /// - Returns: `nil` if the receiver is a stream that has already ended.
    private func add(_ receiver: Receiver) -> Int? {
        let number: Int? = state.withLock { state in
            // This is checked under the lock that `finish` takes, so that one which comes later finds the stream.
            if receiver.finish != nil, state.isFinished || receiver.owner?.isShutDown == true { return nil }
            state.count += 1
            state.receivers.append((state.count, receiver))
            return state.count
        }
        if number != nil { onChange() }
        return number
    }

    private func remove(_ number: Int) {
        state.withLock { $0.receivers.removeAll { $0.number == number } }
        onChange()
    }

    /// Ends the streams of an owner, or all streams, present and future.
    ///
    /// - Parameter closures: whether closures that were added until now are not called any more either.
    package func finish(_ owner: WorkOwner? = nil, closures: Bool = false) {
        let ended = state.withLock { state in
            if owner == nil { state.isFinished = true }
            func ends(_ receiver: Receiver) -> Bool {
                receiver.finish == nil ? closures : owner == nil || receiver.owner === owner
            }
            defer { state.receivers.removeAll { ends($0.receiver) } }
            return state.receivers.map(\.receiver).filter(ends)
        }
        for receiver in ended { if let finish = receiver.finish { finish() } else { receiver.end() } }
        if !ended.isEmpty { onChange() }
    }

    deinit { finish() }

    /// Keeps only this many of the newest elements.
    package static func newest(_ most: Int) -> Queueing {
        { element, unread in
            unread.append(element)
            if unread.count > most { unread.removeFirst() }
        }
    }
}

/// A registration that lasts until it is released.
package final class Subscription: Sendable {
    private let end: @Sendable () -> Void

    package init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
