import enum Crypto.P384
import RemoteSettingsModel
import SnapshotBundle
import Testing
@testable import ContentSigning
@testable import Publish

@Suite struct SigningKeysTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)
    private let collection: CollectionID
    private let folder: TemporaryDirectory
    private let keys: KeyDirectory
    private let root: SHA256Digest

    init() throws {
        collection = try CollectionID("main/settings")
        folder = try TemporaryDirectory()
        keys = KeyDirectory("\(folder.path)/keys")
        root = try keys.create(.init(), now: now)
    }

    /// A key directory that does not exist yet.
    private func directory(_ name: String) -> KeyDirectory { KeyDirectory("\(folder.path)/\(name)") }

    private func verify(_ signer: ContentSigner, root: SHA256Digest, at time: Timestamp) throws {
        let payload = Bytes(utf8: #"{"data":[],"last_modified":"1"}"#)
        try CertificateChain(pem: signer.chain)
            .verified(anchors: TrustAnchors([root]), signer: .expected(for: collection), at: time)
            .verify(signer.signature(over: payload), over: payload)
    }

    @Test func newKeysSignWhatClientsVerify() throws {
        try verify(keys.signer([:]), root: root, at: now)
        for role in CertificateRole.allCases { #expect(try !FileStore.isOpenToOthers(keys.keyPath(role))) }
        #expect(try FileStore.read("\(keys.path)/.gitignore", limit: 100)?.text == "*.key\n")
        #expect(throws: Failure.self) { try keys.create(.init(), now: now) }
    }

    @Test func expiredAndForeignChainsAreRefused() throws {
        let signer = try keys.signer([:])
        #expect(throws: Failure.self) { try verify(signer, root: root, at: now.advanced(by: .seconds(100 * 86_400))) }
        let foreign = try #require(SHA256Digest(hex: String(repeating: "ab", count: 32)))
        #expect(throws: Failure.self) { try verify(signer, root: foreign, at: now) }
    }

    /// Editors and secret stores change line endings, and add byte order marks or extra lines.
    @Test(
        arguments: ["\n", "\r\n", "\r", "\\n", "  \n\t", "\t \r\n\r\n"], ["", "\u{FEFF}", "\u{FEFF}gr\u{FC}\u{DF}e\n"])
    func pemTextsOfOtherProgramsAreRead(end: String, start: String) throws {
        for path in [keys.keyPath(.signer), keys.certificatePath(.signer)] {
            let text = try #require(try FileStore.read(path, limit: 65_536)).text
            try FileStore.replace(
                path, with: Bytes(utf8: start + text.replacing("\n", with: end)),
                isPrivate: path == keys.keyPath(.signer))
        }
        try verify(keys.signer([:]), root: root, at: now)
        let key = try #require(try FileStore.read(keys.keyPath(.signer), limit: 65_536))
        let pem = P384.Signing.PrivateKey().publicKey.pemRepresentation.replacing("\n", with: end)
        _ = try PublicKey(pem: Bytes(utf8: start + pem), place: "public.pem")
        #expect(throws: Failure.self) { try PublicKey(pem: key, place: "private.key") }
    }

    @Test func issuedCertificatesEndWithTheirIssuer() throws {
        let keys = directory("short")
        var plan = KeyDirectory.Plan()
        (plan.rootDays, plan.intermediateDays, plan.signerDays) = (10, 100, 1000)
        _ = try keys.create(plan, now: now)
        let status = try keys.status([:])
        #expect(Set(status.entries.map { $0.certificate?.notAfter }).count == 1)
        #expect(status.entries.map(\.key) == [.here, .here, .here])
    }

    /// Whenever a renewal is killed, the keys can still sign, and the next change cleans up.
    @Test func killedRenewalLeavesUsableKeys() throws {
        let files = [keys.keyPath(.signer), keys.certificatePath(.signer)]
        func texts() throws -> [Bytes] { try files.map { try #require(try FileStore.read($0, limit: 65_536)) } }
        let old = try texts()
        try keys.renew(named: nil, days: 90, environment: [:], now: now)
        let new = try texts()
        let next = "\(keys.path)/signer.next.key"
        for (key, chain) in [(old, old), (new, old), (new, new)] {
            try FileStore.replace(files[0], with: key[0], isPrivate: true)
            try FileStore.replace(files[1], with: chain[1])
            try FileStore.replace(next, with: Bytes(new[0].array + new[1].array), isPrivate: true)
            try FileStore.replace("\(files[0]).tmp.key", with: new[0], isPrivate: true)
            #expect(try keys.signer([:]).chain == new[1])
            #expect(try keys.status([:]).entries.map(\.key) == [.here, .here, .here])
            try verify(keys.signer([:]), root: root, at: now)
            _ = try keys.request(.signer, named: "s.example.org")
            #expect(try texts() == new)
            let left = try #require(try FileStore.list(keys.path)).filter { $0.contains("tmp") || $0.contains("next") }
            #expect(left.isEmpty)
        }
    }

    @Test func keyDirectoryIsLockedForChanges() throws {
        let before = try keys.signer([:]).chain
        let lock = try #require(try DirectoryLock(keys.path))
        withExtendedLifetime(lock) {
            let refused = #expect(throws: Failure.self) {
                try keys.renew(named: nil, days: 90, environment: [:], now: now)
            }
            #expect(refused?.description.contains("another rsdump is changing this directory") == true)
            #expect(throws: Failure.self) { try keys.request(.signer, named: "s.example.org") }
        }
        #expect(try keys.signer([:]).chain == before)
    }

    /// While keys are renewed, concurrent readers never get a key and a chain that do not match.
    @Test func keyAndChainMatchDuringRenewal() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<40 { try keys.renew(named: nil, days: 90, environment: [:], now: now) }
            }
            for _ in 0..<2 {
                group.addTask { for _ in 0..<200 { _ = try keys.signer([:]) } }
            }
            try await group.waitForAll()
        }
    }

    /// `.gitignore` lists only `*.key`, so the names of all files with keys, even temporary ones, must end with `.key`.
    @Test func keyFilesAreInGitignore() throws {
        let keys = directory("new")
        try FileStore.makeDirectories(keys.path)
        try FileStore.replace("\(keys.path)/.gitignore", with: Bytes(utf8: "*.old"))
        let request = try keys.request(.signer, named: "s.example.org")
        #expect(try FileStore.read("\(keys.path)/.gitignore", limit: 100)?.text == "*.old\n*.key\n")
        #expect(try request.pem() == keys.request(.signer, named: "s.example.org").pem())
        // This directory blocks the temporary file, so the error shows its name.
        try FileStore.makeDirectories("\(keys.waitingPath(.signer)).tmp.key")
        try FileStore.remove(keys.waitingPath(.signer))
        let failure = #expect(throws: Failure.self) { try keys.request(.signer, named: "s.example.org") }
        #expect(failure?.place.hasSuffix(".key") == true)
    }

    @Test func killedKeyCreationIsCleanedUp() throws {
        let keys = directory("new")
        let digits = String(repeating: "a", count: 15)
        let (left, alive, other) = (
            "\(keys.path).\(digits)1.tmp", "\(keys.path).\(digits)2.tmp", "\(keys.path).mine.tmp"
        )
        for path in [left, alive, other] { try FileStore.makeDirectories(path) }
        try FileStore.replace("\(left)/root.key", with: Bytes(utf8: "secret"), isPrivate: true)
        let lock = try #require(try DirectoryLock(alive))
        _ = try withExtendedLifetime(lock) { try keys.create(.init(), now: now) }
        #expect(try [left, alive, other].map { try FileStore.exists($0) } == [false, true, true])
    }

    @Test(arguments: [-800, -2, 1200, 9000]) func renewalWithWrongClockIsRefused(_ days: Int) throws {
        let wrong = now.advanced(by: .seconds(days * 86_400))
        for intermediate in [nil, 1000] {
            let error = #expect(throws: Failure.self) {
                try keys.renew(
                    named: nil, days: 90, includingIntermediate: days == 1200 ? nil : intermediate, environment: [:],
                    now: wrong)
            }
            #expect(error?.description.contains("clock") == true)
        }
        try verify(keys.signer([:]), root: root, at: now)
    }

    /// The renewal fails because the new signing certificate would already be expired.
    @Test func failedRenewalKeepsIntermediate() throws {
        let paths = [CertificateRole.intermediate, .signer].flatMap { [keys.keyPath($0), keys.certificatePath($0)] }
        func files() throws -> [Bytes?] { try paths.map { try FileStore.read($0, limit: 65_536) } }
        let before = try files()
        #expect(throws: (any Error).self) {
            try keys.renew(named: nil, days: -2, includingIntermediate: 1000, environment: [:], now: now)
        }
        #expect(try files() == before)
    }

    @Test func certificateNamesMayBeUnicode() throws {
        let keys = directory("named")
        var plan = KeyDirectory.Plan()
        plan.name = "Grüße 世界"
        let root = try keys.create(plan, now: now)
        try keys.renew(named: nil, days: 9, includingIntermediate: 99, environment: [:], now: now)
        try verify(keys.signer([:]), root: root, at: now)
        #expect(try keys.status([:]).entries.compactMap { $0.certificate?.name }.first == "Grüße 世界 root")
        for name in ["", "a\u{202E}b", "a\nb", String(repeating: "é", count: 65)] {
            #expect(throws: Failure.self) { try keys.request(.intermediate, named: name) }
        }
    }

    private func issue(
        _ request: CertificateRequest, by keys: KeyDirectory, as role: CertificateRole = .intermediate,
        named name: String? = nil
    ) throws -> Bytes {
        try keys.issue(request, as: role, named: name ?? request.name, days: 30, environment: [:], now: now)
    }

    @Test func offlineKeyIssuesRequestedCertificate() throws {
        let (offline, online) = (keys, directory("online"))
        let request = try online.request(.intermediate, named: "online intermediate")
        let issued = try issue(request, by: offline)
        // A directory without a root needs `--root`.
        let unknown = #expect(throws: Failure.self) { try online.install(issued, place: "issued", now: now) }
        #expect(unknown?.description.contains("--root") == true)
        #expect(try online.install(issued, place: "issued", changingRootTo: root, now: now) == .intermediate)
        try online.renew(named: .remoteSettings, days: 30, environment: [:], now: now)
        try verify(online.signer([:]), root: root, at: now)
        #expect(try online.status([:]).entries.map(\.key) == [.elsewhere, .here, .here])

        let second = try online.request(.signer, named: SignerName.remoteSettings.dnsName)
        let chain = try issue(second, by: offline, as: .signer)
        #expect(throws: Failure.self) { try online.request(.signer, named: "again") }
        // A root certificate cannot be installed, even if the directory already has it.
        let own = try #require(try FileStore.read(online.certificatePath(.root), limit: 65_536))
        #expect(throws: Failure.self) { try online.install(own, place: "root.pem", now: now) }
        // A certificate can be installed again, in case the first attempt was killed right after installing it.
        #expect(try online.install(issued, place: "issued", now: now) == .intermediate)
        #expect(try online.install(chain, place: "issued", now: now) == .signer)
        try verify(online.signer([:]), root: root, at: now)
        #expect(try online.signer([:]).chain == chain)
        #expect(try !FileStore.exists(online.waitingPath(.signer)))
        // A certificate for a different request is refused.
        let third = try issue(
            online.request(.signer, named: SignerName.remoteSettings.dnsName), by: offline, as: .signer)
        try FileStore.remove(online.waitingPath(.signer))
        _ = try online.request(.signer, named: SignerName.remoteSettings.dnsName)
        let refused = #expect(throws: Failure.self) { try online.install(third, place: "issued", now: now) }
        #expect(refused?.description.contains("is not for the key") == true)
    }

    @Test(arguments: [CertificateRole.intermediate, .signer])
    func certificateOfOtherRootNeedsRootChange(_ role: CertificateRole) throws {
        let (second, online) = (directory("second"), directory("online"))
        let other = try second.create(.init(), now: now)
        let name = SignerName.remoteSettings.dnsName
        let begun = try issue(online.request(role, named: name), by: keys, as: role)
        _ = try online.install(begun, place: "issued", changingRootTo: root, now: now)
        if role == .intermediate { try online.renew(named: nil, days: 9, environment: [:], now: now) }
        let before = try online.signer([:]).chain

        let issued = try issue(online.request(role, named: name), by: second, as: role)
        let refused = #expect(throws: Failure.self) { try online.install(issued, place: "issued", now: now) }
        #expect(refused?.code == .untrusted)
        #expect(refused?.description.contains("--root") == true)
        #expect(throws: Failure.self) { try online.install(issued, place: "issued", changingRootTo: root, now: now) }
        #expect(try online.signer([:]).chain == before)
        #expect(try online.status([:]).root == root)

        #expect(try online.install(issued, place: "issued", changingRootTo: other, now: now) == role)
        if role == .intermediate { try online.renew(named: nil, days: 9, environment: [:], now: now) }
        try verify(online.signer([:]), root: other, at: now)
        #expect(try online.status([:]).root == other)
    }

    @Test func certificateWithOtherNameIsNotInstalled() throws {
        let (offline, online) = (keys, directory("online"))
        let request = try online.request(.signer, named: "s.example.org")
        let authority = try offline.authority(for: .signer, [:])
        let other = try authority.issue(request, as: .signer, named: "t.example.org", days: 9, now: now)
        #expect(throws: Failure.self) { try online.install(other, place: "issued", changingRootTo: root, now: now) }
        // A certificate that is not yet valid is refused.
        let issued = try authority.issue(
            request, as: .signer, named: "s.example.org", days: 9, now: now.advanced(by: .seconds(9 * 86_400)))
        #expect(throws: Failure.self) { try online.install(issued, place: "issued", changingRootTo: root, now: now) }
        #expect(try FileStore.list(online.path) == [".gitignore", "signer.new.key"])
    }

    /// CI services set the variable of a missing secret to an empty string.
    @Test func emptyKeyVariablesAreIgnored() throws {
        let variables = CertificateRole.allCases.map(KeyDirectory.variable) + [KeyDirectory.chainVariable]
        let empty = Dictionary(uniqueKeysWithValues: variables.map { ($0, "") })
        for key in [CertificateRole.root, .intermediate] { try FileStore.remove(keys.keyPath(key)) }
        let status = try keys.status(empty)
        #expect(status.entries.map(\.key) == [.elsewhere, .elsewhere, .here])
        #expect(status.entries.allSatisfy { $0.problem == nil && $0.certificate != nil })
    }

    @Test func keysComeFromTheEnvironmentInPlaceOfFiles() throws {
        let key = try #require(try FileStore.read(keys.keyPath(.signer), limit: 65_536)).text
        let chain = try #require(try FileStore.read(keys.certificatePath(.signer), limit: 65_536)).text
        try FileStore.remove(keys.keyPath(.signer))
        #expect(throws: Failure.self) { try keys.signer([:]) }
        let oneLine = key.split(separator: "\n").joined(separator: "\\n")
        for text in [key, oneLine, key.split(separator: "\n").joined(separator: "\r\n")] {
            try verify(keys.signer(["RSDUMP_SIGNER_KEY": text]), root: root, at: now)
            let nowhere = KeyDirectory("/nowhere")
            let environment = ["RSDUMP_SIGNER_KEY": text, "RSDUMP_SIGNER_CHAIN": chain]
            try verify(nowhere.signer(environment), root: root, at: now)
        }
    }

    @Test func keyOfAnotherChainIsRefused() throws {
        let other = directory("other")
        _ = try other.create(.init(), now: now)
        let key = try #require(try FileStore.read(other.keyPath(.signer), limit: 65_536))
        try FileStore.replace(keys.keyPath(.signer), with: key, isPrivate: true)
        #expect(throws: Failure.self) { try keys.signer([:]) }
        #expect(try keys.status([:]).entries.map(\.key) == [.here, .here, .other])
    }
}
