import ArgumentParser
import ContentSigning
import RemoteSettingsHTTP
import RemoteSettingsModel
import SigningKeys
import SnapshotBundle
import SnapshotTrust

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// `rsdump keys`
struct KeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Make, renew and show the keys that publish signs with.",
        discussion: """
            A directory of keys holds root.key, intermediate.key and signer.key, which only their owner can read. It \
            also holds the certificates root.pem, intermediate.pem and chain.pem, which are public. Apps pin the root. \
            publish needs only signer.key and chain.pem. Keep root.key on a machine that publishes nothing, and \
            intermediate.key on the machine that renews the signing certificate.

            An environment variable may hold the PEM text in place of a file: \(KeyDirectory.variable(.signer)), \
            \(KeyDirectory.chainVariable), \(KeyDirectory.variable(.intermediate)), \(KeyDirectory.variable(.root)).

            Examples:
              rsdump keys create keys
              rsdump keys status keys
              rsdump keys renew keys

            If the root's key is elsewhere:
              rsdump keys request keys --for intermediate --output req.pem
              rsdump keys issue ROOT req.pem --as intermediate --name NAME --output new.pem
              rsdump keys renew keys --certificate new.pem
            """,
        subcommands: [
            Create.self, Request.self, Issue.self, Renew.self, ChangeRoot.self, StatusCommand.self,
        ])

    /// The environment variables, some of which may hold PEM texts in place of files.
    static var environment: [String: String] {
        let names = CertificateRole.allCases.map(KeyDirectory.variable) + [KeyDirectory.chainVariable]
        return ProcessInfo.processInfo.environment.filter { names.contains($0.key) && !$0.value.isEmpty }
    }

    struct DirectoryArgument: ParsableArguments {
        @Argument(help: ArgumentHelp("The directory that holds the keys.", valueName: "dir"))
        var path: String

        var keys: KeyDirectory { KeyDirectory(path.withoutTrailingSlashes) }
    }

    static func checkDays(_ days: Int?, _ option: String) throws {
        guard let days, !(1...36_500).contains(days) else { return }
        throw ValidationError("\(option) expects 1 to 36500; found \(days)")
    }

    /// Writes a PEM text to a file, or to standard output.
    static func put(_ pem: Bytes, to output: String?) throws {
        guard let output else { return Console.write(pem.array, to: 1) }
        try KeyDirectory.checkOutput(output)
        try FileStore.writeOutput(output, pem)
    }

    static func signerKey(_ path: String?) throws -> PublicKey? {
        try path.map { try PublicKey(pem: read($0), place: $0) }
    }

    static func read(_ path: String) throws -> Bytes {
        guard let bytes = try FileStore.read(path, limit: Limits().chainBytes) else {
            throw CommandFailure(.usage, "\(path): there is no such file; name a PEM file")
        }
        return bytes
    }
}

extension KeysCommand {
    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "create",
            abstract: "Make a root, an intermediate and a signing certificate with their keys.")

        @OptionGroup var directory: DirectoryArgument

        @Option(help: ArgumentHelp("The first words of each certificate's name.", valueName: "text"))
        var name = KeyDirectory.Plan().name

        @Option(
            help: ArgumentHelp(
                "The DNS name in the signing certificate. Clients expect the default unless they are configured for "
                    + "another.",
                valueName: "name"))
        var signer = SignerName.remoteSettings.dnsName

        @Option(
            help: ArgumentHelp(
                "Issue the signing certificate for this public key (PEM), and make no signing key.", valueName: "file"))
        var signerPublicKey: String?

        @Option(help: ArgumentHelp("How long the root is valid.", valueName: "days"))
        var rootDays = KeyDirectory.Plan().rootDays

        @Option(help: ArgumentHelp("How long the intermediate certificate is valid.", valueName: "days"))
        var intermediateDays = KeyDirectory.Plan().intermediateDays

        @Option(help: ArgumentHelp("How long the signing certificate is valid.", valueName: "days"))
        var signerDays = KeyDirectory.Plan().signerDays

        func validate() throws {
            try checkDays(rootDays, "--root-days")
            try checkDays(intermediateDays, "--intermediate-days")
            try checkDays(signerDays, "--signer-days")
            // The name must fit into 64 characters with " intermediate" after it.
            guard (1...51).contains(name.unicodeScalars.count) else {
                throw ValidationError("--name expects 1 to 51 characters; found \(name.unicodeScalars.count)")
            }
        }

        func run() async throws {
            var plan = KeyDirectory.Plan()
            plan.name = name
            plan.signer = SignerName(signer)
            plan.signerKey = try signerKey(signerPublicKey)
            plan.rootDays = rootDays
            plan.intermediateDays = intermediateDays
            plan.signerDays = signerDays
            let keys = directory.keys
            let root = try keys.create(plan, now: HTTPEnvironment.system.now())
            let isDefault = plan.signer == .remoteSettings
            let argument = isDefault ? "" : ", signer: \"\(signer)\""
            let needed = signerPublicKey == nil ? keys.keyPath(.signer) : "--sign-with"
            Console.print(
                """
                trust-root \(root)

                In the app:
                  RemoteSettingsConfig(
                      server: …, trustRoots: try TrustAnchors(parsing: ["\(root)"])\(argument))

                In dumps.yaml (if it does not exist, publish creates it with this):
                  trust:
                    roots:
                      - "\(root)"\(isDefault ? "" : "\n    signer: \(signer)")

                Keep \(keys.keyPath(.root)) and \(keys.keyPath(.intermediate)) on a machine that publishes nothing: \
                publish needs only \(needed) and \(keys.certificatePath(.signer)). If \(keys.keyPath(.root)) is lost, \
                apps need an update to trust another root.
                """)
        }
    }

    struct Request: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "request",
            abstract: "Make a key and a request for its certificate, for the holder of the issuer's key.")

        @OptionGroup var directory: DirectoryArgument

        @Option(
            name: .customLong("for"),
            help: ArgumentHelp("The certificate to request: intermediate or signer.", valueName: "role"))
        var role: RequestedRole

        @Option(help: ArgumentHelp("The name in the certificate.", valueName: "name"))
        var name: String?

        @Option(help: ArgumentHelp("The file to write the request to; standard output by default.", valueName: "file"))
        var output: String?

        func run() async throws {
            try KeyDirectory.checkOutput(output)
            let usual = role == .signer ? SignerName.remoteSettings.dnsName : "Remote Settings intermediate"
            let keys = directory.keys
            let request = try keys.request(role.role, named: name ?? usual)
            try put(request.pem(), to: output)
            Console.error(
                """
                rsdump: the request is for \(request.name ?? usual), \(request.keyText)
                The key waits in \(keys.path). Tell the holder of the issuer's key the name and the key above, by \
                another way than the one the request takes. When rsdump keys issue has issued the certificate, install \
                it with: rsdump keys renew \(keys.path) --certificate FILE
                """)
        }
    }

    struct Issue: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "issue",
            abstract: "Issue the certificate that a request asks for.",
            discussion: """
                The root's key issues intermediate certificates, and the intermediate key issues signing certificates.

                Without --name, the command shows the name and the key in the request, and issues nothing. Compare \
                them with those that the person who made the request was shown, and then confirm the name with --name.
                """)

        @OptionGroup var directory: DirectoryArgument

        @Argument(help: ArgumentHelp("The request that rsdump keys request wrote.", valueName: "request.pem"))
        var request: String

        @Option(
            name: .customLong("as"),
            help: ArgumentHelp("The certificate to issue: intermediate or signer.", valueName: "role"))
        var role: RequestedRole

        @Option(help: ArgumentHelp("The name in the request, as a confirmation.", valueName: "name"))
        var name: String?

        @Option(
            help: ArgumentHelp(
                "How long it is valid; by default, 1095 for an intermediate and 90 for a signer.", valueName: "days"))
        var days: Int?

        @Option(help: ArgumentHelp("The file to write the chain to; standard output by default.", valueName: "file"))
        var output: String?

        func validate() throws { try checkDays(days, "--days") }

        func run() async throws {
            try KeyDirectory.checkOutput(output)
            let plan = KeyDirectory.Plan()
            let request = try CertificateRequest(pem: read(self.request), place: self.request)
            let issued = try directory.keys.issue(
                request, as: role.role, named: name,
                days: days ?? (role == .signer ? plan.signerDays : plan.intermediateDays),
                environment: environment, now: HTTPEnvironment.system.now())
            try put(issued, to: output)
            let end = try SigningCertificate.all(of: issued, place: self.request)[0].notAfter.rfc3339
            Console.error(
                "rsdump: issued \(role.rawValue) certificate for \(name ?? ""), \(request.keyText), valid until \(end)")
        }
    }

    struct Renew: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "renew",
            abstract: "Replace the signing key and its certificate, or install one that was issued elsewhere.",
            discussion: """
                Afterwards, sign the collections again: rsdump publish --resign. Apps pin the root, so nothing changes \
                for them. If the signing key is elsewhere, --signer-public-key issues another certificate for it. A \
                certificate that was issued elsewhere must belong to the open request and to the root in root.pem.
                """)

        @OptionGroup var directory: DirectoryArgument

        @Option(
            help: ArgumentHelp(
                "How long the new signing certificate is valid. (default: \(KeyDirectory.Plan().signerDays))",
                valueName: "days"))
        var days: Int?

        @Option(help: ArgumentHelp("The DNS name in it; the current one by default.", valueName: "name"))
        var signer: String?

        @Option(
            help: ArgumentHelp(
                "Issue the signing certificate for this public key (PEM), and make no signing key.", valueName: "file"))
        var signerPublicKey: String?

        @Flag(help: "Renew the intermediate certificate too, with the root's key.")
        var intermediate = false

        @Option(
            help: ArgumentHelp("Install this certificate, which was issued for an open request.", valueName: "file"))
        var certificate: String?

        func validate() throws {
            try checkDays(days, "--days")
            if certificate != nil, intermediate || days != nil || signer != nil || signerPublicKey != nil {
                throw ValidationError(
                    "--certificate cannot be combined with --days, --intermediate, --signer or --signer-public-key")
            }
        }

        func run() async throws {
            let keys = directory.keys
            let now = HTTPEnvironment.system.now()
            if let certificate {
                return showInstalled(try keys.install(read(certificate), place: certificate, now: now), in: keys)
            }
            let end = try keys.renew(
                named: signer.map { SignerName($0) }, for: signerKey(signerPublicKey),
                days: days ?? KeyDirectory.Plan().signerDays,
                includingIntermediate: intermediate ? KeyDirectory.Plan().intermediateDays : nil,
                environment: environment, now: now)
            Console.print(
                "the signing certificate is renewed and valid until \(end.rfc3339); next: rsdump publish --resign")
        }
    }

    struct ChangeRoot: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "change-root",
            abstract: "Install a certificate of another root, which apps must pin.",
            discussion: """
                Use this if root.key is elsewhere. Unlike keys renew --certificate, it installs a certificate that \
                another root issued, and it works in a directory that has no root yet. Apps that do not pin that root \
                accept nothing that is signed under it.
                """)

        @OptionGroup var directory: DirectoryArgument

        @Option(help: ArgumentHelp("The certificate that was issued for an open request.", valueName: "file"))
        var certificate: String

        @Option(help: ArgumentHelp("SHA-256 of the new root, from the person who holds it.", valueName: "sha-256"))
        var root: String

        func run() async throws {
            let keys = directory.keys
            let root = try TrustAnchors(hashes: [root]).roots[0]
            let role = try keys.install(
                read(certificate), place: certificate, changingRootTo: root, now: HTTPEnvironment.system.now())
            showInstalled(role, in: keys)
            Console.print("trust-root \(root)")
        }
    }

    static func showInstalled(_ role: CertificateRole, in keys: KeyDirectory) {
        let next = role == .signer ? "rsdump publish --resign" : "rsdump keys renew \(keys.path)"
        Console.print("the \(role.rawValue) certificate is in place; next: \(next)")
    }

    struct StatusCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show the certificates and keys, and when the certificates expire.",
            discussion:
                "Exits with 1 if a certificate expires within --warn-days, or if a key is not that of its certificate.")

        @OptionGroup var directory: DirectoryArgument

        @Option(help: ArgumentHelp("Warn this many days before a certificate expires.", valueName: "days"))
        var warnDays = 21

        @Option(help: "How to print the result: text or json.")
        var format = OutputFormat.text

        func validate() throws { try checkDays(warnDays, "--warn-days") }

        func run() async throws {
            let now = HTTPEnvironment.system.now()
            let report = KeysReport(try directory.keys.status(environment), now: now, warnDays: warnDays)
            format.print(report.text(.output), report.json)
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
    /// The text that two people compare.
    fileprivate var keyText: String { "key \(keyDigest.map { "\($0)" } ?? "not on the curve P-384")" }
}

/// The state of keys, as text and as JSON.
private struct KeysReport {
    private struct Line {
        let entry: KeyStatus.Entry
        let warning: String?
    }

    private let root: SHA256Digest?
    private let lines: [Line]

    var isGood: Bool { lines.allSatisfy { $0.warning == nil } }

    init(_ status: KeyStatus, now: Timestamp, warnDays: Int) {
        root = status.root
        lines = status.entries.map { entry in
            var warning = entry.problem
            if let certificate = entry.certificate {
                let left = certificate.notAfter.elapsed(since: now)
                if now > certificate.notAfter {
                    warning = "expired; \(Self.remedy(entry))"
                } else if now < certificate.notBefore {
                    warning = "not valid yet; check this machine's clock"
                } else if left < .seconds(warnDays * 86_400) {
                    let days = Counted.text(left.components.seconds / 86_400, "day")
                    warning = "expires in \(days); \(Self.remedy(entry))"
                } else if entry.key == .other {
                    warning = warning ?? "its key belongs to another certificate; \(Self.remedy(entry))"
                }
            } else if entry.role == .signer {
                warning = "there is no certificate; make the keys with: rsdump keys create DIR"
            }
            return Line(entry: entry, warning: warning)
        }
    }

    private static func remedy(_ entry: KeyStatus.Entry) -> String {
        switch entry.role {
        case .root: "make a new directory of keys, and ship its root with the app before this one expires"
        case .intermediate: "renew it with: rsdump keys renew DIR --intermediate"
        case .signer where entry.key == .elsewhere:
            "renew it with: rsdump keys renew DIR (with --signer-public-key FILE if the key stays elsewhere), then: "
                + "rsdump publish --resign"
        case .signer: "renew it with: rsdump keys renew DIR, then: rsdump publish --resign"
        }
    }

    func text(_ style: Style) -> String {
        var text = root.map { "trust-root \($0)\n" } ?? ""
        for line in lines {
            let certificate = line.entry.certificate
            let end = certificate.map { "valid until \($0.notAfter.rfc3339)" } ?? "no certificate"
            let name = certificate.map { Console.visible($0.name) } ?? "-"
            text += "\(line.entry.role.rawValue.padded(to: 12))  \(name), \(end), key \(line.entry.key.rawValue)\n"
            if let warning = line.warning {
                text += "  \(style.yellow("warning")): \(Console.visible(warning))\n"
            }
        }
        return String(text.dropLast())
    }

    var json: JSONValue {
        .members([
            "root": root.map { .string("\($0)") },
            "certificates": .array(
                lines.map { line in
                    .members([
                        "role": .string(line.entry.role.rawValue),
                        "name": line.entry.certificate.map { .string($0.name) },
                        "notBefore": line.entry.certificate.map { .string($0.notBefore.rfc3339) },
                        "notAfter": line.entry.certificate.map { .string($0.notAfter.rfc3339) },
                        "key": .string(line.entry.key.rawValue),
                        "warning": line.warning.map(JSONValue.string),
                    ])
                }),
        ])
    }
}
