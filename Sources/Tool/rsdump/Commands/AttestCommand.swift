import ArgumentParser
import Dumps
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// `rsdump attest`
struct AttestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "attest",
        abstract: "Write what is in a dumps directory, as evidence.",
        discussion: """
            Verifies every bundle, and then writes an in-toto statement: the SHA-256 of dumps.yaml, of the lock and of \
            each bundle, with the content, signer, root and time of verification of each, the commit, the date and \
            the version of rsdump. With --output, SHA256SUMS is written beside it, for sha256sum --check in the dumps \
            directory. rsdump verify --attestation reads the statement back. The statement is not signed; cosign \
            sign-blob signs it.

            Example:
              rsdump attest --output release/dumps.intoto.json
              rsdump verify --attestation release/dumps.intoto.json

            Exits with 3 if a bundle does not verify; nothing is written then.
            """)

    @OptionGroup var dumps: DumpsOptions
    @OptionGroup var trust: TrustOptions

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file to write; standard output if it is not given.", valueName: "file"))
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
                .verificationFailed, "\(bad.id): \(bad.verdict.message ?? bad.verdict.word); nothing is attested")
        }
        let repository = try? await GitRepository(containing: opened.directory.path)
        let attestation = try Attestation(
            of: opened.directory, commit: try? await repository?.revision("HEAD").commit, tool: RSDump.version,
            at: HTTPEnvironment.system.now(), limits: opened.limits)
        guard let output else { return Console.write(attestation.text, to: 1) }
        let folder = FileStore.parent(of: output)
        let sums = "\(folder)/SHA256SUMS"
        let known = try FileStore.read(sums, limit: 64 << 20)?.text ?? ""
        guard known.split(separator: "\n").allSatisfy({ attestation.files[String($0.dropFirst(66))] != nil }) else {
            throw CommandFailure(
                .usage, "\(sums): it has the sums of other files; choose another folder for --output")
        }
        try FileStore.makeDirectories(folder)
        try FileStore.replace(output, with: Bytes(attestation.text))
        try FileStore.replace(sums, with: Bytes(utf8: attestation.sums))
        Console.print("\(output): \(Counted.text(attestation.files.count, "file")) attested; SHA256SUMS is beside it")
    }
}
