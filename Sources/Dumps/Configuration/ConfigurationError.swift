/// What is wrong with `dumps.yaml`, where, and the way out.
public struct ConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    public let file: String
    /// From 1; `nil` where the file as a whole is meant.
    public let line: Int?
    public let problem: String
    public let remedy: String

    public init(file: String, line: Int? = nil, problem: String, remedy: String) {
        self.file = file
        self.line = line
        self.problem = problem
        self.remedy = remedy
    }

    public var description: String {
        "\(file)\(line.map { ":\($0)" } ?? ""): \(problem); \(remedy)"
    }
}
