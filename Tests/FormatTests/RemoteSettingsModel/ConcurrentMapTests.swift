import RemoteSettingsModel
import Testing

struct ConcurrentMapTests {
    private struct Failure: Error, Equatable {
        let element: Int
    }

    /// Counts the running calls, the most that ran at once, and all that began.
    private final class Gauge: Sendable {
        private let state = Mutex((running: 0, most: 0, begun: 0))

        var most: Int { state.withLock { $0.most } }
        var begun: Int { state.withLock { $0.begun } }

        func enter() {
            state.withLock { state in
                state.running += 1
                state.begun += 1
                state.most = max(state.most, state.running)
            }
        }

        func leave() { state.withLock { $0.running -= 1 } }
    }

    @Test(arguments: [0, 1, 3, 100]) func concurrentMapKeepsOrderAndWidth(width: Int) async {
        let gauge = Gauge()
        let doubled = await (0..<50).concurrentMap(width: width) { element in
            gauge.enter()
            for _ in 0..<(element % 7) { await Task.yield() }
            gauge.leave()
            return element * 2
        }
        #expect(doubled == (0..<50).map { $0 * 2 })
        #expect(gauge.most <= max(width, 1))
        #expect(gauge.begun == 50)
    }

    @Test func concurrentMapOfNothing() async {
        let none = await [Int]().concurrentMap { $0 }
        #expect(none.isEmpty)
    }

    @Test func failureStopsConcurrentMap() async {
        let gauge = Gauge()
        await #expect(throws: Failure(element: 3)) {
            try await (0..<1000).concurrentMap(width: 2) { element async throws(Failure) -> Int in
                gauge.enter()
                defer { gauge.leave() }
                guard element != 3 else { throw Failure(element: element) }
                return element
            }
        }
        // The scheduler determines how many calls begin before the failure is noticed; most never begin.
        #expect(gauge.begun < 500)
    }
}
