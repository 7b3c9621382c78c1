import RemoteSettingsModel
import SnapshotBundle
import SnapshotTrust
import Testing
@testable import ContentSigning

@testable import SigningKeys

/// An older root vouches for a newer one, and what is taken over from whom.
@Suite struct SuccessionTests {
    private let now = Timestamp(milliseconds: 1_780_000_000_000)
    private let place = Place()

    /// Directories of keys that go with the test.
    private final class Place {
        let path = (try? FileStore.makeUniqueDirectory(FileStore.temporaryDirectory + "/succession")) ?? "/nowhere"

        deinit { try? FileStore.removeTree(path) }
    }

    private func days(_ count: Int) -> Timestamp { now.advanced(by: .seconds(86_400 * count)) }

    private func keys(_ name: String, _ plan: KeyDirectory.Plan = .init()) throws -> (KeyDirectory, SHA256Digest) {
        let keys = KeyDirectory("\(place.path)/\(name)")
        return (keys, try keys.create(plan, now: now))
    }

    private func root(of keys: KeyDirectory) throws -> Bytes {
        try #require(try FileStore.read(keys.certificatePath(.root), limit: 65_536))
    }

    private func crossSigned(
        _ newer: KeyDirectory, by older: KeyDirectory, days: Int? = nil, at time: Timestamp? = nil
    ) throws -> Bytes {
        try older.crossSign(
            root(of: newer), place: "root.pem", confirming: newer.status([:]).root, days: days, environment: [:],
            now: time ?? now)
    }

    /// The roots that an app may pin, one of them alone, to accept what a directory signs.
    private func accepting(_ keys: KeyDirectory, at time: Timestamp? = nil) throws -> [SHA256Digest] {
        let signer = try keys.signer([:])
        let payload = Bytes(utf8: #"{"data":[],"last_modified":"1"}"#)
        return try ([signer.chain] + signer.olderChains).compactMap { pem in
            let chain = try CertificateChain(pem: pem)
            guard let verified = try? chain.ownVerdict(signer.name, at: time ?? now) else { return nil }
            try verified.verify(signer.signature(over: payload), over: payload)
            return chain.root
        }
    }

    @Test func stepByStep() throws {
        let ((a, rootA), (b, rootB), (c, rootC)) = (try keys("a"), try keys("b"), try keys("c"))
        #expect(try accepting(b) == [rootB])
        try b.succeed(crossSigned(b, by: a), place: "cross.pem", after: rootA, now: now)
        #expect(try accepting(b) == [rootB, rootA])
        #expect(try accepting(a) == [rootA])
        // B brings along what A has signed for it.
        try c.succeed(crossSigned(c, by: b), place: "cross.pem", after: rootB, now: now)
        #expect(try accepting(c) == [rootC, rootB, rootA])
        // All chains are of the present signing key, whatever is renewed.
        try c.renew(named: nil, days: 90, includingIntermediate: 900, environment: [:], now: days(80))
        #expect(try accepting(c, at: days(80)) == [rootC, rootB, rootA])
        let status = try c.status([:])
        #expect(status.succession.steps.map(\.predecessor.sha256) == [rootB, rootA])
    }

    @Test func stepsMayComeOneByOneAndAgain() throws {
        let ((a, rootA), (b, rootB), (c, rootC)) = (try keys("a"), try keys("b"), try keys("c"))
        let (ofB, ofC) = (try crossSigned(b, by: a), try crossSigned(c, by: b))
        // Nothing leads from A to C yet.
        let early = #expect(throws: SigningKeyError.self) {
            try c.succeed(ofB, place: "cross.pem", after: rootA, now: now)
        }
        #expect(early?.kind == .untrusted)
        #expect(try !FileStore.exists(c.successionPath))
        try c.succeed(ofC, place: "cross.pem", after: rootB, now: now)
        #expect(try accepting(c) == [rootC, rootB])
        try c.succeed(ofB, place: "cross.pem", after: rootA, now: now)
        #expect(try accepting(c) == [rootC, rootB, rootA])
        // A renewed step replaces the one between the same roots.
        try c.succeed(crossSigned(c, by: b, days: 9), place: "cross.pem", after: rootB, now: now)
        #expect(try accepting(c) == [rootC, rootB, rootA])
        #expect(try c.status([:]).succession.steps.count == 2)
        #expect(try accepting(c, at: days(10)) == [rootC])
    }

    @Test func aCrossCertificateNeverOutlivesEitherRoot() throws {
        var short = KeyDirectory.Plan()
        (short.rootDays, short.intermediateDays) = (50, 40)
        let ((a, rootA), (b, _), (c, rootC)) = (try keys("a"), try keys("b", short), try keys("c"))
        func end(_ newer: KeyDirectory, _ older: KeyDirectory, _ days: Int?) throws -> Timestamp {
            try SigningCertificate.all(of: crossSigned(newer, by: older, days: days), place: "cross")[0].notAfter
        }
        #expect(try end(b, a, 1000) == days(50) && end(a, b, nil) == days(50) && end(c, a, 7) == days(7))
        #expect(rootA != rootC)
        for time in [days(-3), days(60)] {
            #expect(throws: SigningKeyError.self) { try crossSigned(b, by: a, at: time) }
        }
    }

    @Test func nothingIsSignedThatTheHolderDidNotConfirm() throws {
        let ((a, rootA), (b, rootB)) = (try keys("a"), try keys("b"))
        for digest in [nil, rootA] {
            let refused = #expect(throws: SigningKeyError.self) {
                try a.crossSign(
                    root(of: b), place: "root.pem", confirming: digest, days: nil, environment: [:], now: now)
            }
            #expect(refused?.description.contains("\(rootB)") == true)
        }
        // Neither an intermediate certificate, nor a chain, nor itself.
        for path in [b.certificatePath(.intermediate), b.certificatePath(.signer), a.certificatePath(.root)] {
            let pem = try #require(try FileStore.read(path, limit: 65_536))
            #expect(throws: SigningKeyError.self, "\(path)") {
                try a.crossSign(pem, place: path, confirming: rootA, days: nil, environment: [:], now: now)
            }
        }
        // The root's key, and no other one, signs.
        try FileStore.remove(a.keyPath(.root))
        #expect(throws: SigningKeyError.self) { try crossSigned(b, by: a) }
    }

    @Test func whatComesBackBelongsToBothRoots() throws {
        let ((a, rootA), (b, rootB), (thief, rootT)) = (try keys("a"), try keys("b"), try keys("thief"))
        let before = try accepting(b)
        func refused(_ pem: Bytes, after root: SHA256Digest, at time: Timestamp? = nil) throws {
            #expect(throws: (any Error).self) {
                try b.succeed(pem, place: "cross.pem", after: root, now: time ?? now)
            }
            #expect(try accepting(b) == before)
            #expect(try !FileStore.exists(b.successionPath))
        }
        // By a root that is not the one that was named; for another root.
        try refused(crossSigned(b, by: thief), after: rootA)
        try refused(crossSigned(thief, by: a), after: rootA)
        // By A's intermediate certificate; a certificate that is none of a root; halves; nothing.
        let authority = try a.authority(for: .signer, [:])
        let own = try SigningCertificate.all(of: root(of: b), place: "root")[0]
        let byIntermediate = try authority.crossSign(own, days: nil, place: "root", now: now)
        for wrong in [
            [byIntermediate] + authority.certificates, [byIntermediate, authority.certificates[1]],
            Array(try SigningCertificate.all(of: crossSigned(b, by: a), place: "x").prefix(1)),
            try SigningCertificate.all(of: b.signer([:]).chain, place: "x"), [own, own], [own],
        ] {
            try refused(CertificateAuthority.pem(wrong), after: rootA)
        }
        try refused(Bytes(utf8: ""), after: rootA)
        // Ended, and not valid yet.
        let later = try crossSigned(b, by: a, at: days(30))
        try refused(later, after: rootA)
        try refused(crossSigned(b, by: a, days: 1), after: rootA, at: days(30))
        try b.succeed(crossSigned(b, by: a), place: "cross.pem", after: rootA, now: now)
        #expect(try accepting(b) == [rootB, rootA])
        #expect(rootT != rootA)
    }

    /// Steps that lead nowhere, or in a circle, make no chains; what is no list of steps is an error.
    @Test func aFileThatSomebodyChangedSignsNothingElse() throws {
        let ((a, rootA), (b, rootB), (c, _)) = (try keys("a"), try keys("b"), try keys("c"))
        let (ofB, ofA, ofC) = (try crossSigned(b, by: a), try crossSigned(a, by: b), try crossSigned(c, by: a))
        func write(_ parts: [Bytes]) throws {
            try FileStore.replace(b.successionPath, with: Bytes(parts.flatMap(\.array)))
        }
        try write([ofC])
        #expect(try accepting(b) == [rootB])
        try write([ofA, ofB, ofC])
        #expect(try Set(accepting(b)) == [rootA, rootB])
        let rootOfA = try root(of: a)
        for broken in [[rootOfA], [ofB, rootOfA], [Bytes(utf8: "x")], [Bytes](repeating: ofB, count: 5)] {
            try write(broken)
            #expect(throws: SigningKeyError.self) { try b.signer([:]) }
        }
    }

    @Test func theNumberOfOlderRootsHasALimit() throws {
        let (first, _) = try keys("0")
        var (older, roots) = (first, [try #require(try first.status([:]).root)])
        for number in 1...4 {
            let (newer, root) = try keys("\(number)")
            try newer.succeed(crossSigned(newer, by: older), place: "cross.pem", after: roots[0], now: now)
            roots.insert(root, at: 0)
            older = newer
        }
        #expect(try accepting(older) == roots)
        let (last, _) = try keys("5")
        #expect(throws: SigningKeyError.self) {
            try last.succeed(crossSigned(last, by: older), place: "cross.pem", after: roots[0], now: now)
        }
    }

    @Test func aChangeOfTheDirectorysRootLeavesTheOldStepsAside() throws {
        let ((a, rootA), (b, _), (c, rootC)) = (try keys("a"), try keys("b"), try keys("c"))
        try b.succeed(crossSigned(b, by: a), place: "cross.pem", after: rootA, now: now)
        for role in [CertificateRole.root, .intermediate] { try FileStore.remove(b.keyPath(role)) }
        let request = try b.request(.signer, named: SignerName.remoteSettings.dnsName)
        let issued = try c.issue(
            request, as: .signer, named: request.name, days: 9, environment: [:], now: now)
        _ = try b.install(issued, place: "issued", changingRootTo: rootC, now: now)
        #expect(try accepting(b) == [rootC])
    }
}
