import RemoteSettingsModel

/// The result of a filter for a record. Only ``passed`` includes the record.
package enum FilterOutcome: Equatable, Sendable {
    /// The expression's value is `true`, or there is no expression.
    case passed
    /// The expression's value is `false`.
    case rejected
    /// The expression's value is neither `true` nor `false`.
    case notBoolean(FilterValue)
    /// The expression could not be parsed or evaluated.
    case failed(Failure)

    init(_ value: FilterValue) {
        switch value {
        case .bool(true): self = .passed
        case .bool(false): self = .rejected
        default: self = .notBoolean(value)
        }
    }

    package var isIncluded: Bool { self == .passed }
}

extension FilterOutcome: CustomStringConvertible {
    package var description: String {
        switch self {
        case .passed: "included"
        case .rejected: "excluded: the filter is false"
        case .notBoolean(let value):
            "excluded: the filter's value is \(VisibleText.excerpt(value.description, limit: 120)), not true"
        case .failed(let error): "excluded: \(error)"
        }
    }
}
