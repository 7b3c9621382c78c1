import ArgumentParser
import ContentSigning
import Dumps
import Publish
import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `rsdump keys`
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Create, renew and show the keys that publish signs with.",
        discussion: """
            Apps pin root.pem. To sign, publish needs signer.key and chain.pem, or the environment variables \
            \(KeyDirectory.variable(.signer)) and \(KeyDirectory.chainVariable).
              rsdump keys create keys
              rsdump keys renew keys
            For details, see Keys.md in share/doc/rsdump.
            """,
        subcommands: [Create.self, Request.self, Issue.self, Renew.self, StatusCommand.self])

    /// The environment variables that are set and contain keys or chains as PEM, in place of files.
    static var environment: [String: String] {
        let names = CertificateRole.allCases.map(KeyDirectory.variable) + [KeyDirectory.chainVariable]
        return ProcessInfo.processInfo.environment.filter { names.contains($0.key) && !$0.value.isEmpty }
    }

    struct DirectoryArgument: ParsableArguments {
        @Argument(help: ArgumentHelp("The directory of the keys.", valueName: "dir"))
        var path: String

        var keys: KeyDirectory { KeyDirectory(path.withoutTrailingSlashes) }
    }

    static func checkDays(_ days: Int?, _ option: String) throws {
        guard let days, !(1...36_500).contains(days) else { return }
        throw ValidationError("\(option) expects 1 to 36500; found \(days)")
    }

    /// Writes PEM data to a file, or to standard output.
    static func put(_ pem: Bytes, to output: FileOutput) throws {
        try KeyDirectory.checkOutput(output.path)
        try output.write(pem)
    }

    /// The options for a new signing certificate: its key and lifetime.
    struct SignerOptions: ParsableArguments {
        @Option(
            help: ArgumentHelp(
                "Issue the signing certificate for this public key (PEM); create no signing key.", valueName: "file"))
        var signerPublicKey: String?

        @Option(
            name: .customLong("days"),
            help: ArgumentHelp(
                "How many days the signing certificate is valid; \(KeyDirectory.Plan().signerDays) by default.",
                valueName: "days"))
        var validity: Int?

        func validate() throws { try checkDays(validity, "--days") }

        var isGiven: Bool { signerPublicKey != nil || validity != nil }
        var days: Int { validity ?? KeyDirectory.Plan().signerDays }

        func key() throws -> PublicKey? { try signerPublicKey.map { try PublicKey(pem: read($0), place: $0) } }
    }

    /// The options for a certificate to request, or to issue for a request.
    struct CertificateOptions: ParsableArguments {
        @Option(
            name: .customLong("for"), help: ArgumentHelp("The certificate: intermediate or signer.", valueName: "role"))
        var role: RequestedRole

        @Option(
            help: ArgumentHelp("The name in the certificate, such as \(SignerName.remoteSettings).", valueName: "name"))
        var name: String?

        @OptionGroup var output: FileOutput
    }

    static func read(_ path: String) throws -> Bytes {
        guard let bytes = try FileStore.read(path, limit: Limits.chainBytes) else {
            throw CommandFailure(.usage, "\(path): there is no such file; give a PEM file")
        }
        return bytes
    }
}

extension KeysCommand {
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Create a root, an intermediate and a signing certificate, with their keys.")

        @OptionGroup var directory: DirectoryArgument

        @Option(
            help: ArgumentHelp(
                "The beginning of the names of the root and intermediate certificates.", valueName: "text"))
        var name = KeyDirectory.Plan().name

        @Option(
            help: ArgumentHelp(
                "The DNS name in the signing certificate; by default, \(SignerName.remoteSettings), which clients "
                    + "expect by default.", valueName: "name"))
        var signer: String?

        @OptionGroup var options: SignerOptions

        func validate() throws {
            // The name with the suffix " intermediate" must fit into the 64 characters of a common name.
            guard (1...51).contains(name.unicodeScalars.count) else {
                throw ValidationError("--name expects 1 to 51 characters; found \(name.unicodeScalars.count)")
            }
        }

        func run() async throws {
            var plan = KeyDirectory.Plan()
            plan.name = name
            if let signer = self.signer { plan.signer = SignerName(signer) }
            plan.signerKey = try options.key()
            plan.signerDays = options.days
            let keys = directory.keys
            let root = try keys.create(plan, now: HTTPEnvironment.system.now())
            let isDefault = plan.signer == .remoteSettings
            let signer = isDefault ? "" : "\n  config.signer = \"\(plan.signer)\""
            let needed = plan.signerKey == nil ? keys.keyPath(.signer) : "--sign-with"
            Console.print(
                """
                trust-root \(root)

                In the app:
                  \(isDefault ? "let" : "var") config = RemoteSettingsConfig(
                      server: …, trustRoots: try TrustAnchors(parsing: ["\(root)"]))\(signer)

                In dumps.yaml (if it does not exist, publish creates it with this):
                  trust:
                    roots:
                      - "\(root)"\(isDefault ? "" : "\n    signer: \(plan.signer)")

                Keep \(keys.keyPath(.root)) and \(keys.keyPath(.intermediate)) away from the machine that publishes, \
                which needs only \(needed) and \(keys.certificatePath(.signer)). If \(keys.keyPath(.root)) is lost, \
                apps need an update to trust a new root.
                """)
        }
    }

    struct Request: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "request",
            abstract: "Create a key, and a certificate request to send to the issuer.",
            discussion: """
                Use this if someone else keeps the root or intermediate key. The key stays in the directory; install \
                the certificate with keys renew. Without --name, the request has the name that clients expect.
                  rsdump keys request keys --for signer --output signer.csr
                For details, see Keys.md in share/doc/rsdump.
                """)

        @OptionGroup var directory: DirectoryArgument

        @OptionGroup var certificate: CertificateOptions

        func run() async throws {
            try KeyDirectory.checkOutput(certificate.output.path)
            let role = certificate.role
            let usual = role == .signer ? SignerName.remoteSettings.dnsName : "Remote Settings intermediate"
            let keys = directory.keys
            let request = try keys.request(role.role, named: certificate.name ?? usual)
            try put(request.pem(), to: certificate.output)
            Console.error(
                """
                rsdump: the request is for \(request.name ?? usual), \(request.keyText)
                The private key is in \(keys.path). Tell the holder of the issuer's key the name and the key above, over \
                a different channel than the request. When you receive the certificate, install it with: rsdump keys \
                renew \(ShellWord.quoted(keys.path)) --certificate FILE
                """)
        }
    }

    struct Issue: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "issue",
            abstract: "Issue a certificate for a request.",
            usage: "rsdump keys issue <dir> <request.pem> --for <role> [<options>]",
            discussion: """
                Intermediate certificates are signed with the root key, and signing certificates with the \
                intermediate key.

                Without --name, the command fails and shows the name and the key in the request. Compare them with \
                those that keys request showed to the sender, then issue the certificate with --name.
                  rsdump keys issue keys signer.csr --for signer --name NAME --output signer.pem
                For details, see Keys.md in share/doc/rsdump.
                """)

        @OptionGroup var directory: DirectoryArgument

        @Argument(help: ArgumentHelp("The request that rsdump keys request wrote.", valueName: "request.pem"))
        var request: String

        @OptionGroup var certificate: CertificateOptions

        @Option(
            help: ArgumentHelp(
                "How many days the certificate is valid; by default, \(KeyDirectory.Plan().signerDays), or "
                    + "\(KeyDirectory.Plan().intermediateDays) for an intermediate.",
                valueName: "days"))
        var days: Int?

        func validate() throws { try checkDays(days, "--days") }

        func run() async throws {
            try KeyDirectory.checkOutput(certificate.output.path)
            let (role, name) = (certificate.role, certificate.name)
            let plan = KeyDirectory.Plan()
            let request = try CertificateRequest(pem: read(self.request), place: self.request)
            let issued = try directory.keys.issue(
                request, as: role.role, named: name,
                days: days ?? (role == .signer ? plan.signerDays : plan.intermediateDays),
                environment: environment, now: HTTPEnvironment.system.now())
            try put(issued, to: certificate.output)
            let end = try SigningCertificate.all(of: issued, place: self.request)[0].notAfter.rfc3339
            Console.error(
                "rsdump: issued the \(role.rawValue) certificate for \(name ?? ""), \(request.keyText), valid until "
                    + "\(end)"
            )
        }
    }

    struct Renew: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "renew",
            abstract: "Replace the signing key and certificate, or install an issued certificate.",
            usage: "rsdump keys renew <dir> [<options>]",
            discussion: """
                Prints the next command. Exits with 2 if the issuer's key is not in the directory.
                  rsdump keys renew keys && rsdump publish --resign
                  rsdump keys renew keys --certificate signer.pem
                For details, see Keys.md in share/doc/rsdump.
                """)

        @OptionGroup var directory: DirectoryArgument

        @Option(
            help: ArgumentHelp(
                "The DNS name in the signing certificate; the current one by default.", valueName: "name"))
        var signer: String?

        @OptionGroup var options: SignerOptions

        @Flag(help: "Also replace the intermediate key and certificate; requires the root key.")
        var intermediate = false

        @Option(help: ArgumentHelp("Install this certificate, issued for an open request.", valueName: "file"))
        var certificate: String?

        @Option(
            help: ArgumentHelp(
                "The SHA-256 of the root that issued --certificate, as its owner told you; required if the directory "
                    + "has no root.pem, or a different root.", valueName: "sha-256"))
        var root: String?

        func validate() throws {
            if root != nil, certificate == nil { throw ValidationError("--root requires --certificate") }
            if certificate != nil, intermediate || signer != nil || options.isGiven {
                throw ValidationError(
                    "--certificate cannot be combined with --days, --intermediate, --signer or --signer-public-key")
            }
        }

        func run() async throws {
            let keys = directory.keys
            let now = HTTPEnvironment.system.now()
            if let certificate {
                return try install(certificate, in: keys, at: now)
            }
            let end = try keys.renew(
                named: signer.map { SignerName($0) }, for: options.key(), days: options.days,
                includingIntermediate: intermediate ? KeyDirectory.Plan().intermediateDays : nil,
                environment: environment, now: now)
            let what = intermediate ? "intermediate and the signing certificate" : "signing certificate"
            let isCut = end.elapsed(since: now) < .seconds(options.days * 86_400 - 1)
            let limit = isCut ? ", when the intermediate expires" : ""
            Console.print("renewed the \(what), valid until \(end.rfc3339)\(limit); next: \(keys.resignCommand)")
        }

        /// Installs a certificate that was issued elsewhere, under the same root or under the root of --root.
        private func install(_ certificate: String, in keys: KeyDirectory, at now: Timestamp) throws {
            let root = try root.map { try TrustAnchors(hashes: [$0]).roots[0] }
            let role = try keys.install(read(certificate), place: certificate, changingRootTo: root, now: now)
            let next = role == .signer ? keys.resignCommand : "rsdump keys renew \(ShellWord.quoted(keys.path))"
            Console.print("installed the \(role.rawValue) certificate; next: \(next)")
            if let root { Console.print("trust-root \(root)") }
        }
    }

    struct StatusCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show the certificates and keys, and when the certificates expire.",
            discussion:
                "Exits with 1 if a certificate expires within --warn-days, or if a key does not match its certificate.")

        @OptionGroup var directory: DirectoryArgument

        @Option(help: ArgumentHelp("Warn this many days before a certificate expires.", valueName: "days"))
        var warnDays = 21

        @OptionGroup var result: FormatOption<OutputFormat>

        func validate() throws { try checkDays(warnDays, "--warn-days") }

        func run() async throws {
            let now = HTTPEnvironment.system.now()
            let report = KeyReport(
                try directory.keys.status(environment), in: directory.keys, now: now, warnDays: warnDays)
            try result.print(report.text(.output), report)
            if !report.isGood { throw ExitStatus.someFailed.code }
        }
    }

    enum RequestedRole: String, ExpressibleByArgument, CaseIterable {
        case intermediate
        case signer

        var role: CertificateRole { self == .signer ? .signer : .intermediate }
    }
}

extension CertificateRequest {
    /// The request's key as text, which the requester and the issuer compare.
    fileprivate var keyText: String { "key \(keyDigest.map { "\($0)" } ?? "not on the curve P-384")" }
}

extension KeyReport {
    fileprivate func text(_ style: Style) -> String {
        let texts = lines.map { line in
            let end = line.notAfter.map { "valid until \($0)" } ?? "no certificate"
            let name = line.name.map(Console.visible) ?? "-"
            return "\(line.role.padded(to: 12))  \(name), \(end), key \(line.key)"
                + (line.warning.map { "\n  \(style.yellow("warning")): \(Console.visible($0))" } ?? "")
        }
        return ((root.map { ["trust-root \($0)"] } ?? []) + texts).joined(separator: "\n")
    }
}
