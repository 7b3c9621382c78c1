import RemoteSettingsModel

/// Matches a regular expression against a string by backtracking with an explicit stack.
///
/// Every step is deducted from the budget.
struct RegularExpressionMatcher {
    private enum Choice {
        /// Continue at this instruction and position.
        case resume(instruction: Int, position: Int)
        /// Restore a slot's previous value.
        case restore(slot: Int, value: Int)
    }

    private static let unset = -1

    private let expression: RegularExpression
    private let scalars: [Unicode.Scalar]
    private var slots: [Int]
    private var choices: [Choice] = []

    init(_ expression: RegularExpression, _ text: String) {
        self.expression = expression
        scalars = Array(text.unicodeScalars)
        slots = []
    }

    /// Returns whether the expression matches anywhere in the text.
    mutating func occurs(budget: inout WorkBudget) throws(Failure) -> Bool {
        try search(from: 0, budget: &budget) != nil
    }

    /// Returns the result of JavaScript's `text.match(expression)`, as values.
    mutating func result(budget: inout WorkBudget) throws(Failure) -> FilterValue {
        guard expression.isGlobal else {
            guard try search(from: 0, budget: &budget) != nil else { return .null }
            var groups: [FilterValue] = []
            for group in 0...expression.groups { groups.append(try text(of: group, budget: &budget)) }
            return .array(groups)
        }
        var matches: [FilterValue] = []
        var start = 0
        while start <= scalars.count, let end = try search(from: start, budget: &budget) {
            matches.append(try text(of: 0, budget: &budget))
            try budget.check(elements: matches.count)
            start = end > slots[0] ? end : end + 1
        }
        return matches.isEmpty ? .null : .array(matches)
    }

    private func text(of group: Int, budget: inout WorkBudget) throws(Failure) -> FilterValue {
        let start = slots[2 * group]
        let end = slots[2 * group + 1]
        guard start != Self.unset, end >= start else { return .undefined }
        try budget.spend(text: 4 * (end - start))
        return .string(String(String.UnicodeScalarView(scalars[start..<end])))
    }

    /// Finds the first match at or after `start`, and stores its groups in `slots`.
    ///
    /// - Returns: the end of the match.
    private mutating func search(from start: Int, budget: inout WorkBudget) throws(Failure) -> Int? {
        for first in start...scalars.count {
            try budget.spend(1 + expression.slots / 16)
            slots = Array(repeating: Self.unset, count: expression.slots)
            choices.removeAll(keepingCapacity: true)
            if let end = try run(from: 0, at: first, budget: &budget) {
                slots[0] = first
                slots[1] = end
                return end
            }
        }
        return nil
    }

    /// Matches from a position. It recurses only for lookaheads, whose nesting depth the parser limits.
    ///
    /// - Returns: the end of the match; `nil` if there is none, with all slots restored to their previous values.
    private mutating func run(
        from instruction: Int, at position: Int, budget: inout WorkBudget
    ) throws(Failure) -> Int? {
        let base = choices.count
        var next = instruction
        var position = position
        while true {
            try budget.spend(1)
            var holds = true
            switch expression.instructions[next] {
            case .success: return position
            case .scalar, .set:
                holds = position < scalars.count && matches(expression.instructions[next], scalars[position])
                position += 1
            case .lineStart: holds = isLineStart(position)
            case .lineEnd: holds = isLineEnd(position)
            case .boundary(let wanted): holds = (isWord(position - 1) != isWord(position)) == wanted
            case .note(let slot): note(position, in: slot)
            case .progress(let slot): holds = slots[slot] != position
            case .forget(let range):
                try budget.spend(range.count / 4)
                for slot in range where slots[slot] != Self.unset { note(Self.unset, in: slot) }
            case .reference(let group): holds = try skip(group, &position, budget: &budget)
            case .fork(let first, let second):
                choices.append(.resume(instruction: second, position: position))
                next = first - 1
            case .jump(let target): next = target - 1
            case .lookahead(let isNegative, let end):
                holds = try look(from: next + 1, at: position, isNegative: isNegative, budget: &budget)
                next = end - 1
            }
            next += 1
            if !holds {
                guard let choice = backtrack(to: base) else { return nil }
                (next, position) = choice
            }
        }
    }

    private mutating func note(_ position: Int, in slot: Int) {
        choices.append(.restore(slot: slot, value: slots[slot]))
        slots[slot] = position
    }

    private mutating func backtrack(to base: Int) -> (Int, Int)? {
        while choices.count > base, let choice = choices.popLast() {
            switch choice {
            case .resume(let instruction, let position): return (instruction, position)
            case .restore(let slot, let value): slots[slot] = value
            }
        }
        return nil
    }

    /// Tests a lookahead. After a success, the matcher does not backtrack into it, but restores its slots when it
    /// backtracks past it.
    private mutating func look(
        from instruction: Int, at position: Int, isNegative: Bool, budget: inout WorkBudget
    ) throws(Failure) -> Bool {
        let base = choices.count
        let isFound = try run(from: instruction, at: position, budget: &budget) != nil
        guard isFound, !isNegative else {
            while backtrack(to: base) != nil {}
            return isFound != isNegative
        }
        let notes = choices[base...].filter { if case .restore = $0 { true } else { false } }
        choices.replaceSubrange(base..., with: notes)
        return true
    }

    private func matches(_ instruction: RegularExpression.Instruction, _ scalar: Unicode.Scalar) -> Bool {
        switch instruction {
        case .scalar(let wanted): (expression.ignoresCase ? CaseFolding.fold(scalar) : scalar) == wanted
        case .set(let set, let isInverted): isMember(scalar, of: set) != isInverted
        default: false
        }
    }

    private func isMember(_ scalar: Unicode.Scalar, of set: ScalarSet) -> Bool {
        set.contains(scalar) || (expression.ignoresCase && CaseFolding.variants(scalar).contains(where: set.contains))
    }

    /// Skips the text that a group matched. A group that has not matched yet counts as empty.
    private func skip(_ group: Int, _ position: inout Int, budget: inout WorkBudget) throws(Failure) -> Bool {
        let start = slots[2 * group]
        let end = slots[2 * group + 1]
        guard start != Self.unset, end >= start else { return true }
        try budget.spend((end - start) / 4)
        guard position + end - start <= scalars.count else { return false }
        for (index, scalar) in scalars[start..<end].enumerated() {
            let other = scalars[position + index]
            guard scalar == other || (expression.ignoresCase && CaseFolding.fold(scalar) == CaseFolding.fold(other))
            else { return false }
        }
        position += end - start
        return true
    }

    private func isLineStart(_ position: Int) -> Bool {
        position == 0 || (expression.isMultiline && ScalarSet.lineEnds.contains(scalars[position - 1]))
    }

    private func isLineEnd(_ position: Int) -> Bool {
        position == scalars.count || (expression.isMultiline && ScalarSet.lineEnds.contains(scalars[position]))
    }

    private func isWord(_ position: Int) -> Bool {
        scalars.indices.contains(position) && ScalarSet.words.contains(scalars[position])
    }
}
