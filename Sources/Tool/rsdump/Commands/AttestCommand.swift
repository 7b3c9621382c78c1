import ArgumentParser
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump attest`
struct AttestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attest",
        abstract: "Write a statement of what is in a dumps directory.",
        discussion: """
            Verifies every bundle, and then writes an in-toto statement. It has the SHA-256 of dumps.yaml, of the lock \
            and of each bundle; the content, signer, root and time of verification of each bundle; the commit; the \
            date; and the version of rsdump. With --output, SHA256SUMS is written beside it, for sha256sum --check in \
            the dumps directory. rsdump verify --attestation compares a directory with the statement. The statement is \
            not signed; cosign sign-blob can sign it.

            Example:
              rsdump attest --output release/dumps.intoto.json
              rsdump verify --attestation release/dumps.intoto.json

            Exits with 3, and writes nothing, if a bundle does not verify.
            """)

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var trust: TrustOptions

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file to write; standard output by default.", valueName: "file"))
    var output: String?

    mutating func run() async throws {
        let held = try await dumps.checkOutCommit()
        defer { withExtendedLifetime(held) {} }
        try FileStore.checkOutput(output)
        let opened = try OpenDumps(dumps, applying: trust.applied)
        let outcomes = try await Verification(opened.directory, policy: opened.policy, limits: opened.limits)
            .run([], configured: opened.configuration.allCollections)
        if let bad = outcomes.first(where: { !$0.verdict.isGood }) {
            throw CommandFailure(
                .verificationFailed, "\(bad.id): \(bad.verdict.message ?? bad.verdict.word); nothing was written")
        }
        let repository = try? await GitRepository(containing: opened.directory.path)
        let attestation = try Attestation(
            of: opened.directory, commit: try? await repository?.revision("HEAD").commit, tool: RSDump.version,
            at: HTTPEnvironment.system.now(), limits: opened.limits)
        guard let output else { return Console.write(attestation.text, to: 1) }
        let folder = FileStore.parent(of: output)
        let sums = "\(folder)/SHA256SUMS"
        let known = try FileStore.read(sums, limit: Attestation.mostBytes)?.text ?? ""
        guard known.split(separator: "\n").allSatisfy({ attestation.files[String($0.dropFirst(66))] != nil }) else {
            throw CommandFailure(
                .usage, "\(sums) has the sums of other files; give --output in another folder")
        }
        try FileStore.makeDirectories(folder)
        try FileStore.replace(output, with: Bytes(attestation.text), limit: Attestation.mostBytes)
        try FileStore.replace(sums, with: Bytes(utf8: attestation.sums), limit: Attestation.mostBytes)
        Console.print("\(output): \(Counted.text(attestation.files.count, "file")) attested; SHA256SUMS is beside it")
    }
}
