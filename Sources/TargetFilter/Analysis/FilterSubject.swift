/// Something that filters test, identified by the text of its expression.
enum FilterSubjectName: Hashable, Sendable {
    /// A value that is tested for equality with values that are not numbers.
    case plain(String)
    /// A value that is compared with numbers. The text of a time counts as a number, so only other values can fail.
    case number(String, canFail: Bool)
    /// A text that is compared with versions.
    case version(String)
    /// The point of an input among 2^48 points (`bucketSample`, `stableSample`).
    case sample(String)
    /// An expression that the analysis does not understand.
    case other(String, canFail: Bool)
}

/// A question about a subject.
enum FilterTest: Hashable, Sendable {
    case isAmong(Set<FilterValue>)
    case number(BinaryOperator, Double)
    case version(BinaryOperator, String)
    case sample([Range<UInt64>])
    case value
}

/// The classes of a subject's values that its tests can tell apart.
struct FilterSubject: Sendable {
    /// The outcome of each test, for each class. No two classes are the same.
    private(set) var classes: [[FilterTruth]]

    /// - Parameter earliest: the lowest value that `env.now` can have.
    init(of name: FilterSubjectName, tests: [FilterTest], earliest: Double?) {
        let all: [[FilterTruth]] =
            switch name {
            case .plain: Self.plain(tests)
            case .number(let text, let canFail):
                Self.numbers(tests, canFail: canFail, earliest: text == FilterConditionReader.now ? earliest : nil)
            case .version: Self.versions(tests)
            case .sample: Self.samples(tests)
            case .other(_, let canFail):
                ([.yes, .no, .truthy, .falsy] + (canFail ? [.failure] : [])).map { truth in tests.map { _ in truth } }
            }
        var known: Set<[FilterTruth]> = []
        classes = all.filter { known.insert($0).inserted }
    }

    private static func plain(_ tests: [FilterTest]) -> [[FilterTruth]] {
        var constants: Set<FilterValue> = []
        for case .isAmong(let values) in tests { constants.formUnion(values) }
        func outcomes(_ value: FilterValue?) -> [FilterTruth] {
            tests.map { test in
                guard case .isAmong(let values) = test, let value else { return .no }
                return FilterTruth(values.contains(value))
            }
        }
        return constants.map { outcomes($0) } + [outcomes(nil)]
    }

    private static func numbers(_ tests: [FilterTest], canFail: Bool, earliest: Double?) -> [[FilterTruth]] {
        var constants: Set<Double> = []
        for case .number(_, let constant) in tests { constants.insert(constant) }
        let points = constants.sorted()
        // Even positions lie between the constants, and odd positions are the constants themselves.
        let positions = (0...2 * points.count).filter { position in
            guard let earliest, position < 2 * points.count else { return true }
            return position % 2 == 0 ? points[position / 2] > earliest : points[position / 2] >= earliest
        }
        var classes = positions.map { position in
            tests.map { test -> FilterTruth in
                guard case .number(let operation, let constant) = test, let index = points.firstIndex(of: constant)
                else {
                    return .no
                }
                return FilterTruth(operation.holds(for: position - (2 * index + 1)))
            }
        }
        // If the value is undefined, every comparison is false.
        classes.append(tests.map { _ in .no })
        guard canFail else { return classes }
        // For a text or another value, equality is false, and order is an error.
        classes.append(
            tests.map { test in
                if case .number(.equal, _) = test { .no } else { .failure }
            })
        return classes
    }

    private static func versions(_ tests: [FilterTest]) -> [[FilterTruth]] {
        var points: [String] = []
        for case .version(_, let constant) in tests
        where !points.contains(where: { VersionOrder.compare($0, constant) == 0 }) {
            points.append(constant)
        }
        points.sort { VersionOrder.compare($0, $1) < 0 }
        let classes = (0...2 * points.count).map { position in
            tests.map { test -> FilterTruth in
                guard case .version(let operation, let constant) = test,
                    let index = points.firstIndex(where: { VersionOrder.compare($0, constant) == 0 })
                else { return .no }
                return FilterTruth(operation.holds(for: position - (2 * index + 1)))
            }
        }
        return classes + [tests.map { _ in .no }]
    }

    private static func samples(_ tests: [FilterTest]) -> [[FilterTruth]] {
        var bounds: Set<UInt64> = [0]
        for case .sample(let ranges) in tests {
            for range in ranges { bounds.formUnion([range.lowerBound, range.upperBound]) }
        }
        return bounds.filter { $0 < SampleHash.points }.map { point in
            tests.map { test in
                guard case .sample(let ranges) = test else { return .no }
                return FilterTruth(ranges.contains { $0.contains(point) })
            }
        }
    }
}

extension BinaryOperator {
    /// Whether a comparison holds for operands in this order, which is negative if the left one is less.
    fileprivate func holds(for order: Int) -> Bool {
        switch self {
        case .equal: order == 0
        case .less: order < 0
        case .lessOrEqual: order <= 0
        case .greater: order > 0
        case .greaterOrEqual: order >= 0
        default: false
        }
    }
}
