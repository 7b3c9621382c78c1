import ContentSignature
import FileStorage
import RemoteSettingsModel
import SigningKeys
import Testing

@Suite struct SigningKeysTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)
    private let collection: CollectionID

    init() throws { collection = try CollectionID("main/settings") }

    private func inDirectory(_ body: (KeyDirectory) throws -> Void) throws {
        let path = try FileStore.makeTemporaryDirectory("keys")
        defer { try? FileStore.removeTree(path) }
        try body(KeyDirectory("\(path)/keys"))
    }

    private func verify(_ signer: ContentSigner, root: SHA256Digest, at time: Timestamp) throws {
        let policy = TrustPolicy(roots: TrustAnchors([root]))
        let payload = Bytes(utf8: #"{"data":[],"last_modified":"1"}"#)
        try signer.verifiedChain(by: policy, of: collection, at: time, limits: Limits())
            .verify(signer.signature(over: payload), over: payload)
    }

    @Test func newKeysSignWhatClientsVerify() throws {
        try inDirectory { keys in
            let root = try keys.create(.init(), now: now)
            try verify(keys.signer([:]), root: root, at: now)
            for role in CertificateRole.allCases { #expect(try !FileStore.isOpenToOthers(keys.keyPath(role))) }
            #expect(try FileStore.read("\(keys.path)/.gitignore", limit: 100)?.text == "*.key\n")
            #expect(throws: SigningKeyError.self) { try keys.create(.init(), now: now) }
        }
    }

    @Test func expiredAndForeignChainsAreRefused() throws {
        try inDirectory { keys in
            let root = try keys.create(.init(), now: now)
            let signer = try keys.signer([:])
            #expect(throws: ContentSignatureError.self) {
                try verify(signer, root: root, at: now.advanced(by: .seconds(100 * 86_400)))
            }
            let foreign = try #require(SHA256Digest(hex: String(repeating: "ab", count: 32)))
            #expect(throws: ContentSignatureError.self) { try verify(signer, root: foreign, at: now) }
        }
    }

    @Test func issuedCertificatesEndWithTheirIssuer() throws {
        try inDirectory { keys in
            var plan = KeyDirectory.Plan()
            (plan.rootDays, plan.intermediateDays, plan.signerDays) = (10, 100, 1000)
            _ = try keys.create(plan, now: now)
            let status = try keys.status([:])
            #expect(Set(status.entries.map { $0.certificate?.notAfter }).count == 1)
            #expect(status.entries.map(\.key) == [.here, .here, .here])
        }
    }

    @Test func renewingKeepsTheRoot() throws {
        try inDirectory { keys in
            let root = try keys.create(.init(), now: now)
            let before = try keys.signer([:])
            let later = now.advanced(by: .seconds(80 * 86_400))
            try keys.renew(named: nil, days: 90, environment: [:], now: later)
            let after = try keys.signer([:])
            #expect(before.chain != after.chain)
            try verify(after, root: root, at: later)
            try keys.renew(named: nil, days: 90, includingIntermediate: 1000, environment: [:], now: later)
            try verify(keys.signer([:]), root: root, at: later)
        }
    }

    @Test func renewalThatWasKilledBetweenItsTwoFilesLeavesKeysThatWork() throws {
        try inDirectory { keys in
            let root = try keys.create(.init(), now: now)
            let (oldKey, oldChain) = (keys.keyPath(.signer), keys.certificatePath(.signer))
            let chain = try #require(try FileStore.read(oldChain, limit: 65_536))
            let key = try #require(try FileStore.read(oldKey, limit: 65_536))
            try keys.renew(named: nil, days: 90, environment: [:], now: now)
            // Before the key is replaced: the new chain waits beside the old pair.
            let newChain = try #require(try FileStore.read(oldChain, limit: 65_536))
            let newKey = try #require(try FileStore.read(oldKey, limit: 65_536))
            try FileStore.replace("\(keys.path)/chain.new.pem", with: newChain)
            try FileStore.replace(oldChain, with: chain)
            try FileStore.replacePrivate(oldKey, with: key)
            #expect(try keys.signer([:]).chain == chain)
            // After: the new key has its chain under the other name only.
            try FileStore.replacePrivate(oldKey, with: newKey)
            #expect(try keys.signer([:]).chain == newChain)
            try verify(keys.signer([:]), root: root, at: now)
        }
    }

    @Test func offlineHolderIssuesWhatIsRequested() throws {
        try inDirectory { offline in
            try inDirectory { online in
                let root = try offline.create(.init(), now: now)
                let request = try online.request(.intermediate, named: "online intermediate")
                let issued = try offline.issue(
                    CertificateRequest(pem: request, place: "request"), as: .intermediate, named: nil, days: 365,
                    environment: [:], now: now)
                #expect(try online.install(issued, place: "issued") == .intermediate)
                try online.renew(named: .remoteSettings, days: 30, environment: [:], now: now)
                try verify(online.signer([:]), root: root, at: now)
                #expect(try online.status([:]).entries.map(\.key) == [.elsewhere, .here, .here])

                let second = try online.request(.signer, named: SignerName.remoteSettings.dnsName)
                let chain = try offline.issue(
                    CertificateRequest(pem: second, place: "request"), as: .signer, named: nil, days: 30,
                    environment: [:], now: now)
                // Of another request.
                _ = try online.request(.signer, named: "again")
                #expect(throws: SigningKeyError.self) { try online.install(chain, place: "issued") }
                #expect(throws: SigningKeyError.self) { try online.install(issued, place: "issued") }
                try verify(online.signer([:]), root: root, at: now)
            }
        }
    }

    /// A secret that a CI service does not have is an empty variable there.
    @Test func emptyVariablesCountAsNone() throws {
        try inDirectory { keys in
            _ = try keys.create(.init(), now: now)
            let variables = CertificateRole.allCases.map(KeyDirectory.variable) + [KeyDirectory.chainVariable]
            let empty = Dictionary(uniqueKeysWithValues: variables.map { ($0, "") })
            for key in [CertificateRole.root, .intermediate] { try FileStore.remove(keys.keyPath(key)) }
            let status = try keys.status(empty)
            #expect(status.entries.map(\.key) == [.elsewhere, .elsewhere, .here])
            #expect(status.entries.allSatisfy { $0.problem == nil && $0.certificate != nil })
        }
    }

    @Test func keysComeFromTheEnvironmentInPlaceOfFiles() throws {
        try inDirectory { keys in
            let root = try keys.create(.init(), now: now)
            let key = try #require(try FileStore.read(keys.keyPath(.signer), limit: 65_536)).text
            let chain = try #require(try FileStore.read(keys.certificatePath(.signer), limit: 65_536)).text
            try FileStore.remove(keys.keyPath(.signer))
            #expect(throws: SigningKeyError.self) { try keys.signer([:]) }
            let oneLine = key.split(separator: "\n").joined(separator: "\\n")
            for text in [key, oneLine, key.split(separator: "\n").joined(separator: "\r\n")] {
                try verify(keys.signer(["RSDUMP_SIGNER_KEY": text]), root: root, at: now)
                let nowhere = KeyDirectory("/nowhere")
                let environment = ["RSDUMP_SIGNER_KEY": text, "RSDUMP_SIGNER_CHAIN": chain]
                try verify(nowhere.signer(environment), root: root, at: now)
            }
        }
    }

    @Test(arguments: [
        "", "-----BEGIN PRIVATE KEY-----", "no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
        // A key of P-256, as openssl writes it.
        """
        -----BEGIN EC PRIVATE KEY-----
        MHcCAQEEIIrYSSNQFaA2Hwf1duRSxKtLYX5CB04fSeQ6tF1aY/PuoAoGCCqGSM49
        AwEHoUQDQgAEPR3tU2Fta9ktY+6P9G0cWO+0kETA6SFs38GecTyudlHz6xvCdz8q
        EKTcWGekdmdDPsHloRNtsiCa697B2O9IFA==
        -----END EC PRIVATE KEY-----
        """,
    ])
    func whatIsNoKeyIsRefused(_ text: String) {
        #expect(throws: SigningKeyError.self) { try PrivateKey(pem: Bytes(utf8: text), place: "key") }
    }

    @Test func keyThatOthersCanReadIsRefused() throws {
        try inDirectory { keys in
            _ = try keys.create(.init(), now: now)
            let key = try #require(try FileStore.read(keys.keyPath(.signer), limit: 65_536))
            try FileStore.replace(keys.keyPath(.signer), with: key)
            #expect(throws: SigningKeyError.self) { try keys.signer([:]) }
        }
    }

    @Test func keyOfAnotherChainIsRefused() throws {
        try inDirectory { keys in
            try inDirectory { other in
                _ = try (keys.create(.init(), now: now), other.create(.init(), now: now))
                let key = try #require(try FileStore.read(other.keyPath(.signer), limit: 65_536))
                try FileStore.replacePrivate(keys.keyPath(.signer), with: key)
                #expect(throws: SigningKeyError.self) { try keys.signer([:]) }
                #expect(try keys.status([:]).entries.map(\.key) == [.here, .here, .other])
            }
        }
    }
}
