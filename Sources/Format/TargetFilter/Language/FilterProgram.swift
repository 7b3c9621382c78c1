/// A parsed expression: its syntax tree in the order of evaluation, with operands before their operators.
///
/// The tree is flat, so neither evaluating nor freeing a long expression recurses. A filter that lists a thousand
/// locales with `||` is a tree with a thousand levels.
struct FilterProgram: Sendable {
    enum Instruction: Sendable {
        case push(FilterValue)
        /// A name at the root of the context.
        case root(String)
        /// `.x` as an operand: a name in the element that is being filtered.
        case relative(String)
        case member(String)
        case array(count: Int)
        case object(keys: [String])
        case not
        case binary(BinaryOperator)
        /// Takes the arguments and then the subject from the stack.
        case transform(String, arguments: Int)
        /// Runs the instructions up to `end` for each element of the subject, and keeps the elements for which the
        /// result is truthy.
        case eachElement(end: Int)
        /// The last instruction of such a run.
        case keepElement
        /// `subject[key]`, if the key does not refer to the subject's elements.
        case subscripting
        /// Jumps and keeps the value if its truth is `ifTruthy`. Otherwise removes the value and continues.
        case orJump(ifTruthy: Bool, to: Int)
        /// Removes the value, and jumps if it is falsy.
        case branch(to: Int)
        case jump(to: Int)
    }

    private(set) var instructions: [Instruction] = []
    /// The offset in the expression, in bytes, from which each instruction was compiled.
    private(set) var offsets: [Int] = []

    var count: Int { instructions.count }

    mutating func append(_ instruction: Instruction, at offset: Int) {
        instructions.append(instruction)
        offsets.append(offset)
    }

    /// Adds a placeholder for an instruction that ``fill(_:with:)`` supplies later, and returns its index.
    mutating func reserve(at offset: Int) -> Int {
        append(.jump(to: 0), at: offset)
        return count - 1
    }

    mutating func fill(_ place: Int, with instruction: Instruction) {
        instructions[place] = instruction
    }
}
