import ArgumentParser

/// An output format of a command.
protocol ResultFormat: ExpressibleByArgument, CaseIterable, RawRepresentable<String> {
    static var text: Self { get }
}

extension ResultFormat {
    /// The formats as a phrase, such as `text, json or markdown`.
    static var list: String {
        let names = allCases.map(\.rawValue)
        return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }
}

/// The output formats of most commands.
enum OutputFormat: String, ResultFormat {
    case text
    case json
}
