import Dispatch
import Glibc
import Locks

// Runs the lock of Apple systems over the stand-in of the system's: `scripts/check apple` builds and runs it.

func expect(_ condition: Bool, _ what: String) {
    guard !condition else { return }
    print("the lock of Apple systems: \(what)")
    exit(1)
}

final class Counts: Sendable {
    let sum = Mutex(0)
    let steps = Atomic(0)
    let isSet = Atomic(false)
    let winners = Atomic(0)
}

final class Witness: Sendable {
    let left: Atomic<Int>.Box
    init(_ left: Atomic<Int>.Box) { self.left = left }
    deinit { left.count.subtract(1, ordering: .relaxed) }
}

extension Atomic<Int> {
    final class Box: Sendable {
        let count = Atomic(0)
    }
}

struct Failure: Error {}
struct Token: ~Copyable {
    let number: Int
}

let counts = Counts()
DispatchQueue.concurrentPerform(iterations: 8) { _ in
    for _ in 0..<100_000 {
        counts.sum.withLock { $0 += 1 }
        counts.steps.add(1, ordering: .relaxed)
        if !counts.isSet.exchange(true, ordering: .relaxed) { counts.winners.add(1, ordering: .relaxed) }
    }
}
expect(counts.sum.withLock { $0 } == 800_000, "increments under the lock were lost")
expect(counts.steps.load(ordering: .relaxed) == 800_000, "atomic increments were lost")
expect(counts.winners.load(ordering: .relaxed) == 1, "two threads exchanged the same value")

let mutex = Mutex([1])
do throws(Failure) {
    try mutex.withLock { (values) throws(Failure) in
        values.append(2)
        throw Failure()
    }
} catch {
    expect(mutex.withLock { $0 } == [1, 2], "a body that throws leaves it locked, or its change is lost")
}
expect(Mutex(Token(number: 7)).withLock { $0.number } == 7, "a value that cannot be copied is another one")

let left = Atomic<Int>.Box()
for _ in 0..<1000 {
    left.count.add(1, ordering: .relaxed)
    let holder = Mutex(Witness(left))
    holder.withLock { _ in }
}
expect(left.count.load(ordering: .relaxed) == 0, "its value outlives it")
