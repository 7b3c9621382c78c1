/// A parsed expression: its syntax tree in evaluation order, with operands before their operators.
///
/// The tree is stored as a flat list, so neither evaluating nor freeing a long expression recurses. For example, a
/// filter that combines a thousand locales with `||` is a tree with a thousand levels.
struct FilterProgram: Sendable {
    enum Instruction: Sendable {
        case push(FilterValue)
        /// A name at the root of the context.
        case root(String)
        /// `.x` as an operand: a member of the element being filtered.
        case relative(String)
        case member(String)
        case array(count: Int)
        case object(keys: [String])
        case not
        case binary(BinaryOperator)
        /// Pops the arguments and then the subject from the stack.
        case transform(String, arguments: Int)
        /// Runs the instructions up to `end` for each element of the subject, and keeps the elements with a truthy
        /// result.
        case eachElement(end: Int)
        /// Completes the instructions for one element, and keeps the element if the result is truthy.
        case keepElement
        /// `subject[key]`, where the key does not refer to the subject's elements.
        case subscripting
        /// Jumps, and keeps the value, if its truthiness is `ifTruthy`. Otherwise discards the value and continues.
        case orJump(ifTruthy: Bool, to: Int)
        /// Removes the value from the stack, and jumps if it is falsy.
        case branch(to: Int)
        case jump(to: Int)
    }

    private(set) var instructions: [Instruction] = []
    /// For each instruction, the byte offset of its source in the expression.
    private(set) var offsets: [Int] = []

    var count: Int { instructions.count }

    mutating func append(_ instruction: Instruction, at offset: Int) {
        instructions.append(instruction)
        offsets.append(offset)
    }

    /// Appends a placeholder for an instruction that ``fill(_:with:)`` inserts later, and returns its index.
    mutating func reserve(at offset: Int) -> Int {
        append(.jump(to: 0), at: offset)
        return count - 1
    }

    mutating func fill(_ place: Int, with instruction: Instruction) {
        instructions[place] = instruction
    }
}
