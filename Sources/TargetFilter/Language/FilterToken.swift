/// One word of the language, with the bytes of the expression that it takes.
struct FilterToken: Equatable {
    enum Kind: Equatable {
        case number(Double)
        case text(String)
        /// A name, or one of the words `true`, `false`, `null`, `in`, `intersect`.
        case name(String)
        /// An operator or a bracket.
        case symbol(String)
        case end
    }

    let kind: Kind
    let offset: Int

    /// How an error names the token.
    var found: String {
        switch kind {
        case .number(let value): "the number \(NumberText.text(value))"
        case .text: "a string"
        case .name(let name): "'\(name.prefix(40))'"
        case .symbol(let symbol): "'\(symbol)'"
        case .end: "the end"
        }
    }
}
