import RemoteSettingsModel
import SnapshotBundle
import Testing
@testable import Dumps

struct RefreshPlannerTests {
    private let markets: CollectionID
    private let root: SHA256Digest
    private let other: SHA256Digest

    init() throws {
        markets = try CollectionID("main/markets")
        root = try #require(SHA256Digest(hex: String(repeating: "1", count: 64)))
        other = try #require(SHA256Digest(hex: String(repeating: "2", count: 64)))
    }

    private func entry(_ timestamp: UInt64, trust: Provenance? = nil, rule: String = "all") -> LockFile.Collection {
        let time = Timestamp(milliseconds: 9)
        return LockFile.Collection(
            server: "s", timestamp: Timestamp(milliseconds: timestamp), records: 1, attachments: 0,
            attachmentRule: rule,
            omitted: [], content: other, bundle: .init(collection: markets, size: 1, sha256: other),
            trust: trust ?? .signed(.init(signer: "x", root: root, chainNotAfter: time, verifiedAt: time)))
    }

    private func action(
        _ held: LockFile.Collection?, _ disk: RefreshPlanner.DiskState = .asLocked, monitor: UInt64? = 5,
        isFull: Bool = false, acceptsUnsigned: Bool = false
    ) -> PlannedCollection.Action {
        let planner = RefreshPlanner(
            policy: TrustPolicy(roots: TrustAnchors([root]), acceptsUnsigned: acceptsUnsigned), isFull: isFull)
        let settings = DumpsConfiguration.Collection(id: markets, attachments: AttachmentRule())
        return planner.plan(
            settings, held: held, disk: disk,
            monitor: monitor.map { [markets: Timestamp(milliseconds: $0)] } ?? [:]
        ).action
    }

    @Test func decides() {
        #expect(action(nil, .absent) == .create)
        #expect(action(entry(5)) == .unchanged)
        #expect(action(entry(4)) == .update)
        // A monitor that is older than what is held is no rollback: the server is asked.
        #expect(action(entry(6)) == .probe)
        #expect(action(entry(6), isFull: true) == .refetch("--full"))
        #expect(action(entry(6), .absent) == .refetch("its bundle is missing"))
        #expect(action(entry(5), monitor: nil) == .probe)
        #expect(action(nil, .absent, monitor: nil) == .probe)
        #expect(action(entry(5, rule: "none")) == .repack)
        #expect(action(entry(4, rule: "none")) == .update)
    }

    @Test func plannerRefetchesUnusableBundles() {
        #expect(action(entry(5), .absent) == .refetch("its bundle is missing"))
        #expect(action(entry(5), .damaged("cut")) == .refetch("cut"))
        #expect(action(entry(5), isFull: true) == .refetch("--full"))
        #expect(action(entry(5, trust: .imported)) == .refetch("it was imported without a signature"))
        #expect(
            action(entry(5, trust: .unsigned))
                == .refetch("it is unsigned, and dumps.yaml no longer accepts unsigned data"))
        #expect(action(entry(5, trust: .unsigned), acceptsUnsigned: true) == .unchanged)
        let time = Timestamp(milliseconds: 9)
        let elsewhere = Provenance.signed(.init(signer: "x", root: other, chainNotAfter: time, verifiedAt: time))
        #expect(action(entry(5, trust: elsewhere)) == .refetch("its root is no longer trusted"))
    }
}
