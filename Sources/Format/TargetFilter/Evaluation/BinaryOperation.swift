import RemoteSettingsModel

/// Applies an operator to two values. `&&` and `||` are compiled to jumps and never reach this code.
struct BinaryOperation {
    let operation: BinaryOperator
    let offset: Int

    func apply(_ left: FilterValue, _ right: FilterValue, budget: inout WorkBudget) throws(Failure) -> FilterValue {
        switch operation {
        case .equal: return .bool(try ValueComparison.areEqual(left, right, budget: &budget))
        case .notEqual: return .bool(try !ValueComparison.areEqual(left, right, budget: &budget))
        case .less: return .bool(try compare(left, right, budget: &budget) { $0 < 0 })
        case .lessOrEqual: return .bool(try compare(left, right, budget: &budget) { $0 <= 0 })
        case .greater: return .bool(try compare(left, right, budget: &budget) { $0 > 0 })
        case .greaterOrEqual: return .bool(try compare(left, right, budget: &budget) { $0 >= 0 })
        case .contained: return .bool(try isContained(left, in: right, budget: &budget))
        case .intersect: return try intersection(left, right, budget: &budget)
        case .add: return try sum(left, right, budget: &budget)
        case .subtract: return try arithmetic(left, right) { $0 - $1 }
        case .multiply: return try arithmetic(left, right) { $0 * $1 }
        case .divide: return try arithmetic(left, right) { $0 / $1 }
        case .floorDivide: return try arithmetic(left, right) { ($0 / $1).rounded(.down) }
        case .remainder: return try arithmetic(left, right) { fmod($0, $1) }
        case .power: return try arithmetic(left, right, Self.power)
        case .and: return left.isTruthy ? right : left
        case .or: return left.isTruthy ? left : right
        }
    }

    private func compare(
        _ left: FilterValue, _ right: FilterValue, budget: inout WorkBudget, _ holds: (Int) -> Bool
    ) throws(Failure) -> Bool {
        let order = try ValueComparison.order(left, right, of: operation.rawValue, at: offset, budget: &budget)
        return order.map(holds) ?? false
    }

    private func isContained(
        _ value: FilterValue, in container: FilterValue, budget: inout WorkBudget
    ) throws(Failure) -> Bool {
        switch (container, value) {
        case (.string(let text), .string(let part)): return try ValueComparison.isPart(part, of: text, budget: &budget)
        case (.array(let elements), _):
            for element in elements where try ValueComparison.areEqual(element, value, budget: &budget) { return true }
            return false
        case (.object(let object), .string(let key)):
            try budget.spend(text: key.utf8.count)
            return object.contains(key)
        default: return false
        }
    }

    private func intersection(
        _ left: FilterValue, _ right: FilterValue, budget: inout WorkBudget
    ) throws(Failure) -> FilterValue {
        guard case .array(let elements) = left, case .array = right else { return .undefined }
        var common: [FilterValue] = []
        for element in elements where try isContained(element, in: right, budget: &budget) { common.append(element) }
        return .array(common)
    }

    /// Adds two values. `+` concatenates if one side is a string and the other is a string, a number or a boolean.
    private func sum(
        _ left: FilterValue, _ right: FilterValue, budget: inout WorkBudget
    ) throws(Failure) -> FilterValue {
        if case .number(let a) = left, case .number(let b) = right { return .number(a + b) }
        guard let first = Self.text(left), let second = Self.text(right) else {
            throw wrongType(left, right, expected: "two numbers, or a string with a string, number or boolean")
        }
        switch (left, right) {
        case (.string, _), (_, .string): break
        default: throw wrongType(left, right, expected: "two numbers, or a string with a string, number or boolean")
        }
        try budget.spend(text: first.utf8.count + second.utf8.count)
        let joined = first + second
        try budget.check(text: joined)
        return .string(joined)
    }

    private static func text(_ value: FilterValue) -> String? {
        switch value {
        case .string(let text): text
        case .number(let number): NumberText.text(number)
        case .bool(let flag): flag ? "true" : "false"
        default: nil
        }
    }

    private func arithmetic(
        _ left: FilterValue, _ right: FilterValue, _ operation: (Double, Double) -> Double
    ) throws(Failure) -> FilterValue {
        guard case .number(let a) = left, case .number(let b) = right else {
            throw wrongType(left, right, expected: "two numbers")
        }
        return .number(operation(a, b))
    }

    /// Raises a base to a power. Unlike C, ECMA-262 defines NaN as the result if the exponent is NaN, or if it is
    /// infinite and the base is ±1.
    private static func power(_ base: Double, _ exponent: Double) -> Double {
        exponent.isNaN || (base.magnitude == 1 && exponent.isInfinite) ? .nan : pow(base, exponent)
    }

    private func wrongType(_ left: FilterValue, _ right: FilterValue, expected: String) -> Failure {
        .wrongType(
            operator: operation.rawValue, expected: expected, found: "\(left.kind) and \(right.kind)", offset: offset)
    }
}
