/// The meaning of a program as a tree, for questions about expressions that are not evaluated.
///
/// Anything without a case of its own is ``other(_:)``.
indirect enum FilterTree: Sendable {
    case constant(FilterValue)
    /// A name at the root of the context, and the members after it, such as `env.appinfo.OS`.
    case path(String)
    case array([FilterTree])
    case not(FilterTree)
    case binary(BinaryOperator, FilterTree, FilterTree)
    case transform(String, FilterTree, arguments: [FilterTree])
    /// Anything else. Two with the same text have the same value in the same context.
    case other(String)

    /// The longest program that has a tree. The limit exists because walking a tree recurses.
    private static var longest: Int { 4000 }

    /// - Returns: `nil` if the program is too long.
    init?(_ program: FilterProgram) {
        guard program.count <= Self.longest else { return nil }
        var builder = Builder(program)
        self = builder.value(of: 0..<program.count)
    }

    /// Whether an evaluation gives a value, and not an error, in every context.
    var neverFails: Bool {
        switch self {
        case .constant, .path: true
        case .array(let elements): elements.allSatisfy(\.neverFails)
        default: false
        }
    }

    /// The tree as text. In one context, the same text means the same value.
    var text: String {
        switch self {
        case .constant(.string(let text)): FilterJSON.quoted(text)
        case .constant(let value): value.description
        case .path(let path), .other(let path): path
        case .array(let elements): "[\(elements.map(\.text).joined(separator: ", "))]"
        case .not(let operand): "!(\(operand.text))"
        case .binary(let operation, let left, let right): "(\(left.text)) \(operation.rawValue) (\(right.text))"
        case .transform(let name, let subject, let arguments):
            "(\(subject.text))|\(name)(\(arguments.map(\.text).joined(separator: ", ")))"
        }
    }
}

/// Runs a program over trees instead of values.
private struct Builder {
    private struct Entry {
        let tree: FilterTree
        /// The first instruction of the operand.
        let start: Int
    }

    private let program: FilterProgram
    private var stack: [Entry] = []

    init(_ program: FilterProgram) {
        self.program = program
    }

    mutating func value(of range: Range<Int>) -> FilterTree {
        var position = range.lowerBound
        let depth = stack.count
        while position < range.upperBound { position = step(at: position) }
        let value = stack.last?.tree
        stack.removeLast(stack.count - depth)
        return value ?? .other(text(range))
    }

    private func text(_ range: Range<Int>) -> String { "\(program.instructions[range])" }

    private mutating func pop() -> Entry { stack.popLast() ?? Entry(tree: .other(""), start: 0) }

    private mutating func push(_ tree: FilterTree, from start: Int) { stack.append(Entry(tree: tree, start: start)) }

    /// - Returns: the position after the instruction and after what belongs to it.
    private mutating func step(at position: Int) -> Int {
        let next = position + 1
        switch program.instructions[position] {
        case .push(let value): push(.constant(value), from: position)
        case .root(let name): push(.path(name), from: position)
        case .relative: push(.other(text(position..<next)), from: position)
        case .member(let name): member(name, until: next)
        case .subscripting:
            let key = pop()
            if case .constant(.string(let name)) = key.tree {
                member(name, until: next)
            } else {
                let start = pop().start
                push(.other(text(start..<next)), from: start)
            }
        case .array(let count):
            let elements = (0..<count).map { _ in pop() }.reversed()
            push(.array(elements.map(\.tree)), from: elements.first?.start ?? position)
        case .object(let keys):
            let start = keys.reduce(position) { _, _ in pop().start }
            push(.other(text(start..<next)), from: start)
        case .not:
            let operand = pop()
            push(.not(operand.tree), from: operand.start)
        case .binary(let operation):
            let right = pop()
            let left = pop()
            push(.binary(operation, left.tree, right.tree), from: left.start)
        case .transform(let name, let count):
            let arguments = (0..<count).map { _ in pop().tree }
            let subject = pop()
            push(.transform(name, subject.tree, arguments: arguments.reversed()), from: subject.start)
        case .orJump(let ifTruthy, let end):
            let left = pop()
            let right = value(of: next..<end)
            push(.binary(ifTruthy ? .or : .and, left.tree, right), from: left.start)
            return end
        // This is the first instruction of a subscript that does not refer to elements.
        case .jump(let target) where target == next: break
        case .eachElement(let end): return other(from: pop().start, to: end)
        case .branch(let target):
            guard case .jump(let end) = program.instructions[target - 1] else {
                return other(from: 0, to: program.count)
            }
            return other(from: pop().start, to: end)
        case .jump, .keepElement: return other(from: 0, to: program.count)
        }
        return next
    }

    private mutating func member(_ name: String, until end: Int) {
        let subject = pop()
        if case .path(let path) = subject.tree {
            push(.path("\(path).\(FilterJSON.quoted(name))"), from: subject.start)
        } else {
            push(.other(text(subject.start..<end)), from: subject.start)
        }
    }

    private mutating func other(from start: Int, to end: Int) -> Int {
        push(.other(text(start..<end)), from: start)
        return end
    }
}
