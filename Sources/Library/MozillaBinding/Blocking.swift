import Dispatch
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Runs `body` to completion while the calling thread waits. The body never needs the calling thread.
///
/// Before iOS 18 and macOS 15, the body needs a thread of Swift's concurrency pool. If waiting tasks blocked all these
/// threads, they would wait forever, so a call on such a thread stops the program.
func blocking<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () async throws(Failure) -> Value
) throws(Failure) -> Value {
    guard WorkThreads.areAvailable || !isOnThreadOfPool else {
        fatalError(
            "a blocking call of RemoteSettingsBlocking was made in a task, which can deadlock the app on systems older "
                + "than iOS 18 and macOS 15; call it on a dispatch queue, or await the same call of `asynchronous`")
    }
    let outcome = BlockingOutcome<Value, Failure>()
    WorkThreads.start {
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

/// Runs `body` to completion while the calling thread waits, and converts its error to the type of Mozilla's binding.
func blockingCall<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(RemoteSettings.RemoteSettingsError) -> Value
) throws(RemoteSettingsError) -> Value {
    do throws(RemoteSettings.RemoteSettingsError) {
        return try blocking(body)
    } catch {
        throw RemoteSettingsError(error)
    }
}

/// Whether the current code runs in a task that is not on the main thread.
private var isOnThreadOfPool: Bool {
    #if canImport(Darwin)
    if pthread_main_np() != 0 { return false }
    #endif
    return unsafe withUnsafeCurrentTask { unsafe $0 != nil }
}

private final class BlockingOutcome<Value: Sendable, Failure: Error>: Sendable {
    let result = Mutex<Result<Value, Failure>?>(nil)
    let isThere = DispatchSemaphore(value: 0)
}
