import Crypto
import Dispatch
import Foundation
import RemoteSettingsModel
import SnapshotBundle
import SwiftASN1
@_spi(FixedExpiryValidationTime) import X509

extension FuzzTarget {
    static let chain = FuzzTarget(
        "chain", "certificate chains, signed after damage; what X509's own verifier refuses is refused", longest: 256,
        seeds: { _ in
            [[], [0], [UInt8](repeating: 0, count: 64)]
                + (1..<24).map { seed in
                    var random = FuzzRandom(seed: UInt64(seed))
                    return (0..<60).map { _ in random.below(6) == 0 ? UInt8(truncatingIfNeeded: random.next()) : 0 }
                }
        }
    ) { input in
        var recipe = ChainRecipe(input)
        guard let certificates = try? recipe.issue() else { return }
        try compare(Bytes(utf8: certificates.map(ChainRecipe.pem).joined()))
    }

    static let pem = FuzzTarget(
        "pem", "PEM texts of chains; what X509's own verifier refuses is refused", longest: 8192,
        words: [
            "-----BEGIN CERTIFICATE-----\n", "\n-----END CERTIFICATE-----\n", "-----BEGIN X-----", "-----", "=", "==",
            "\r\n", "\n", " ", "\t", "MII", "AAAA", "/", "+", "-", "_", "\u{0}",
        ],
        seeds: { source in
            // A chain issued once from a recipe, because signatures contain random numbers.
            guard !source.isRepeatable else { return [source.file("Tests/Faults/chain.pem")].compactMap(\.self) }
            return try [[], [1], [UInt8](repeating: 2, count: 40)].map { input in
                var recipe = ChainRecipe(input)
                return Array(try recipe.issue().map(ChainRecipe.pem).joined().utf8)
            } + source.bundles.compactMap { (try? $0.chain())??.array }
        }
    ) { input in try compare(Bytes(input)) }

    /// Times at which the certificates of recipes and of real bundles are valid.
    private static let times = [ChainRecipe.now, 1_763_800_000_000, 1_795_300_000_000].map(
        Timestamp.init(milliseconds:))

    /// If a chain is accepted, X509's verifier must accept it, too. That verifier checks neither purposes nor key
    /// usage, so it accepts some chains that are rejected here.
    private static func compare(_ text: Bytes) throws {
        guard let chain = try accepted(try CertificateChain(pem: text)) else { return }
        let anchors = TrustAnchors([chain.root])
        for time in times {
            for signer in [SignerName(ChainRecipe.signer), .remoteSettings, .oneCRL] {
                guard try accepted(try chain.verified(anchors: anchors, signer: signer, at: time)) != nil else {
                    continue
                }
                let verdict = waited { await referenceVerdict(text, at: time) }
                try require(verdict == nil, "accepted for \(signer) at \(time); X509: \(verdict ?? "")")
            }
        }
    }

    /// Returns why X509 rejects a chain; `nil` if it accepts it.
    private static func referenceVerdict(_ text: Bytes, at time: Timestamp) async -> String? {
        do {
            // RFC 7468 lets a parser accept lines of any length, but swift-asn1's parser does not.
            var certificates: [Certificate] = []
            var block: String?
            for line in text.array.split(whereSeparator: { $0 == 10 || $0 == 13 }) {
                let line = String(decoding: line, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
                if line.hasPrefix("-----END"), let digits = block {
                    certificates.append(try Certificate(derEncoded: Array(Data(base64Encoded: digits) ?? Data())))
                    block = nil
                } else if line.hasPrefix("-----BEGIN") {
                    block = ""
                } else {
                    block?.append(line)
                }
            }
            guard let leaf = certificates.first, let root = certificates.last else { return "no certificates" }
            let date = Date(timeIntervalSince1970: Double(time.milliseconds) / 1000)
            var verifier = Verifier(rootCertificates: CertificateStore([root])) {
                RFC5280Policy(fixedExpiryValidationTime: date)
                PurposesAndNames()
            }
            let verdict = await verifier.validate(
                leaf: leaf, intermediates: CertificateStore(certificates.dropFirst().dropLast()))
            if case .validCertificate = verdict { return nil }
            return "\(verdict)"
        } catch {
            return "\(error)"
        }
    }
}

/// Declares the extensions as understood that X509's own policies do not check.
private struct PurposesAndNames: VerifierPolicy {
    let verifyingCriticalExtensions: [ASN1ObjectIdentifier] = [
        .X509ExtensionID.extendedKeyUsage, .X509ExtensionID.subjectAlternativeName,
    ]

    func chainMeetsPolicyRequirements(chain: UnverifiedCertificateChain) async -> PolicyEvaluationResult {
        .meetsPolicy
    }
}

/// Waits for the result of an asynchronous function.
func waited<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) -> Value {
    let box = ResultBox<Value>()
    let isDone = DispatchSemaphore(value: 0)
    Task.detached {
        let value = await body()
        box.value.withLock { $0 = value }
        isDone.signal()
    }
    isDone.wait()
    guard let value = box.value.withLock({ $0 }) else { preconditionFailure("signalled before the result") }
    return value
}

private final class ResultBox<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
}

/// A chain of certificates. Each input byte selects a property; zeros select those of a valid chain.
struct ChainRecipe {
    static let now: UInt64 = 1_770_000_000_000
    static let signer = "s.example.org"

    private var choices: ArraySlice<UInt8>

    init(_ input: [UInt8]) { choices = input[...] }

    private mutating func choice(_ count: Int) -> Int { Int(choices.popFirst() ?? 0) % count }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { elements[choice(elements.count)] }

    /// Fixed, so that an input always uses the same keys.
    private static let keys: [P256.Signing.PrivateKey] = (1...6).compactMap { number in
        try? P256.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 0, count: 31) + [number])
    }
    private static let leafKeys: [P384.Signing.PrivateKey] = (1...3).compactMap { number in
        try? P384.Signing.PrivateKey(rawRepresentation: [UInt8](repeating: 0, count: 47) + [number])
    }

    private enum Key {
        case p256(P256.Signing.PrivateKey)
        case p384(P384.Signing.PrivateKey)

        var x509: Certificate.PrivateKey {
            switch self {
            case .p256(let key): .init(key)
            case .p384(let key): .init(key)
            }
        }

        func signature(over bytes: [UInt8]) throws -> [UInt8] {
            switch self {
            case .p256(let key): Array(try key.signature(for: bytes).derRepresentation)
            case .p384(let key): Array(try key.signature(for: bytes).derRepresentation)
            }
        }
    }

    private static let domains = [
        "example.org", ".example.org", "s.example.org", "org", "", ".", "example.com", "S.EXAMPLE.ORG",
        "x.s.example.org", "*.example.org", "-", "s.example.org.", "xample.org", "..", " example.org",
    ]

    private mutating func generalName() -> GeneralName {
        switch choice(6) {
        case 0...2: .dnsName(pick(Self.domains))
        case 3: .uniformResourceIdentifier("https://\(pick(Self.domains))/x")
        case 4: .rfc822Name("a@\(pick(Self.domains))")
        default: .ipAddress(ASN1OctetString(contentBytes: pick([[127, 0, 0, 1], [127, 0, 0, 0, 255, 0, 0, 0], [0]])))
        }
    }

    private mutating func nameConstraints() -> NameConstraints? {
        func domains(_ count: Int, _ recipe: inout ChainRecipe) -> [String] {
            (0..<count).map { _ in recipe.pick(Self.domains) }
        }
        switch choice(5) {
        case 0...1: return nil
        case 2: return NameConstraints(permittedDNSDomains: domains(1 + choice(3), &self))
        case 3: return NameConstraints(excludedDNSDomains: domains(1 + choice(3), &self))
        default:
            return NameConstraints(
                permittedDNSDomains: domains(choice(3), &self), excludedDNSDomains: domains(choice(3), &self),
                permittedEmailAddresses: domains(choice(2), &self), forbiddenURIDomains: domains(choice(2), &self))
        }
    }

    private mutating func extensions(isLeaf: Bool) throws -> Certificate.Extensions {
        var extensions = Certificate.Extensions()
        func critical(_ recipe: inout ChainRecipe) -> Bool { recipe.choice(3) != 2 }
        let constraints: [BasicConstraints?] = [
            isLeaf ? nil : .isCertificateAuthority(maxPathLength: nil), .isCertificateAuthority(maxPathLength: 0),
            .isCertificateAuthority(maxPathLength: 1), .isCertificateAuthority(maxPathLength: 2),
            .notCertificateAuthority, nil,
        ]
        if let value = pick(constraints) { try extensions.append(.init(value, critical: critical(&self))) }
        let usages: [KeyUsage?] = [
            isLeaf ? KeyUsage(digitalSignature: true) : KeyUsage(keyCertSign: true, cRLSign: true), nil, KeyUsage(),
            KeyUsage(digitalSignature: true, keyCertSign: true), KeyUsage(cRLSign: true),
        ]
        if let value = pick(usages) { try extensions.append(.init(value, critical: critical(&self))) }
        let purposes: [[ExtendedKeyUsage.Usage]?] = [
            [.codeSigning], nil, [.serverAuth], [.any], [.serverAuth, .codeSigning],
        ]
        if let value = pick(purposes) {
            try extensions.append(.init(try ExtendedKeyUsage(value), critical: critical(&self)))
        }
        if isLeaf || choice(3) == 2 {
            var names: [GeneralName] = choice(6) == 5 ? [] : [.dnsName(Self.signer)]
            for _ in 0..<choice(3) { names.append(generalName()) }
            try extensions.append(.init(SubjectAlternativeNames(names), critical: choice(4) == 3))
        }
        if !isLeaf || choice(8) == 7, let value = nameConstraints() {
            try extensions.append(.init(value, critical: critical(&self)))
        }
        if choice(8) == 7 {
            try extensions.append(.init(oid: [1, 3, 6, 1, 4, 1, 99], critical: choice(2) == 1, value: [5, 0]))
        }
        return extensions
    }

    /// Returns the certificates as DER, leaf first.
    mutating func issue() throws -> [[UInt8]] {
        let count = pick([3, 2, 4, 5, 3, 8])
        let subjects = (0..<count).map { index in choice(8) == 7 ? "same" : "name \(index)" }
        var keys: [Key] = []
        for index in 0..<count {
            keys.append(
                index == 0 && choice(8) != 7
                    ? .p384(Self.leafKeys[0]) : .p256(Self.keys[(index + choice(12) / 11) % Self.keys.count]))
        }
        var issued: [[UInt8]] = []
        for index in 0..<count {
            let issuer = min(index + 1, count - 1)
            let signing = choice(16) == 15 ? Key.p256(Self.keys[5]) : keys[issuer]
            let (start, end) = pick([(-1, 1), (-1, 0), (0, 1), (-2, -1), (1, 2), (-1, 1), (-1, 1)] as [(Int, Int)])
            let day: Double = 86_400
            let now = Double(Self.now / 1000)
            let certificate = try Certificate(
                version: choice(16) == 15 ? .v1 : .v3, serialNumber: .init(UInt64(index + 1)),
                publicKey: keys[index].x509.publicKey,
                notValidBefore: Date(timeIntervalSince1970: now + Double(start) * day),
                notValidAfter: Date(timeIntervalSince1970: now + Double(end) * day),
                issuer: DistinguishedName { CommonName(choice(16) == 15 ? "stranger" : subjects[issuer]) },
                subject: choice(16) == 15 ? DistinguishedName() : DistinguishedName { CommonName(subjects[index]) },
                signatureAlgorithm: signatureAlgorithm(signing),
                extensions: try extensions(isLeaf: index == 0), issuerPrivateKey: signing.x509)
            let edits = choice(6) < 4 ? 0 : 1 + choice(4)
            issued.append(
                try Self.signed(
                    certificate, edits: (0..<edits).map { _ in (choice(256) << 8 | choice(256), choice(256)) },
                    by: signing))
        }
        if choice(12) == 11 { issued.swapAt(choice(count), choice(count)) }
        return issued
    }

    private func signatureAlgorithm(_ key: Key) -> Certificate.SignatureAlgorithm {
        if case .p384 = key { .ecdsaWithSHA384 } else { .ecdsaWithSHA256 }
    }

    /// Returns the certificate's DER. If there are edits, applies them at their offsets and signs the result again.
    private static func signed(_ certificate: Certificate, edits: [(Int, Int)], by key: Key) throws -> [UInt8] {
        var serializer = DER.Serializer()
        guard !edits.isEmpty else {
            try serializer.serialize(certificate)
            return serializer.serializedBytes
        }
        var content = Array(certificate.tbsCertificateBytes)
        for (offset, value) in edits { content[offset % content.count] = UInt8(value) }
        let signature = [0] + (try key.signature(over: content))
        let algorithm: [UInt8] =
            if case .p256 = key {
                [0x30, 0x0A, 6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 2]
            } else {
                [0x30, 0x0A, 6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 4, 3, 3]
            }
        return tagged(0x30, content + algorithm + tagged(3, signature))
    }

    private static func tagged(_ tag: UInt8, _ content: [UInt8]) -> [UInt8] {
        let count = content.count
        let length: [UInt8] = count < 128 ? [UInt8(count)] : [0x82, UInt8(count >> 8), UInt8(count & 255)]
        return [tag] + length + content
    }

    static func pem(_ der: [UInt8]) -> String {
        let lines = Data(der).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN CERTIFICATE-----\n\(lines)\n-----END CERTIFICATE-----\n"
    }
}
