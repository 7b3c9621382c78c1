import ArgumentParser

/// An output format of a command.
protocol ResultFormat: ExpressibleByArgument, CaseIterable, RawRepresentable<String> {
    static var text: Self { get }
}

/// The output formats of most commands.
enum OutputFormat: String, ResultFormat {
    case text
    case json
}
