import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Shows a refresh's progress on standard error: live bars on a terminal, plain lines elsewhere.
final class Progress: Sendable {
    fileprivate struct Bar {
        var id: CollectionID
        var stage = "contacting the server"
        var files = 0
        var filesDone = 0
        var bytes: UInt64 = 0
        var bytesDone: UInt64 = 0
    }

    fileprivate struct State {
        var total = 0
        var done = 0
        var bars: [Bar] = []
        var received: UInt64 = 0
        var drawnLines = 0
        var drawnAt: ContinuousClock.Instant?
        /// The origins whose backoff was already shown. Each response repeats it.
        var heldOrigins: Set<String> = []
        let start = ContinuousClock.now
    }

    private let isLive = Console.errorIsTerminal
    private let state = Mutex(State())

    func show(_ event: RefreshEvent) {
        if case .http(let event) = event { return show(event) }
        state.withLock { state in
            if let line = update(&state, with: event), !isLive { Console.error(line) }
            if isLive { draw(&state) }
        }
    }

    /// Removes the bars.
    func finish() {
        guard isLive else { return }
        state.withLock { state in
            Console.write(Array(Self.clearing(state.drawnLines).utf8), to: 2)
            state.drawnLines = 0
        }
    }

    private func show(_ event: HTTPEvent) {
        let line: String? =
            switch event {
            case .alert(let text, let url): "warning: alert from \(url): \(text)"
            case .hold(let hold):
                state.withLock { $0.heldOrigins.insert(hold.origin).inserted }
                    ? "warning: \(hold.origin) asked clients to wait until \(hold.until.rfc3339)" : nil
            case .retry(let error, let attempt, _): "attempt \(attempt) failed: \(error)"
            case .wholeFile(let error): "\(error); downloading the whole file instead"
            case .redirect: nil
            }
        guard let line else { return }
        state.withLock { state in
            if isLive {
                Console.write(Array(Self.clearing(state.drawnLines).utf8), to: 2)
                state.drawnLines = 0
            }
            Console.error(Console.visible(line))
        }
    }

    /// Updates the state for an event.
    ///
    /// - Returns: the line to print when no bars are drawn.
    private func update(_ state: inout State, with event: RefreshEvent) -> String? {
        switch event {
        case .planned(let plan):
            state.total = plan.count
            let stale = plan.count { $0.action.needsWork }
            return stale == 0 ? nil : "\(stale) of \(Counted.text(plan.count, "collection")) to refresh"
        case .began(let id): state.bars.append(Bar(id: id))
        case .downloading(let id, let files, let bytes):
            state.change(id) { bar in
                bar.stage = "downloading"
                bar.files = files
                bar.bytes = bytes
            }
            return "\(id): downloading \(Counted.text(files, "attachment")), \(ByteSize.text(bytes))"
        case .received(let id, let bytes):
            state.received += UInt64(bytes)
            state.change(id) { $0.bytesDone += UInt64(bytes) }
        case .downloaded(let id): state.change(id) { $0.filesDone += 1 }
        case .packing(let id): state.change(id) { $0.stage = "packing" }
        case .finished(let outcome):
            state.done += 1
            state.bars.removeAll { $0.id == outcome.id }
            guard outcome.status != .unchanged, outcome.status != .pinned else { return nil }
            return "\(outcome.id): \(outcome.status.rawValue)"
        case .http: break
        }
        return nil
    }

    private func draw(_ state: inout State) {
        let now = ContinuousClock.now
        if let last = state.drawnAt, now - last < .milliseconds(80) { return }
        state.drawnAt = now
        let width = max(20, Console.width - 1)
        var lines = state.bars.prefix(12).map { Self.line($0, width: width) }
        if state.bars.count > 12 { lines.append("… \(state.bars.count - 12) more") }
        lines.append(Self.total(state, now: now))
        let text = Self.clearing(state.drawnLines) + lines.map { String($0.prefix(width)) + "\n" }.joined()
        Console.write(Array(text.utf8), to: 2)
        state.drawnLines = lines.count
    }

    private static func line(_ bar: Bar, width: Int) -> String {
        let name = "\(bar.id)".padded(to: 36)
        guard bar.files > 0, bar.stage == "downloading" else { return "\(name) \(bar.stage)" }
        return "\(name) \(gauge(bar.bytesDone, of: bar.bytes)) \(bar.filesDone)/\(Counted.text(bar.files, "file")), "
            + "\(ByteSize.text(bar.bytesDone)) of \(ByteSize.text(bar.bytes))"
    }

    private static func total(_ state: State, now: ContinuousClock.Instant) -> String {
        let elapsed = now - state.start
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let rate = seconds > 0.2 ? UInt64(Double(state.received) / seconds) : 0
        let left = state.bars.reduce(UInt64(0)) { $0 + ($1.bytes > $1.bytesDone ? $1.bytes - $1.bytesDone : 0) }
        var text =
            "\("all collections".padded(to: 36)) \(gauge(UInt64(state.done), of: UInt64(state.total))) "
            + "\(state.done)/\(state.total), \(ByteSize.text(state.received))"
        if rate > 0 {
            text += ", \(ByteSize.text(rate))/s"
            if left > 0 { text += ", \(left / max(rate, 1)) s left" }
        }
        return text
    }

    private static func gauge(_ done: UInt64, of total: UInt64) -> String {
        let cells = total == 0 ? 0 : Int(min(20, done.multipliedReportingOverflow(by: 20).partialValue / total))
        return "[" + String(repeating: "#", count: cells) + String(repeating: " ", count: 20 - cells) + "]"
    }

    private static func clearing(_ lines: Int) -> String {
        lines == 0 ? "" : "\u{1B}[\(lines)A\u{1B}[0J"
    }
}

extension Progress.State {
    fileprivate mutating func change(_ id: CollectionID, _ body: (inout Progress.Bar) -> Void) {
        guard let index = bars.firstIndex(where: { $0.id == id }) else { return }
        body(&bars[index])
    }
}
