import Dispatch
import Locks

/// Calls both closures, and returns what they return: at the same time if the process has another core, else one after
/// the other.
///
/// The calling thread works too, and calls both if no other thread has begun one of them: it never waits for a thread
/// that has nothing to do yet. Dispatch runs the other thread at the caller's priority. No lock is held meanwhile.
/// `second` may wait for what `first` does: `first` has begun, or is done, when `second` begins. Never the reverse.
///
/// - Parameter bytes: how many bytes the calls work through. If they are few, the start of a thread, about 0.1 ms,
///   would take longer than the work, and they are called one after the other.
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
