// A process for tests that kill it at any moment: repeatedly fetches and activates, each time like a newly started
// process, and prints what it reads.
//
//     test-process config STORAGE SERVER ROOT COLLECTION ROUNDS
//
// Each round prints a line, `<value of "state"> <number of keys>`. With 0 rounds, it reads once and does not fetch.
// With SAFE_START in its environment, starts are counted, and each round that has fetched marks its start as
// successful.
//
//     test-process config STORAGE SERVER ROOT COLLECTION watch
//
// Fetches once, then waits for published changes over the library's own transport, activates each, and prints a line
// for it. Exits at the end of standard input.

import Foundation
import RemoteConfiguration

enum ConfigProcess {
    static func run(_ arguments: [String]) async throws {
        let watches = arguments.dropFirst(5).first == "watch"
        guard arguments.count == 6, let rounds = watches ? 1 : Int(arguments[5]) else {
            print("usage: test-process config STORAGE SERVER ROOT COLLECTION ROUNDS|watch")
            exit(2)
        }
        let roots = try TrustAnchors(parsing: [arguments[3]])

        /// Creates a remote config, as in a newly started process.
        func start() -> RemoteConfig {
            var config = RemoteSettingsConfig(server: .custom(url: arguments[2]), trustRoots: roots)
            config.log = { _ in }
            config.usesSafeStart = ProcessInfo.processInfo.environment["SAFE_START"] != nil
            return RemoteConfig(
                collection: arguments[4],
                service: RemoteSettingsService(storageDirectory: arguments[1], config: config),
                settings: RemoteConfigSettings(minimumFetchInterval: 0, fetchesPerHour: .max))
        }

        func report(_ config: RemoteConfig) {
            let values = config.snapshot()
            let keys = values.keys(withPrefix: nil)
            let states = Set(keys.map { values[$0].stringValue })
            FileHandle.standardOutput.write(Data("\(states.sorted().joined(separator: ",")) \(keys.count)\n".utf8))
        }

        func fetch(rounds: Int) async {
            for round in 0..<rounds {
                let config = start()
                do {
                    try await config.setCustomSignals(["round": .integer(round)])
                    try await config.fetchAndActivate()
                    try config.markStartSuccessful()
                } catch {
                    // The fetch may fail because the test is changing the server's data or has stopped the server.
                    continue
                }
                report(config)
            }
        }

        func watch() async throws {
            let config = start()
            try await config.fetchAndActivate()
            report(config)
            while true {
                do {
                    for try await _ in config.configUpdates {
                        try await config.activate()
                        report(config)
                    }
                    return
                } catch let error as RemoteConfigUpdateError {
                    // The stream has ended, but updates are still wanted.
                    FileHandle.standardError.write(Data("\(error)\n".utf8))
                }
            }
        }

        /// Exits at the end of standard input.
        func endWithInput() {
            Thread.detachNewThread {
                while readLine() != nil {}
                exit(0)
            }
        }

        if rounds == 0 { report(start()) }
        if watches {
            endWithInput()
            try await watch()
        } else {
            await fetch(rounds: rounds)
        }
    }
}
