import RemoteSettingsModel
import SnapshotBundle
import Testing
@testable import RemoteSettings

/// Limits of a cache file's first line, which is unsigned and read each time an app starts.
struct CacheFileTests {
    private let id: CollectionID

    init() throws {
        id = try CollectionID("main/markets")
    }

    private func refusal(_ line: String) throws -> Failure? {
        do throws(Failure) {
            _ = try CacheFile(parsing: Bytes(utf8: line + "\npayload"), of: id, path: "cache")
            return nil
        } catch {
            return error
        }
    }

    private let good =
        #"{"format":1,"collection":"main/markets","server":"s","timestamp":1,"highWaterMark":1,"payloadBytes":7,"metadata":"{}"}"#

    @Test func cacheFileFirstLineHasByteLimit() throws {
        #expect(try refusal(good) == nil)
        let padding = String(repeating: " ", count: (4 << 20) - good.utf8.count - 1)
        #expect(try refusal(padding + good) == nil)
        #expect(try refusal(padding + " " + good)?.problem.contains("4194304 bytes") == true)
    }

    @Test func cacheFileFirstLineHasValueLimit() throws {
        let values = Array(repeating: "[]", count: 100_000).joined(separator: ",")
        let problem = try refusal(String(good.dropLast()) + ",\"more\":[\(values)]}")?.problem
        #expect(problem?.contains("values") == true, "\(problem ?? "accepted")")
    }
}
