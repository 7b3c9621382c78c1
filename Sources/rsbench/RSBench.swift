import Foundation

/// `rsbench DUMPS CHANGESETS [RUNS]`: how fast the parts of a refresh and of reading are, within one process, as Markdown
/// tables. `scripts/bench` prepares what it works upon.
@main
enum RSBench {
    static func main() {
        do {
            try run(CommandLine.arguments)
        } catch {
            FileHandle.standardError.write(Data("rsbench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) throws {
        guard (3...4).contains(arguments.count), let runs = arguments.count > 3 ? Int(arguments[3]) : 20, runs > 0
        else {
            throw BenchmarkError("usage: rsbench DUMPS CHANGESETS [RUNS]")
        }
        let input = try Input(dumps: arguments[1], changesets: arguments[2])
        print(try CanonicalRows(input: input, runs: runs).table().text)
        print(try VerifyRows(input: input, runs: runs).table().text)
        print(try PackRows(input: input, runs: runs).table().text)
        print(try ReadRows(input: input, runs: runs).table().text)
    }
}
