import RemoteSettingsModel

/// A sender of elements to any number of streams and closures, which can be added and removed at any time. Each
/// receiver gets the elements in order and at its own speed.
package final class Broadcast<Element: Sendable>: Sendable {
    /// A function that adds an element to a receiver's unread elements, and limits their number.
    package typealias Queueing = @Sendable (_ element: Element, _ unread: inout [Element]) -> Void

    private final class Receiver: Sendable {
        private struct State {
            var unread: [Element] = []
            /// Whether the receiver was notified and has not yet found the queue empty.
            var isNotified = false
            /// Notifies the receiver of unread elements; `nil` once the receiver is removed.
            var notify: (@Sendable (Receiver) -> Void)?
        }

        let owner: WorkOwner?
        /// Finishes the stream; `nil` for a closure.
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

        /// Discards all unread and future elements, and releases the objects that a closure retains.
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

    /// Creates a broadcast without receivers.
    ///
    /// - Parameter onChange: a closure that is called after the first receiver was added, and after the last one was
    ///   removed. It must check ``isEmpty`` itself, because concurrent calls may arrive in either order.
    package init(onChange: @escaping @Sendable () -> Void = {}) { self.onChange = onChange }

    package var isEmpty: Bool { state.withLock { $0.receivers.isEmpty } }

    package func send(_ element: Element) {
        for (_, receiver) in state.withLock({ $0.receivers }) { receiver.add(element) }
    }

    /// Adds a closure that is called for each element, one call at a time.
    ///
    /// - Parameters:
    ///   - queueing: selects the elements to keep until the receiver handles them.
    ///   - schedule: runs its argument where the receiver should be called, for example on a queue, and returns at
    ///     once.
    /// - Returns: a closure that removes the receiver. It does not wait: a call that has started may still be running.
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

    /// Returns a stream of the elements from now on. It finishes when the reading task is cancelled, or when its owner
    /// or this object is shut down.
    ///
    /// - Parameter owner: the client that returns the stream to the app.
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

    /// Adds a receiver and returns its number.
    ///
    /// - Returns: `nil` if the receiver is a stream that must finish at once.
    private func add(_ receiver: Receiver) -> Int? {
        let number: Int? = state.withLock { state in
            // This check is under the lock that `finish` acquires, so a later `finish` is certain to find the stream.
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

    /// Finishes the streams of an owner, or all current and future streams.
    ///
    /// - Parameter closures: whether to remove the closures that have been added so far as well.
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

    /// Returns a queueing function that keeps only this many of the newest elements.
    package static func newest(_ most: Int) -> Queueing {
        { element, unread in
            unread.append(element)
            if unread.count > most { unread.removeFirst() }
        }
    }
}

/// A registration that is removed when this object is released.
package final class Subscription: Sendable {
    private let end: @Sendable () -> Void

    package init(end: @escaping @Sendable () -> Void) { self.end = end }

    deinit { end() }
}
