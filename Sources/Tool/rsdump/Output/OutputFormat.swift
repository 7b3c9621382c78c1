import ArgumentParser

/// A form in which a command can print its result.
protocol ResultFormat: ExpressibleByArgument, CaseIterable, RawRepresentable<String> {
    static var text: Self { get }
}

extension ResultFormat {
    /// The forms in words, such as `text, json or markdown`.
    static var list: String {
        let names = allCases.map(\.rawValue)
        return names.dropLast().joined(separator: ", ") + " or " + (names.last ?? "")
    }
}

/// The forms of most results.
enum OutputFormat: String, ResultFormat {
    case text
    case json
}
