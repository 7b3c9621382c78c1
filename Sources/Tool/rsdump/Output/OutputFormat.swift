import ArgumentParser

/// A form in which a command can print its result.
protocol ResultFormat: ExpressibleByArgument, CaseIterable, RawRepresentable<String> {
    static var text: Self { get }
}

/// The forms of most results.
enum OutputFormat: String, ResultFormat {
    case text
    case json
}
