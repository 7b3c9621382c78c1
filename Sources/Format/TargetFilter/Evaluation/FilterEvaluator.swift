import RemoteSettingsModel

/// Runs a program in a context. It never recurses, and every step is deducted from the budget.
struct FilterEvaluator {
    /// The state of an element filter, such as `array[.x > 0]`, while it runs over the elements of an array.
    private struct ElementRun {
        let elements: [FilterValue]
        let body: Int
        var position = 0
        var kept: [FilterValue] = []
    }

    private let program: FilterProgram
    private let context: FilterContext
    private(set) var budget: WorkBudget
    private var stack: [FilterValue] = []
    private var runs: [ElementRun] = []
    private var position = 0

    init(_ program: FilterProgram, in context: FilterContext, steps: Int) {
        self.program = program
        self.context = context
        budget = WorkBudget(steps: steps)
    }

    mutating func run() throws(Failure) -> FilterValue {
        while position < program.count {
            try budget.spend(1)
            let instruction = program.instructions[position]
            let offset = program.offsets[position]
            position += 1
            try execute(instruction, at: offset)
        }
        return pop()
    }

    private mutating func pop() -> FilterValue { stack.popLast() ?? .undefined }

    private mutating func pop(_ count: Int) -> [FilterValue] {
        let values = Array(stack.suffix(count))
        stack.removeLast(values.count)
        return values
    }

    private mutating func execute(_ instruction: FilterProgram.Instruction, at offset: Int) throws(Failure) {
        switch instruction {
        case .push(let value): stack.append(value)
        case .root(let name): stack.append(try look(name, in: context.root))
        case .relative(let name): stack.append(try relative(name))
        case .member(let name):
            try budget.spend(text: name.utf8.count)
            stack.append(pop().member(name))
        case .array(let count):
            try budget.check(elements: count)
            try budget.spend(count)
            stack.append(.array(pop(count)))
        case .object(let keys):
            try budget.check(elements: keys.count)
            for key in keys { try budget.spend(text: key.utf8.count + 16) }
            stack.append(.object(FilterObject(zip(keys, pop(keys.count)).map { (key: $0, value: $1) })))
        case .not: stack.append(.bool(!pop().isTruthy))
        case .binary(let operation):
            let right = pop()
            let left = pop()
            stack.append(try BinaryOperation(operation: operation, offset: offset).apply(left, right, budget: &budget))
        case .transform(let name, let count): try transform(name, count, at: offset)
        case .subscripting: try subscripting()
        case .eachElement(let end): start(end: end)
        case .keepElement: try keep()
        case .orJump(let ifTruthy, let target):
            if stack.last?.isTruthy == ifTruthy { position = target } else { _ = pop() }
        case .branch(let target): if !pop().isTruthy { position = target }
        case .jump(let target): position = target
        }
    }

    private mutating func look(_ name: String, in object: FilterObject) throws(Failure) -> FilterValue {
        try budget.spend(text: name.utf8.count)
        return object[name]
    }

    /// Evaluates `.x`. Outside an element filter (`array[…]`), it is a name at the root, as in mozjexl.
    private mutating func relative(_ name: String) throws(Failure) -> FilterValue {
        guard let run = runs.last else { return try look(name, in: context.root) }
        guard case .object(let object) = run.elements[run.position] else { return .undefined }
        return try look(name, in: object)
    }

    private mutating func transform(_ name: String, _ count: Int, at offset: Int) throws(Failure) {
        let arguments = pop(count)
        let subject = pop()
        guard let transform = FilterTransform(rawValue: name) else {
            throw .unknownTransform(name: name, offset: offset)
        }
        var call = TransformCall(subject: subject, arguments: arguments, context: context, offset: offset)
        stack.append(try call.apply(transform, budget: &budget))
    }

    /// Evaluates `subject[key]`. A boolean keeps or discards the whole subject. Any other value is an index or a key.
    private mutating func subscripting() throws(Failure) {
        let key = pop()
        let subject = pop()
        if case .string(let name) = key { try budget.spend(text: name.utf8.count) }
        if case .bool(let keeps) = key {
            stack.append(keeps ? subject : .undefined)
        } else {
            stack.append(subject.element(key))
        }
    }

    /// Starts an element filter. A subject that is not an array is treated as an array of one element. `undefined`
    /// remains `undefined`.
    private mutating func start(end: Int) {
        let subject = pop()
        switch subject {
        case .undefined:
            stack.append(.undefined)
            position = end
        case .array(let elements) where elements.isEmpty:
            stack.append(subject)
            position = end
        case .array(let elements): runs.append(ElementRun(elements: elements, body: position))
        default: runs.append(ElementRun(elements: [subject], body: position))
        }
    }

    private mutating func keep() throws(Failure) {
        let keeps = pop().isTruthy
        guard var run = runs.popLast() else { return }
        if keeps { run.kept.append(run.elements[run.position]) }
        run.position += 1
        if run.position < run.elements.count {
            position = run.body
            runs.append(run)
        } else {
            try budget.check(elements: run.kept.count)
            stack.append(.array(run.kept))
        }
    }
}
