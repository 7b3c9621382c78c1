/// Reads what filters test, and numbers the subjects and the tests.
struct FilterConditionReader {
    /// The text of the subject that is the present time.
    static let now = FilterTree.path("env.\"now\"").text

    private(set) var subjects: [(name: FilterSubjectName, tests: [FilterTest])] = []
    private var numbers: [FilterSubjectName: Int] = [:]

    mutating func condition(_ tree: FilterTree) -> FilterCondition {
        switch tree {
        case .constant(let value): return .constant(Self.truth(value))
        case .array: return .constant(.truthy)
        case .not(let operand): return .not(condition(operand))
        case .binary(.and, let left, let right): return .and(condition(left), condition(right))
        case .binary(.or, let left, let right): return .or(condition(left), condition(right))
        case .binary(let operation, let left, let right):
            if let comparison = comparison(operation, left, right) { return comparison }
            let isEquality = operation == .equal || operation == .notEqual
            return other(tree, canFail: !isEquality || !left.neverFails || !right.neverFails)
        case .transform("bucketSample", let input, let arguments):
            guard input.neverFails, case let values = arguments.compactMap(Self.number), values.count == 3,
                arguments.count == 3,
                let ranges = SampleHash.buckets(start: values[0], count: values[1], total: values[2])
            else { return other(tree, canFail: true) }
            return test(.sample(ranges), of: .sample(input.text))
        case .transform("stableSample", let input, let arguments):
            guard input.neverFails, arguments.count == 1, let rate = Self.number(arguments[0]),
                let ranges = SampleHash.range(from: 0, to: rate)
            else { return other(tree, canFail: true) }
            return test(.sample([ranges]), of: .sample(input.text))
        case .path: return other(tree, canFail: false)
        case .transform, .other: return other(tree, canFail: true)
        }
    }

    private static func truth(_ value: FilterValue) -> FilterTruth {
        if case .bool(let flag) = value { FilterTruth(flag) } else { value.isTruthy ? .truthy : .falsy }
    }

    private mutating func other(_ tree: FilterTree, canFail: Bool) -> FilterCondition {
        test(.value, of: .other(tree.text, canFail: canFail))
    }

    private mutating func test(_ test: FilterTest, of name: FilterSubjectName) -> FilterCondition {
        let subject = numbers[name] ?? subjects.count
        if subject == subjects.count {
            numbers[name] = subject
            subjects.append((name, []))
        }
        if let known = subjects[subject].tests.firstIndex(of: test) { return .test(subject: subject, test: known) }
        subjects[subject].tests.append(test)
        return .test(subject: subject, test: subjects[subject].tests.count - 1)
    }

    // MARK: Comparisons

    private mutating func comparison(
        _ operation: BinaryOperator, _ left: FilterTree, _ right: FilterTree
    ) -> FilterCondition? {
        if operation == .notEqual { return comparison(.equal, left, right).map(FilterCondition.not) }
        if operation == .contained { return membership(left, right) }
        guard [.equal, .less, .lessOrEqual, .greater, .greaterOrEqual].contains(operation) else { return nil }
        if let value = Self.constant(right) { return comparison(operation, left, value) }
        guard let value = Self.constant(left) else { return nil }
        let mirrored: BinaryOperator =
            switch operation {
            case .less: .greater
            case .lessOrEqual: .greaterOrEqual
            case .greater: .less
            case .greaterOrEqual: .lessOrEqual
            default: operation
            }
        return comparison(mirrored, right, value)
    }

    private mutating func comparison(
        _ operation: BinaryOperator, _ subject: FilterTree, _ value: FilterValue
    ) -> FilterCondition? {
        switch (subject, value) {
        case (.transform("versionCompare", .path(let path), let arguments), .number(0)):
            guard case .constant(.string(let version))? = arguments.first else { return nil }
            return test(.version(operation, version), of: .version(path))
        case (.transform("date", .path(let path), _), .number(let number)) where !number.isNaN:
            return test(.number(operation, number), of: .number("\(path)|date", canFail: false))
        case (.path(let path), .number(let number)) where !number.isNaN:
            return test(.number(operation, number), of: .number(path, canFail: true))
        case (.path(let path), .string), (.path(let path), .bool), (.path(let path), .null):
            guard operation == .equal else { return nil }
            return test(.isAmong([value]), of: .plain(path))
        default: return nil
        }
    }

    /// Reads `path in [constants]`.
    private mutating func membership(_ element: FilterTree, _ container: FilterTree) -> FilterCondition? {
        guard case .path(let path) = element, case .array(let elements) = container else { return nil }
        var values: Set<FilterValue> = []
        for element in elements {
            guard let value = Self.constant(element) else { return nil }
            if case .number = value { return nil }
            values.insert(value)
        }
        return test(.isAmong(values), of: .plain(path))
    }

    /// The value of a tree that no context changes.
    private static func constant(_ tree: FilterTree) -> FilterValue? {
        switch tree {
        case .constant(let value): value
        case .transform("date", .constant(.string(let text)), _): .number(DateText.milliseconds(text) ?? .nan)
        case .transform("date", .constant(.number(let number)), _): .number(number)
        default: nil
        }
    }

    private static func number(_ tree: FilterTree) -> Double? {
        if case .number(let number)? = constant(tree) { number } else { nil }
    }
}
