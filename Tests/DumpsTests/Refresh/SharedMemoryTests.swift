import RemoteSettingsModel
import Testing

@testable import Dumps

@Suite struct SharedMemoryTests {
    private struct Failure: Error {}

    private final class Used: Sendable {
        let bytes = Mutex((now: 0, most: 0))
    }

    @Test func sharedMemoryLendsNoMoreThanItsLimit() async {
        let memory = SharedMemory(bytes: 10)
        let used = Used()
        await withTaskGroup { group in
            for bytes in [3, 10, 1, 4, 7, 2, 10, 5] {
                group.addTask {
                    try? await memory.lend(bytes) {
                        used.bytes.withLock { used in
                            used.now += bytes
                            used.most = max(used.most, used.now)
                        }
                        for _ in 0..<20 { await Task.yield() }
                        used.bytes.withLock { $0.now -= bytes }
                        // What fails gives back, too.
                        if bytes % 2 == 0 { throw Failure() }
                    }
                }
            }
        }
        #expect(used.bytes.withLock { $0.most } <= 10)
        #expect(used.bytes.withLock { $0.now } == 0)
        // All is there again.
        await memory.lend(10) {}
    }
}
