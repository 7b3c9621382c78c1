import RemoteSettingsModel

/// The steps that an evaluation may still take.
struct WorkBudget {
    let limits: FilterLimits
    private(set) var left: Int

    init(_ limits: FilterLimits) {
        self.limits = limits
        left = limits.steps
    }

    /// - Throws: ``FilterError/tooMuchWork(limit:)``.
    mutating func spend(_ steps: Int) throws(FilterError) {
        left -= steps
        if left < 0 { throw .tooMuchWork(limit: limits.steps) }
    }

    /// Charges for one reading of `bytes` bytes of text.
    mutating func spend(text bytes: Int) throws(FilterError) {
        try spend(bytes / 16)
    }

    /// - Throws: ``FilterError/tooLarge(what:limit:)``.
    func check(text: String) throws(FilterError) {
        if text.utf8.count > limits.textBytes { throw .tooLarge(what: "a text in bytes", limit: limits.textBytes) }
    }

    /// - Throws: ``FilterError/tooLarge(what:limit:)``.
    func check(elements: Int) throws(FilterError) {
        if elements > limits.elements { throw .tooLarge(what: "a list in elements", limit: limits.elements) }
    }
}
