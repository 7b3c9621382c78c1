#if canImport(Darwin)
/// A value that threads can read and change atomically. It implements the part of Swift's `Atomic` that this package
/// uses, because Swift's own requires iOS 18.
///
/// Each operation uses an unfair lock, so every ordering behaves like the strictest one.
public struct Atomic<Value: Sendable>: ~Copyable, Sendable {
    private let value: Mutex<Value>

    /// Creates an atomic with an initial value.
    public init(_ initialValue: Value) { value = Mutex(initialValue) }

    /// Returns the current value.
    public borrowing func load(ordering: AtomicOrdering) -> Value { value.withLock { $0 } }

    /// Stores a value.
    public borrowing func store(_ new: Value, ordering: AtomicOrdering) { value.withLock { $0 = new } }

    /// Stores a value and returns the previous one.
    public borrowing func exchange(_ new: Value, ordering: AtomicOrdering) -> Value {
        value.withLock { value in
            let old = value
            value = new
            return old
        }
    }
}

extension Atomic where Value: FixedWidthInteger {
    /// Adds a number. Traps if the sum does not fit.
    @discardableResult
    public borrowing func add(_ operand: Value, ordering: AtomicOrdering) -> (oldValue: Value, newValue: Value) {
        value.withLock { value in
            let old = value
            value += operand
            return (old, value)
        }
    }

    /// Subtracts a number. Traps if the difference does not fit.
    @discardableResult
    public borrowing func subtract(_ operand: Value, ordering: AtomicOrdering) -> (oldValue: Value, newValue: Value) {
        value.withLock { value in
            let old = value
            value -= operand
            return (old, value)
        }
    }
}

/// The memory orderings, as in Swift's `AtomicLoadOrdering` and related types.
public enum AtomicOrdering: Sendable {
    case relaxed, acquiring, releasing, sequentiallyConsistent
}
#endif
