import RemoteSettingsModel
import Testing

@testable import Dumps

@Suite struct SharedMemoryTests {
    private struct Failure: Error {}

    @Test func sharedMemoryLendsNoMoreThanItsLimit() async {
        let memory = SharedMemory(bytes: 10)
        let used = Occupancy()
        await withTaskGroup { group in
            for bytes in [3, 10, 1, 4, 7, 2, 10, 5] {
                group.addTask {
                    try? await memory.lend(bytes) {
                        await used.visit(bytes)
                        // A body that throws returns its memory, too.
                        if bytes % 2 == 0 { throw Failure() }
                    }
                }
            }
        }
        #expect(used.most <= 10 && used.now == 0)
        // All memory is available again.
        await memory.lend(10) {}
    }
}
