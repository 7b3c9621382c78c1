import FaultyServer
import Foundation
import RemoteSettingsModel
import Testing

@testable import RemoteSettingsHTTP

@Suite("Answers without an end, over a real connection")
struct EndlessConnectionTests {
    /// An environment whose uptime grows with every look at it.
    private static func growingUptime(by step: Duration) -> HTTPEnvironment {
        let uptime = Counter()
        return HTTPEnvironment(
            now: HTTPEnvironment.system.now, sleep: { _ in }, random: { 0 }, uptime: { step * uptime.next() })
    }

    private final class Counter: Sendable {
        private let count = Mutex(0)

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    /// A gzip stream of empty blocks, 5 kB on the wire, yields nothing.
    @Test func emptyBlocksOfGzip() async throws {
        let server = try FaultyServer()
        let head = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nConnection: close\r\n\r\n"
        let blocks = repeatElement([0, 0, 0, 0xFF, 0xFF] as [UInt8], count: 1000).joined()
        let answer = Data(head.utf8) + [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3] + blocks
        let fault =
            "raw/"
            + answer.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
        let limits = oneTry {
            $0.rootDocumentBytes = 1000
            $0.wireExcessBytes = 2000
        }
        let client = try server.client(fault, limits: limits)
        #expect(await reason { try await client.rootDocument() } == .tooLargeOnTheWire(limit: 3000))
    }

    @Test func anAnswerHasItsTime() async throws {
        let server = try FaultyServer()
        let limits = oneTry {
            $0.rootDocumentBytes = .max
            $0.leastBytesPerSecond = 0
        }
        let client = try server.client("endless", limits: limits, environment: Self.growingUptime(by: .seconds(100)))
        #expect(await reason { try await client.rootDocument() } == .timeout(.answer, seconds: 600))
    }

    @Test func anAnswerHasItsThroughput() async throws {
        let server = try FaultyServer()
        let limits = oneTry {
            $0.rootDocumentBytes = .max
            $0.leastBytesPerSecond = 1 << 20
        }
        let client = try server.client("endless", limits: limits, environment: Self.growingUptime(by: .seconds(61)))
        #expect(
            await reason { try await client.rootDocument() }
                == .tooSlow(leastBytesPerSecond: 1 << 20, seconds: 60))
    }
}
