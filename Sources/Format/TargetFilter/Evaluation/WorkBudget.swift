import RemoteSettingsModel

/// The number of steps that an evaluation may still take.
struct WorkBudget {
    let limits: FilterLimits
    private(set) var left: Int

    init(_ limits: FilterLimits) {
        self.limits = limits
        left = limits.steps
    }

    /// Uses up steps.
    ///
    /// - Throws: ``FilterError/tooMuchWork(limit:)``.
    mutating func spend(_ steps: Int) throws(FilterError) {
        left -= steps
        if left < 0 { throw .tooMuchWork(limit: limits.steps) }
    }

    /// Uses up the steps for reading `bytes` bytes of text.
    mutating func spend(text bytes: Int) throws(FilterError) {
        try spend(bytes / 16)
    }

    /// Checks the size of a string.
    ///
    /// - Throws: ``FilterError/tooLarge(what:limit:)``.
    func check(text: String) throws(FilterError) {
        if text.utf8.count > limits.textBytes { throw .tooLarge(what: "a string longer", limit: limits.textBytes) }
    }

    /// Checks the size of a list.
    ///
    /// - Throws: ``FilterError/tooLarge(what:limit:)``.
    func check(elements: Int) throws(FilterError) {
        if elements > limits.elements { throw .tooLarge(what: "a list longer", limit: limits.elements) }
    }
}
