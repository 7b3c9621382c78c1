import ArgumentParser
import Dumps
import Job
import Publish
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// rsdump publish --push, the publishing job of a repository with sources/, dumps/ and keys/.
extension PublishCommand {
    /// The days for which a signing key that a run makes for itself is valid.
    private static let ownKeyDays = 60

    /// Publishes in the job's own tree, and pushes the result.
    ///
    /// With the secret RSDUMP_INTERMEDIATE_KEY, the run makes a signing key of its own, which nobody keeps.
    func publishAndPush() async throws {
        let variables = ProcessInfo.processInfo.environment
        let (sources, dumps) = (try NightlyCommand.place(options.path), try NightlyCommand.place(dumps.path))
        let own = try TemporaryDirectory()
        defer { withExtendedLifetime(own) {} }
        let clone = try await JobClone(remote: "origin")
        let branch =
            variables["CI_COMMIT_BRANCH"]
            ?? (variables["GITHUB_ACTIONS"] == nil ? nil : variables["GITHUB_REF_NAME"])
        let commit = try await PublishJob(clone, branch: branch, dumps: dumps).run(
            reading: resign ? [] : [sources], message: resign ? "Sign \(dumps) again" : "Publish \(sources)"
        ) { tree in
            Console.show("", for: "\(tree)/")
            var command = self
            command.options.path = "\(tree)/\(sources)"
            command.dumps.path = "\(tree)/\(dumps)"
            command.keys = try keys(in: tree, own: "\(own.path)/keys")
            if !resign {
                let check = ["--sources", command.options.path, "--dumps", command.dumps.path]
                try await CheckCommand.parse(check).run()
            }
            try await command.publish(at: HTTPEnvironment.system.now())
            var verifying = try VerifyCommand.parse(["--dumps", command.dumps.path])
            try await verifying.run()
            if resign {
                // Fails if a certificate expires soon, which a new signature does not change.
                try await KeysCommand.StatusCommand.parse([command.keys]).run()
            }
        }
        Console.print(commit.map { "pushed \($0.prefix(12)); to have it here, run: git pull" } ?? "nothing changed")
    }

    /// Returns the directory of the keys: the given one if it has private keys, or else that of the commit.
    private func keys(in tree: String, own: String) throws -> String {
        let given = keys.withoutTrailingSlashes
        let hasKeys = try (FileStore.list(given) ?? []).contains { $0.hasSuffix(".key") }
        let committed = "\(tree)/\(given)"
        let place = try !hasKeys && FileStore.isDirectory(committed) ? committed : given
        guard KeysCommand.environment[KeyDirectory.variable(.intermediate)] != nil, signWith == nil else {
            return place
        }
        try FileStore.makeDirectories(own)
        for name in ["root.pem", "intermediate.pem", "chain.pem"] {
            guard let certificate = try FileStore.read("\(place)/\(name)", limit: 1 << 20) else { continue }
            try FileStore.replace("\(own)/\(name)", with: certificate)
        }
        let end = try KeyDirectory(own).renew(
            named: nil, days: Self.ownKeyDays, environment: KeysCommand.environment, now: HTTPEnvironment.system.now())
        Console.error("this run signs with a key of its own, whose certificate is valid until \(end.rfc3339)")
        return own
    }
}
