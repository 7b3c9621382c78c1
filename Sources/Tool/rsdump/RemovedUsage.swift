/// What earlier builds had, and what replaces it.
///
/// Whatever is removed gets a row here and in `CHANGELOG.md`, so that a script that still uses it learns what to do.
enum RemovedUsage {
    /// The beginning of a command line, or a command with one of its options, and what to do instead.
    private static let replacements: KeyValuePairs = [
        "upload":
            "use the script remote-settings-upload (Examples/object-store/upload), which works with rclone and the "
            + "AWS command line",
        "export --to edge":
            "the table in the article \"Object stores and CDNs\" says what an edge must do",
        "export --bucket-url":
            "the table in the article \"Object stores and CDNs\" says what an edge must do",
        "export --updates":
            "serve the mirror with Examples/nginx/mirror.conf, which has the update channel",
        "export --updates-redis":
            "run export with --on-change on each host, so that it tells its own clients",
        "--origin":
            "use --publisher",
        "publish --no-release":
            "use --no-catalogue",
        "--notify":
            "use --on-change with a command of Examples/on-change (webhook, fcm, apns, slack, email)",
        "watch --exec":
            "use watch --refresh with --on-change, whose command has the change as JSON on its standard input",
        "list --trust-root":
            "leave it out, because list verifies nothing",
        "serve --tls-cert":
            "serve plain HTTP on loopback, behind nginx or Caddy with TLS (Examples/nginx/remote-settings.conf)",
        "serve --tls-key":
            "serve plain HTTP on loopback, behind nginx or Caddy with TLS (Examples/nginx/remote-settings.conf)",
    ]

    /// - Parameter arguments: those of the process, without its name.
    /// - Throws: a failure with the exit code of bad usage if they name something that was removed.
    static func check(_ arguments: some Sequence<String>) throws(CommandFailure) {
        let words = arguments.prefix { $0 != "--" }.flatMap { argument in
            argument.hasPrefix("--") ? argument.split(separator: "=", maxSplits: 1) : [argument[...]]
        }
        for (removed, instead) in replacements where names(words, removed) {
            throw CommandFailure(.usage, "rsdump \(removed) was removed before 0.1.0; \(instead)")
        }
    }

    private static func names(_ words: [Substring], _ removed: String) -> Bool {
        let parts = removed.split(separator: " ")
        let command = parts.prefix { !$0.hasPrefix("-") }
        let option = parts.dropFirst(command.count)
        return words.starts(with: command)
            && (option.isEmpty || words.indices.contains { words[$0...].starts(with: option) })
    }
}
