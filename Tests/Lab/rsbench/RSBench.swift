#if Lab
import Foundation

/// How fast the parts of a refresh, of reading and of the library are, within one process, as Markdown tables.
/// `Tests/Benchmark/bench` prepares what it works upon.
@main
enum RSBench {
    private static let usage = """
        usage: rsbench refresh DUMPS CHANGESETS [RUNS]
               rsbench stored DUMPS COLLECTION OUTPUT
               rsbench runtime DUMPS STORED STORAGE COLLECTION [RUNS]
               rsbench catalogue DUMPS STORAGE COLLECTION ORIGIN [RUNS]
               rsbench sync DUMPS COLLECTION [SECONDS]
               rsbench config [RUNS]
        """

    static func main() async {
        do {
            try await run(CommandLine.arguments)
        } catch {
            FileHandle.standardError.write(Data("rsbench: \(error)\n".utf8))
            exit(1)
        }
    }

    private static func run(_ arguments: [String]) async throws {
        let words = Array(arguments.dropFirst(2))
        func number(_ position: Int, _ usual: Int) throws -> Int {
            guard words.count > position else { return usual }
            guard words.count == position + 1, let number = Int(words[position]), number > 0 else {
                throw BenchmarkError(usage)
            }
            return number
        }
        switch (arguments.dropFirst().first, words.count) {
        case ("refresh", 2...3):
            let runs = try number(2, 20)
            let input = try Input(dumps: words[0], changesets: words[1])
            print(try CanonicalRows(input: input, runs: runs).table().text)
            print(try VerifyRows(input: input, runs: runs).table().text)
            print(try PackRows(input: input, runs: runs).table().text)
            print(try ReadRows(input: input, runs: runs).table().text)
        case ("stored", 3): try StoredBundle.write(words[1], of: words[0], to: words[2])
        case ("runtime", 4...5):
            let dumps = try PackagedDumps(words[0], words[3])
            let rows = RuntimeRows(
                deflated: dumps, stored: try PackagedDumps(words[1], words[3]), storage: words[2],
                runs: try number(4, 20))
            print(try rows.table().text)
            print(try rows.ratios())
            print(try rows.comparison().text)
        case ("catalogue", 4...5):
            let rows = CatalogueRows(
                dumps: try PackagedDumps(words[0], words[2]), storage: words[1], publisher: words[3],
                runs: try number(4, 200))
            print(try rows.table().text)
        case ("sync", 2...3):
            print(try await SyncRows(dumps: try PackagedDumps(words[0], words[1]), seconds: try number(2, 3)).text())
        case ("config", 0...1):
            let runs = try number(0, 20)
            print(try await ConfigRows(runs: runs).table().text)
            if let memory = try await ConfigRows(runs: runs).memory() { print(memory) }
        default: throw BenchmarkError(usage)
        }
    }
}
#else
@main
struct WithoutLab {
    static func main() {
        print("rsbench was built without its trait; try: swift build --traits Lab --product rsbench")
    }
}
#endif
