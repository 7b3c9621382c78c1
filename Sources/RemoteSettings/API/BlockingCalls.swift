import Dispatch
import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

// The calls that may use the network, for call sites that are not asynchronous, as those of Mozilla's binding are. They block
// the calling thread for as long as the network takes, minutes where the server hangs: call them on a queue or thread of the
// app's own, never on the main thread. The compiler refuses them in asynchronous code, where the call of the same name with
// `await` is meant.

extension RemoteSettingsService {
    /// Like the asynchronous `sync()`, but blocks the calling thread until the sync has ended. Not for the main thread.
    @available(*, noasync, message: "use 'await sync()'")
    @discardableResult
    public func sync() throws(RemoteSettingsError) -> [String] {
        try blocking { () async throws(RemoteSettingsError) in try await self.sync() }
    }
}

extension RemoteSettingsClient {
    /// Like the asynchronous `sync()`, but blocks the calling thread until the sync has ended. Not for the main thread.
    @available(*, noasync, message: "use 'await sync()'")
    public func sync() throws(RemoteSettingsError) {
        try blocking { () async throws(RemoteSettingsError) in try await self.sync() }
    }

    /// Like the asynchronous call of the same name, but blocks the calling thread while it syncs. Not for the main thread.
    @available(*, noasync, message: "use 'await getRecords(syncIfEmpty:)'")
    public func getRecords(syncIfEmpty: Bool) -> [RemoteSettingsRecord]? {
        getRecords() ?? (syncIfEmpty ? blocking { await self.getRecords(syncIfEmpty: true) } : nil)
    }

    /// Like the asynchronous call of the same name, but blocks the calling thread while it syncs. Not for the main thread.
    @available(*, noasync, message: "use 'await getRecordsMap(syncIfEmpty:)'")
    public func getRecordsMap(syncIfEmpty: Bool) -> [String: RemoteSettingsRecord]? {
        getRecordsMap() ?? (syncIfEmpty ? blocking { await self.getRecordsMap(syncIfEmpty: true) } : nil)
    }

    /// Like the asynchronous call of the same name, but blocks the calling thread while it downloads. Not for the main
    /// thread.
    @available(*, noasync, message: "use 'await getAttachment(record:)'")
    public func getAttachment(record: RemoteSettingsRecord) throws(RemoteSettingsError) -> Data {
        try blocking { () async throws(RemoteSettingsError) in try await self.getAttachment(record: record) }
    }
}

// The same for a service or client that is known by its protocol only. The parameter without a name is never given: it keeps
// these calls from being a stand-in's implementation of the asynchronous ones, which they call.

extension RemoteSettingsServiceProtocol {
    /// Like the asynchronous `sync()`, but blocks the calling thread until the sync has ended. Not for the main thread.
    @available(*, noasync, message: "use 'await sync()'")
    @discardableResult
    public func sync(_: Void = ()) throws(RemoteSettingsError) -> [String] {
        try blocking { () async throws(RemoteSettingsError) in try await self.sync() }
    }
}

extension RemoteSettingsClientProtocol {
    /// Like the asynchronous `sync()`, but blocks the calling thread until the sync has ended. Not for the main thread.
    @available(*, noasync, message: "use 'await sync()'")
    public func sync(_: Void = ()) throws(RemoteSettingsError) {
        try blocking { () async throws(RemoteSettingsError) in try await self.sync() }
    }

    /// Like the asynchronous call of the same name, but blocks the calling thread while it syncs. Not for the main thread.
    @available(*, noasync, message: "use 'await getRecords(syncIfEmpty:)'")
    public func getRecords(syncIfEmpty: Bool, _: Void = ()) -> [RemoteSettingsRecord]? {
        getRecords() ?? (syncIfEmpty ? blocking { await self.getRecords(syncIfEmpty: true) } : nil)
    }

    /// Like the asynchronous call of the same name, but blocks the calling thread while it syncs. Not for the main thread.
    @available(*, noasync, message: "use 'await getRecordsMap(syncIfEmpty:)'")
    public func getRecordsMap(syncIfEmpty: Bool, _: Void = ()) -> [String: RemoteSettingsRecord]? {
        getRecordsMap() ?? (syncIfEmpty ? blocking { await self.getRecordsMap(syncIfEmpty: true) } : nil)
    }

    /// Like the asynchronous call of the same name, but blocks the calling thread while it downloads. Not for the main
    /// thread.
    @available(*, noasync, message: "use 'await getAttachment(record:)'")
    public func getAttachment(record: RemoteSettingsRecord, _: Void = ()) throws(RemoteSettingsError) -> Data {
        try blocking { () async throws(RemoteSettingsError) in try await self.getAttachment(record: record) }
    }
}

/// Runs `body` to its end while the calling thread waits.
private func blocking<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () async throws(Failure) -> Value
) throws(Failure) -> Value {
    let outcome = BlockingOutcome<Value, Failure>()
    Task {
        do throws(Failure) {
            let value = try await body()
            outcome.result.withLock { $0 = .success(value) }
        } catch {
            outcome.result.withLock { $0 = .failure(error) }
        }
        outcome.isThere.signal()
    }
    while true {
        outcome.isThere.wait()
        if let result = outcome.result.withLock({ $0 }) { return try result.get() }
    }
}

private final class BlockingOutcome<Value: Sendable, Failure: Error>: Sendable {
    let result = Mutex<Result<Value, Failure>?>(nil)
    let isThere = DispatchSemaphore(value: 0)
}
