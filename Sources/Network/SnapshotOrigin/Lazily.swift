import RemoteSettingsModel

/// A value that is created when it is first needed. If this fails, the next use tries again.
final class Lazily<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)

    func get<Thrown: Error>(_ make: () throws(Thrown) -> Value) throws(Thrown) -> Value {
        // The lock is held while the value is created, so that an expensive value is never created twice.
        var failure: Thrown?
        let value = value.withLock { value -> Value? in
            if let value { return value }
            do throws(Thrown) {
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
