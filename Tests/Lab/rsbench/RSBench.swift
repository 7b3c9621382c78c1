import Foundation

/// How fast the library reads, within one process, as Markdown tables.
/// `Tests/Benchmark/bench` prepares what it works upon.
@main
enum RSBench {
    private static let usage = """
        usage: rsbench stored DUMPS COLLECTION OUTPUT
               rsbench runtime DUMPS STORED STORAGE COLLECTION
        """

    static func main() {
        do {
            try run(CommandLine.arguments)
        } catch {
            FileHandle.standardError.write(Data("rsbench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) throws {
        let words = Array(arguments.dropFirst(2))
        switch (arguments.dropFirst().first, words.count) {
        case ("stored", 3): try StoredBundle.write(words[1], of: words[0], to: words[2])
        case ("runtime", 4):
            let dumps = try PackagedDumps(words[0], words[3])
            let rows = RuntimeRows(
                deflated: dumps, stored: try PackagedDumps(words[1], words[3]), storage: words[2], runs: 20)
            print(try rows.table().text)
            print(try rows.comparison().text)
        default: throw BenchmarkError(usage)
        }
    }
}
