import RemoteSettingsModel

/// A value that is created when it is first needed. If this fails, the next use tries again.
final class Lazily<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func get<Failure: Error>(_ make: () throws(Failure) -> Value) throws(Failure) -> Value {
        // The lock is held while the value is created, so that an expensive value is never created twice.
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
        guard let failure else { preconditionFailure("there is neither a value nor an error") }
        throw failure
    }
}
