import RemoteSettingsModel

/// An ECMA-262 regular expression, compiled to instructions for ``RegularExpressionMatcher``.
///
/// It does not use the standard library's `Regex`, which backtracks without limit. Patterns come from a server, and one
/// like `(a*)*b` would hang it on a text of thirty letters. This engine matches Unicode scalars, while JavaScript
/// without the `u` flag matches UTF-16 code units. The supported flags are `g`, `i`, `m`, `s` and `u`.
struct RegularExpression {
    enum Instruction {
        case scalar(Unicode.Scalar)
        case set(ScalarSet, isInverted: Bool)
        case lineStart
        case lineEnd
        case boundary(Bool)
        /// Stores the position in a slot: the start or end of a group, or the start of a repetition.
        case note(Int)
        /// Continues only if the position has moved since it was stored in the slot.
        case progress(Int)
        case forget(Range<Int>)
        case reference(Int)
        /// Continues at the first instruction, or at the second one if that fails.
        case fork(Int, Int)
        case jump(Int)
        /// A lookahead. Its pattern follows and is terminated by `success`. Matching then continues at `end`.
        case lookahead(isNegative: Bool, end: Int)
        case success
    }

    private(set) var instructions: [Instruction] = []
    let groups: Int
    private(set) var slots: Int
    let isGlobal: Bool
    let ignoresCase: Bool
    let isMultiline: Bool
    private let limit: Int
    private let offset: Int
    private var work = 0

    /// Compiles a pattern.
    ///
    /// - Parameter offset: the position of the pattern in an expression, for errors.
    init(_ pattern: String, at offset: Int = 0, flags: String) throws(Failure) {
        self.offset = offset
        guard Set(flags).count == flags.count, flags.allSatisfy({ "gimsu".contains($0) }) else {
            throw .invalidPattern(
                problem: "the flags \(VisibleText.quote(flags)) must be different letters of gimsu", offset: offset)
        }
        let scalars = Array(pattern.unicodeScalars.prefix(FilterLimits.patternScalars + 1))
        guard scalars.count <= FilterLimits.patternScalars else {
            throw .invalidPattern(
                problem: "it is longer than \(FilterLimits.patternScalars) characters", offset: offset)
        }
        isGlobal = flags.contains("g")
        ignoresCase = flags.contains("i")
        isMultiline = flags.contains("m")
        limit = FilterLimits.patternInstructions
        var parser = PatternParser(
            scalars, at: offset, nesting: FilterLimits.nesting, matchesLineEnds: flags.contains("s"))
        let node = try parser.parse()
        groups = parser.groups
        slots = 2 * (parser.groups + 1)
        try add(node)
        try emit(.success)
    }

    private mutating func emit(_ instruction: Instruction) throws(Failure) {
        try pay()
        instructions.append(instruction)
    }

    /// Counts one step of the compiler's work, and checks the limit. Counting only instructions would not be
    /// sufficient, because repeating an empty pattern needs work but creates none.
    private mutating func pay() throws(Failure) {
        work += 1
        if work > limit {
            throw .invalidPattern(
                problem: "it compiles to more than \(limit) instructions because of its repetitions", offset: offset)
        }
    }

    private mutating func reserve() throws(Failure) -> Int {
        try emit(.success)
        return instructions.count - 1
    }

    private mutating func add(_ node: PatternNode) throws(Failure) {
        switch node {
        case .scalar(let scalar): try emit(.scalar(ignoresCase ? CaseFolding.fold(scalar) : scalar))
        case .set(let set, let isInverted): try emit(.set(set, isInverted: isInverted))
        case .lineStart: try emit(.lineStart)
        case .lineEnd: try emit(.lineEnd)
        case .boundary(let isBoundary): try emit(.boundary(isBoundary))
        case .reference(let group): try emit(.reference(group))
        case .group(let inner, let capture):
            try emit(.note(2 * capture))
            try add(inner)
            try emit(.note(2 * capture + 1))
        case .lookahead(let inner, let isNegative):
            let start = try reserve()
            try add(inner)
            try emit(.success)
            instructions[start] = .lookahead(isNegative: isNegative, end: instructions.count)
        case .sequence(let nodes):
            try pay()
            for node in nodes { try add(node) }
        case .choice(let branches): try add(choice: branches)
        case .repeated(let inner, let from, let to, let isLazy, let captures):
            try add(repeating: inner, from: from, to: to, isLazy: isLazy, captures: captures)
        }
    }

    private mutating func add(choice branches: [PatternNode]) throws(Failure) {
        var ends: [Int] = []
        for branch in branches.dropLast() {
            let fork = try reserve()
            try add(branch)
            ends.append(try reserve())
            instructions[fork] = .fork(fork + 1, instructions.count)
        }
        if let last = branches.last { try add(last) }
        for end in ends { instructions[end] = .jump(instructions.count) }
    }

    private mutating func add(
        repeating node: PatternNode, from least: Int, to most: Int?, isLazy: Bool, captures: Range<Int>
    ) throws(Failure) {
        for _ in 0..<least {
            try forget(captures)
            try add(node)
        }
        var forks: [Int] = []
        for _ in 0..<(most.map { $0 - least } ?? 1) {
            let fork = try reserve()
            forks.append(fork)
            let slot = slots
            slots += 1
            try emit(.note(slot))
            try forget(captures)
            try add(node)
            try emit(.progress(slot))
            if most == nil { try emit(.jump(fork)) }
        }
        for fork in forks {
            let end = instructions.count
            instructions[fork] = isLazy ? .fork(end, fork + 1) : .fork(fork + 1, end)
        }
    }

    private mutating func forget(_ captures: Range<Int>) throws(Failure) {
        if !captures.isEmpty { try emit(.forget(2 * captures.lowerBound..<2 * captures.upperBound)) }
    }
}
