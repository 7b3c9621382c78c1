import RemoteSettings
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// An error for a test's expectation that was not met. XCTest and Swift Testing both show a thrown error's description.
public struct UnmetExpectation: Error, Hashable, Sendable, CustomStringConvertible {
    /// The expected and the actual result, as a sentence.
    public let description: String

    /// Creates an error.
    ///
    /// - Parameter description: the expected and the actual result, as a sentence.
    public init(_ description: String) { self.description = description }
}

extension UnmetExpectation: LocalizedError {
    /// The description of the error, for `LocalizedError`.
    public var errorDescription: String? { description }
}

extension RemoteSettingsClient {
    /// Checks that the records that match this app's context have exactly these ids, in any order. Never uses the
    /// network.
    ///
    /// - Throws: ``UnmetExpectation`` with the missing records and the unexpected ones.
    public func expectRecords(_ ids: [String]) throws {
        guard let found = records?.map(\.id) else {
            let reasons = status.unused.map { "; \($0)" } + [status.recentFailure.map { "; \($0.error)" } ?? ""]
            throw UnmetExpectation(
                "\(status.collection): expected the records \(Self.list(ids)), but the collection has no state"
                    + reasons.joined())
        }
        let (missing, others) = (Set(ids).subtracting(found), Set(found).subtracting(ids))
        guard missing.isEmpty, others.isEmpty else {
            let problems = [("missing", missing), ("unexpected", others)].filter { !$0.1.isEmpty }
            throw UnmetExpectation(
                "\(status.collection): expected the records \(Self.list(ids)), found \(Self.list(found)); "
                    + problems.map { "\($0): \(Self.list($1.sorted()))" }.joined(separator: "; "))
        }
    }

    /// Checks that a record has these values in these fields. Never uses the network.
    ///
    /// - Throws: ``UnmetExpectation`` if there is no such record, or for the first field that differs.
    public func expectRecord(_ id: String, _ fields: [String: RemoteSettingsJSON] = [:]) throws {
        guard let record = records?.first(where: { $0.id == id }) else {
            throw UnmetExpectation(
                "\(status.collection): expected the record \(id), found \(Self.list(records?.map(\.id) ?? []))")
        }
        for (field, expected) in fields.sorted(by: { $0.key < $1.key }) where record[field: field] != expected {
            let found = record[field: field].map(Self.text) ?? "no such field"
            throw UnmetExpectation(
                "\(status.collection): record \(id): expected \(Self.text(expected)) in \(field), found \(found)")
        }
    }

    /// Checks that `work` changes the collection, and waits for the first change in ``changes()``.
    ///
    /// - Parameters:
    ///   - timeout: the longest wait after `work` has finished.
    ///   - isolation: the caller's isolation, in which `work` runs.
    ///   - work: a closure that changes the collection, for example by a write to the server and a sync.
    /// - Returns: the change.
    /// - Throws: ``UnmetExpectation`` if there is no change, and the errors of `work`.
    @discardableResult
    public func expectChange(
        within timeout: Duration = .seconds(5), isolation: isolated (any Actor)? = #isolation,
        by work: () async throws -> Void
    ) async throws -> RecordChanges {
        let stream = changes()
        try await work()
        let change = await withTaskGroup(of: RecordChanges?.self) { group in
            group.addTask { await stream.first { _ in true } }
            group.addTask {
                try? await Task.sleep(for: timeout)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next() ?? nil
        }
        guard let change else { throw UnmetExpectation("\(status.collection): no change within \(timeout)") }
        return change
    }

    private static func text(_ value: JSONValue) -> String { String(decoding: JSONText.compact(value), as: UTF8.self) }

    private static func list(_ ids: [String]) -> String { ids.isEmpty ? "(none)" : ids.joined(separator: ", ") }
}

extension OriginTransport {
    /// Checks that exactly `count` requests are sent to the server while `work` runs.
    ///
    /// - Parameters:
    ///   - count: the number of requests.
    ///   - text: a part of the path and query of the requests to count; `nil` to count all requests.
    ///   - isolation: the caller's isolation, in which `work` runs.
    ///   - work: the code that may send requests.
    /// - Returns: the result of `work`.
    /// - Throws: ``UnmetExpectation`` with the list of requests, and the errors of `work`.
    @discardableResult
    public func expectRequests<Value>(
        _ count: Int, to text: String? = nil, isolation: isolated (any Actor)? = #isolation,
        during work: () async throws -> Value
    ) async throws -> Value {
        let before = requests.count
        let value = try await work()
        let made = requests.dropFirst(before).map(\.path).filter { path in text.map { path.contains($0) } ?? true }
        guard made.count == count else {
            throw UnmetExpectation(
                "expected \(Counted.text(count, "request")), found \(made.count):\n" + made.joined(separator: "\n"))
        }
        return value
    }
}

/// Waits for a condition to become true, checking it every five milliseconds.
///
/// - Parameters:
///   - what: a description of the condition, for the error.
///   - timeout: the longest wait.
///   - isolation: the caller's isolation, in which `condition` is checked.
///   - condition: the condition to check.
/// - Throws: ``UnmetExpectation`` if the condition does not become true in time, and the errors of `condition`.
public func expectSoon(
    _ what: String, within timeout: Duration = .seconds(5), isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + timeout
    while try await !condition() {
        guard ContinuousClock.now < end else { throw UnmetExpectation("\(what): did not happen within \(timeout)") }
        try await Task.sleep(for: .milliseconds(5))
    }
}
