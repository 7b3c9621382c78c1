import RemoteSettingsModel

/// The number of steps that remain for an evaluation, or for all searches in a collection.
package struct WorkBudget: Sendable {
    /// The number of steps at the start.
    package let limit: Int
    private(set) var left: Int

    package init(steps: Int) {
        (limit, left) = (steps, steps)
    }

    /// Whether the work has exceeded the available steps.
    package var isExhausted: Bool { left < 0 }

    /// Deducts steps.
    ///
    /// - Throws: ``Failure/tooMuchWork(limit:)``.
    package mutating func spend(_ steps: Int) throws(Failure) {
        left = max(-1, left - steps)
        if left < 0 { throw .tooMuchWork(limit: limit) }
    }

    /// Deducts the steps for reading `bytes` bytes of text.
    mutating func spend(text bytes: Int) throws(Failure) {
        try spend(bytes / 16)
    }

    /// Checks the size of a string.
    ///
    /// - Throws: ``Failure/tooLarge(what:limit:)``.
    func check(text: String) throws(Failure) {
        let limit = FilterLimits.textBytes
        if text.utf8.count > limit { throw .tooLarge(what: "a string with more bytes", limit: limit) }
    }

    /// Checks the size of a list.
    ///
    /// - Throws: ``Failure/tooLarge(what:limit:)``.
    func check(elements: Int) throws(Failure) {
        let limit = FilterLimits.elements
        if elements > limit { throw .tooLarge(what: "a list with more elements", limit: limit) }
    }
}
