import Dispatch
import RemoteSettings
import RemoteSettingsHTTP
import RemoteSettingsModel

/// Runs `body` to its end while the calling thread waits. The body never needs the calling thread.
func blocking<Value: Sendable, Failure: Error>(
    _ body: @escaping @Sendable () async throws(Failure) -> Value
) throws(Failure) -> Value {
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
        WorkThreads.shared.whileBlocked { outcome.isThere.wait() }
        if let result = outcome.result.withLock({ $0 }) { return try result.get() }
    }
}

/// Runs `body` to its end while the calling thread waits, and throws in the cases of Mozilla's binding.
func blockingCall<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(RemoteSettings.RemoteSettingsError) -> Value
) throws(RemoteSettingsError) -> Value {
    do throws(RemoteSettings.RemoteSettingsError) {
        return try blocking(body)
    } catch {
        throw RemoteSettingsError(error)
    }
}

private final class BlockingOutcome<Value: Sendable, Failure: Error>: Sendable {
    let result = Mutex<Result<Value, Failure>?>(nil)
    let isThere = DispatchSemaphore(value: 0)
}
