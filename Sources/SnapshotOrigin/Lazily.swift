import Synchronization

/// A value that is made when it is first asked for, once, whoever asks; a failure is made again.
final class Lazily<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func get<Failure: Error>(_ make: () throws(Failure) -> Value) throws(Failure) -> Value {
        // Under the lock, so that what costs time and memory is not made twice.
        var failure: Failure?
        let value = value.withLock { value -> Value? in
            if let value { return value }
            do throws(Failure) {
                value = try make()
            } catch {
                failure = error
            }
            return value
        }
        if let value { return value }
        guard let failure else { preconditionFailure("there is a value or a failure") }
        throw failure
    }
}
