/// The tool's version: what `--version` prints and what servers see as `User-Agent`.
enum Version {
    static let text = "0.1.0"
}
