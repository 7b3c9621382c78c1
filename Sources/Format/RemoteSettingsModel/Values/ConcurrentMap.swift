extension Sequence where Element: Sendable {
    /// Calls `body` for each element, at most `width` calls at the same time, and returns the results in the order of
    /// the elements.
    ///
    /// After a failure, no new call starts, and running calls are cancelled.
    ///
    /// - Parameter width: the largest number of simultaneous calls. Values below 1 count as 1. The default limits how
    ///   many bundles are in memory at the same time.
    /// - Throws: the error of the call that failed first.
    package func concurrentMap<Value: Sendable, Thrown: Error>(
        width: Int = 8, _ body: @escaping @Sendable (Element) async throws(Thrown) -> Value
    ) async throws(Thrown) -> [Value] {
        let results = await withTaskGroup(of: (Int, Result<Value, Thrown>).self) { group in
            var queue = enumerated().makeIterator()
            func begin() {
                guard let (index, element) = queue.next() else { return }
                group.addTask {
                    do throws(Thrown) {
                        return (index, .success(try await body(element)))
                    } catch {
                        return (index, .failure(error))
                    }
                }
            }
            for _ in 0..<Swift.max(1, width) { begin() }
            var values: [(index: Int, value: Value)] = []
            while let (index, result) = await group.next() {
                switch result {
                case .success(let value): values.append((index, value))
                case .failure(let error):
                    group.cancelAll()
                    return Result<[Value], Thrown>.failure(error)
                }
                begin()
            }
            return .success(values.sorted { $0.index < $1.index }.map(\.value))
        }
        return try results.get()
    }
}
