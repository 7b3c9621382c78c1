import Foundation
import RemoteSettingsHTTP
import RemoteSettingsModel
import Testing

/// Counts the current, the highest and the total usage.
final class Occupancy: Sendable {
    private let counts = Mutex((now: 0, most: 0, all: 0))

    var now: Int { counts.withLock { $0.now } }
    var most: Int { counts.withLock { $0.most } }
    var all: Int { counts.withLock { $0.all } }

    func visit(_ amount: Int = 1) async {
        counts.withLock {
            $0.now += amount
            $0.all += amount
            $0.most = max($0.most, $0.now)
        }
        for _ in 0..<20 { await Task.yield() }
        counts.withLock { $0.now -= amount }
    }
}

struct RequestGateTests {
    private struct Refused: Error {}

    private let plain: HTTPURL
    private let other: HTTPURL

    init() throws {
        plain = try HTTPURL("https://plain.example/v1")
        other = try HTTPURL("https://other.example/v1")
    }

    private static func gate(
        connections: Int, streams: Int = 1, multiplexed: @escaping @Sendable (HTTPURL) -> Bool = { _ in false }
    ) -> RequestGate {
        RequestGate(connections: connections, streams: streams, isMultiplexed: multiplexed)
    }

    /// Each kind of origin has a separate limit on concurrent requests.
    @Test func requestGateLimitsParallelRequests() async {
        let gate = Self.gate(connections: 2, streams: 7) { [other] in $0 == other }
        let (few, many) = (Occupancy(), Occupancy())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<30 {
                group.addTask { await gate.pass(to: plain) { await few.visit() } }
                group.addTask { await gate.pass(to: other) { await many.visit() } }
            }
        }
        #expect((few.all, many.all) == (30, 30))
        #expect((1...2).contains(few.most))
        #expect((3...7).contains(many.most))
    }

    /// The first response reveals the protocol; then all waiting requests are let through together.
    @Test func requestGateWidensOnceProtocolIsKnown() async {
        let room = Occupancy()
        let gate = Self.gate(connections: 1, streams: 20) { _ in room.all > 0 }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<20 { group.addTask { await gate.pass(to: plain) { await room.visit() } } }
        }
        #expect(room.all == 20)
        #expect(room.most > 1)
    }

    /// A body that throws frees its slot.
    @Test func requestGateFreesPlaceAfterError() async {
        let gate = Self.gate(connections: 1)
        for _ in 0..<3 {
            await #expect(throws: Refused.self) { try await gate.pass(to: plain) { throw Refused() } }
        }
        #expect(await gate.pass(to: plain) { 7 } == 7)
    }

    private final class Door: Sendable {
        private let isOpen = Mutex(false)
        private let passed = Mutex<[Int]>([])

        var order: [Int] { passed.withLock { $0 } }

        func open() { isOpen.withLock { $0 = true } }
        func opened() async { while !isOpen.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) } }
        func pass(_ number: Int) { passed.withLock { $0.append(number) } }
    }

    @Test func requestGateIsFirstInFirstOut() async throws {
        let gate = Self.gate(connections: 1)
        let door = Door()
        var tasks = [Task { await gate.pass(to: plain) { await door.opened() } }]
        for number in 0..<5 {
            // Long enough for each task to reach the gate before the next one starts.
            try await Task.sleep(for: .milliseconds(20))
            tasks.append(Task { await gate.pass(to: plain) { door.pass(number) } })
        }
        try await Task.sleep(for: .milliseconds(20))
        door.open()
        for task in tasks { await task.value }
        #expect(door.order == [0, 1, 2, 3, 4])
    }
}

struct BackoffFileTests {
    private let path = FileManager.default.temporaryDirectory.appending(path: "backoff-\(UUID().uuidString).json").path
    private let now = Timestamp(milliseconds: 1_800_000_000_000)

    private func state(_ seconds: [String: Int]) -> BackoffState {
        BackoffState(seconds.map { .init(origin: $0.key, until: now.advanced(by: .seconds($0.value))) })
    }

    @Test func backoffFileKeepsActiveHolds() throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try BackoffFile.write(state(["https://a": 60, "https://b:81": 1, "https://past": -1]), to: path, now: now)
        #expect(BackoffFile.read(path) == state(["https://a": 60, "https://b:81": 1]))
        // When all backoffs have expired, the file is removed.
        try BackoffFile.write(state(["https://a": 60]), to: path, now: now.advanced(by: .seconds(61)))
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(BackoffFile.read(path) == BackoffState())
    }

    @Test(arguments: ["", "[]", "{", #"{"https://a":"soon"}"#, #"{"https://a":-5}"#, "\u{0}"])
    func unreadableBackoffFileIsIgnored(_ text: String) throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        #expect(BackoffFile.read(path) == BackoffState())
    }
}
