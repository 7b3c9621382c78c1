import Dispatch
import RemoteSettingsModel

/// Calls both closures and returns their results. They run at the same time if the process has another core.
///
/// The calling thread works too. It calls both closures if no other thread has begun one of them, so it never waits for
/// a thread that has not started. Dispatch runs the other thread at the caller's priority. No lock is held meanwhile.
/// `second` may wait for what `first` does, because `first` has begun when `second` begins. `first` must not wait for
/// `second`.
///
/// - Parameter bytes: how many bytes the calls work through. For few bytes, the calls run one after the other, because
///   starting a thread takes about 0.1 ms.
func sideBySide<First: Sendable, Second: Sendable>(
    bytes: Int, _ first: @Sendable () -> First, _ second: @Sendable () -> Second
) -> (First, Second) {
    guard bytes >= 128 << 10 else { return (first(), second()) }
    let one = Mutex<First?>(nil)
    let two = Mutex<Second?>(nil)
    DispatchQueue.concurrentPerform(iterations: 2) { index in
        if index == 0 {
            let result = first()
            one.withLock { $0 = result }
        } else {
            let result = second()
            two.withLock { $0 = result }
        }
    }
    return (one.withLock { $0 } ?? first(), two.withLock { $0 } ?? second())
}
