/// The binary operators. All are left-associative.
enum BinaryOperator: String {
    case and = "&&"
    case or = "||"
    case equal = "=="
    case notEqual = "!="
    case greater = ">"
    case greaterOrEqual = ">="
    case less = "<"
    case lessOrEqual = "<="
    case contained = "in"
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
    case floorDivide = "//"
    case intersect = "intersect"
    case remainder = "%"
    case power = "^"

    /// The operator's precedence. `&&` and `||` have the same level, as in both of Mozilla's clients.
    var precedence: Int {
        switch self {
        case .and, .or: 10
        case .equal, .notEqual, .greater, .greaterOrEqual, .less, .lessOrEqual, .contained: 20
        case .add, .subtract: 30
        case .multiply, .divide, .floorDivide, .intersect: 40
        case .remainder, .power: 50
        }
    }

    init?(_ token: FilterToken) {
        switch token.kind {
        case .symbol(let text), .name(let text): self.init(rawValue: text)
        default: return nil
        }
    }
}
