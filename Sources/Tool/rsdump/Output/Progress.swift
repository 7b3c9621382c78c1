import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Shows a refresh's progress on standard error: live bars on a terminal, plain lines elsewhere.
final class Progress: Sendable {
    private struct State {
        var progress = RefreshProgress()
        var drawnLines = 0
        /// The origins whose backoff was already shown. Each response repeats it.
        var heldOrigins: Set<String> = []
    }

    private let isLive = Console.errorIsTerminal
    private let start = ContinuousClock.now
    private let state = Mutex(State())

    func show(_ event: RefreshEvent) {
        if case .http(let event) = event { return show(event) }
        state.withLock { state in
            if let line = state.progress.update(event), !isLive { Console.error(line) }
        }
    }

    /// Draws the bars until the task is cancelled, and then removes them.
    ///
    /// - Parameter received: returns the number of bytes received so far.
    func draw(received: () -> Int) async {
        guard isLive else { return }
        while (try? await Task.sleep(for: .milliseconds(100))) != nil {
            let bytes = received()
            state.withLock { draw(&$0, received: bytes) }
        }
        state.withLock { clear(&$0) }
    }

    private func show(_ event: HTTPEvent) {
        let line: String? =
            switch event {
            case .alert(let text, let url): "warning: alert from \(url): \(text)"
            case .hold(let hold):
                state.withLock { $0.heldOrigins.insert(hold.origin).inserted }
                    ? "warning: \(hold.origin) asked clients to wait until \(hold.until.rfc3339)" : nil
            case .retry(let error, let attempt, _): "attempt \(attempt) failed: \(error.problem)"
            case .wholeFile(let error): "\(error); downloading the whole file instead"
            case .redirect: nil
            }
        guard let line else { return }
        state.withLock { state in
            clear(&state)
            Console.error(Console.visible(line))
        }
    }

    private func draw(_ state: inout State, received: Int) {
        let width = max(20, Console.width - 1)
        let lines = state.progress.lines(received: received, at: ContinuousClock.now - start)
        let text = Self.clearing(state.drawnLines) + lines.map { String($0.prefix(width)) + "\n" }.joined()
        Console.write(Array(text.utf8), to: 2)
        state.drawnLines = lines.count
    }

    private func clear(_ state: inout State) {
        Console.write(Array(Self.clearing(state.drawnLines).utf8), to: 2)
        state.drawnLines = 0
    }

    private static func clearing(_ lines: Int) -> String {
        lines == 0 ? "" : "\u{1B}[\(lines)A\u{1B}[0J"
    }
}
