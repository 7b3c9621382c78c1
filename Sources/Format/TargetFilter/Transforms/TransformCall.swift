import RemoteSettingsModel

/// The transforms, with their names in expressions.
enum FilterTransform: String, CaseIterable {
    case date
    case versionCompare
    case length
    case keys
    case values
    case mapToProperty
    case regExpMatch
    case stableSample
    case bucketSample
    case preferenceValue
    case preferenceIsUserSet
    case preferenceExists
}

/// One use of a transform: `subject|name(arguments)`.
///
/// The transforms behave as in Gecko (`FilterExpressions.sys.mjs`), with one exception: the result for a value of the
/// wrong type is `undefined`, while Gecko's JavaScript would convert the value or throw.
struct TransformCall {
    let subject: FilterValue
    let arguments: [FilterValue]
    let context: FilterContext
    let offset: Int

    private func argument(_ index: Int) -> FilterValue {
        index < arguments.count ? arguments[index] : .undefined
    }

    mutating func apply(_ transform: FilterTransform, budget: inout WorkBudget) throws(Failure) -> FilterValue {
        switch transform {
        case .date: return date
        case .versionCompare: return try compareVersions(budget: &budget)
        case .length: if case .array(let elements) = subject { return .number(Double(elements.count)) }
        case .keys: return try keys(budget: &budget)
        case .values: return try values(budget: &budget)
        case .mapToProperty: return try mapToProperty(budget: &budget)
        case .regExpMatch: return try match(budget: &budget)
        case .stableSample: return try sample(budget: &budget)
        case .bucketSample: return try sampleBuckets(budget: &budget)
        case .preferenceValue:
            guard case .string(let name) = subject else { return .undefined }
            return context.preferences.values[name] ?? argument(0)
        case .preferenceIsUserSet:
            guard case .string(let name) = subject else { return .undefined }
            return .bool(context.preferences.userSet.contains(name.exact))
        case .preferenceExists:
            guard case .string(let name) = subject else { return .undefined }
            return .bool(context.preferences.values[name] != nil)
        }
        return .undefined
    }

    /// The date in milliseconds since 1970, for comparison with numbers; NaN for a string that is not a date.
    private var date: FilterValue {
        switch subject {
        case .string(let text): .number(DateText.milliseconds(text) ?? .nan)
        case .number: subject
        default: .undefined
        }
    }

    private func compareVersions(budget: inout WorkBudget) throws(Failure) -> FilterValue {
        guard case .string(let left) = subject, case .string(let right) = argument(0) else { return .undefined }
        // Comparing versions costs much more per byte than reading text, for which one step covers 16 bytes. Therefore
        // charge one step per byte.
        try budget.spend(left.utf8.count + right.utf8.count)
        return .number(Double(VersionOrder.compare(left, right)))
    }

    private func keys(budget: inout WorkBudget) throws(Failure) -> FilterValue {
        switch subject {
        case .object(let object):
            try budget.spend(object.count)
            return .array(object.members.map { .string($0.key) })
        case .array(let elements):
            try budget.spend(elements.count)
            return .array(elements.indices.map { .string(String($0)) })
        default: return .undefined
        }
    }

    private func values(budget: inout WorkBudget) throws(Failure) -> FilterValue {
        switch subject {
        case .object(let object):
            try budget.spend(object.count)
            return .array(object.members.map(\.value))
        case .array: return subject
        default: return .undefined
        }
    }

    private func mapToProperty(budget: inout WorkBudget) throws(Failure) -> FilterValue {
        guard case .array(let elements) = subject else { return .undefined }
        let key = argument(0)
        guard case .string(let name) = key else { return .undefined }
        try budget.spend(elements.count * (1 + name.utf8.count / 16))
        return .array(elements.map { $0.element(key) })
    }

    /// Returns the match and its groups, or all matches if there is the flag `g`; `null` if there is none.
    private func match(budget: inout WorkBudget) throws(Failure) -> FilterValue {
        guard case .string(let text) = subject, case .string(let pattern) = argument(0) else { return .undefined }
        let flags: String
        switch argument(1) {
        case .undefined: flags = ""
        case .string(let given): flags = given
        default: return .undefined
        }
        try budget.spend(pattern.utf8.count + text.utf8.count / 4)
        let expression = try RegularExpression(pattern, at: offset, flags: flags)
        try budget.spend(expression.instructions.count / 4)
        var matcher = RegularExpressionMatcher(expression, text)
        return try matcher.result(budget: &budget)
    }

    private func sample(budget: inout WorkBudget) throws(Failure) -> FilterValue {
        guard case .number(let rate) = argument(0) else { return .undefined }
        guard let isIn = try SampleHash(subject, budget: &budget).isBelow(rate) else {
            throw .outOfRange(
                transform: "stableSample", expected: "a rate from 0 to 1", found: NumberText.text(rate), offset: offset)
        }
        return .bool(isIn)
    }

    private func sampleBuckets(budget: inout WorkBudget) throws(Failure) -> FilterValue {
        guard case .number(let start) = argument(0), case .number(let count) = argument(1),
            case .number(let total) = argument(2)
        else { return .undefined }
        let hash = try SampleHash(subject, budget: &budget)
        guard let isIn = hash.isInBucket(start: start, count: count, total: total) else {
            throw .outOfRange(
                transform: "bucketSample", expected: "a start and a count of at least 0, and a total greater than 0",
                found: [start, count, total].map(NumberText.text).joined(separator: ", "), offset: offset)
        }
        return .bool(isIn)
    }
}
