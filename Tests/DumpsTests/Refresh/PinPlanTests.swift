import RemoteSettingsModel
import SnapshotBundle
import Testing
@testable import Dumps

/// What the planner makes of pinned collections: nothing of the server's but the very state that is pinned.
struct PinPlanTests {
    private let markets: CollectionID
    private let root: SHA256Digest

    init() throws {
        markets = try CollectionID("main/markets")
        root = try #require(SHA256Digest(hex: String(repeating: "1", count: 64)))
    }

    private func action(
        held: UInt64?, _ disk: RefreshPlanner.DiskState = .asLocked, pin: UInt64, monitor: UInt64?,
        rule: String = "all", trust: Provenance? = nil, isFull: Bool = false
    ) -> PlannedCollection.Action {
        let time = Timestamp(milliseconds: 9)
        let entry = held.map { timestamp in
            LockFile.Collection(
                server: "s", timestamp: Timestamp(milliseconds: timestamp), records: 1, attachments: 0,
                attachmentRule: rule, omitted: [], content: root,
                bundle: .init(collection: markets, size: 1, sha256: root),
                trust: trust ?? .signed(.init(signer: "x", root: root, chainNotAfter: time, verifiedAt: time)))
        }
        var settings = DumpsConfiguration.Collection(id: markets, attachments: AttachmentRule())
        settings.pin = Pin(at: Timestamp(milliseconds: pin))
        return RefreshPlanner(policy: TrustPolicy(roots: TrustAnchors([root])), isFull: isFull).plan(
            settings, held: entry, disk: disk, monitor: monitor.map { [markets: Timestamp(milliseconds: $0)] } ?? [:]
        ).action
    }

    @Test(arguments: [nil, 4, 5, 6]) func pinnedStateIgnoresTheServer(monitor: UInt64?) {
        #expect(action(held: 5, pin: 5, monitor: monitor) == .pinned)
        #expect(action(held: 5, pin: 5, monitor: monitor, isFull: true) == .pinned)
        #expect(action(held: 5, pin: 5, monitor: monitor, trust: .imported) == .pinned)
        #expect(action(held: 5, pin: 5, monitor: monitor, rule: "none") == .repack)
        #expect(
            action(held: 5, pin: 5, monitor: monitor, trust: .unsigned)
                == .pinUnmet("it is unsigned, and dumps.yaml no longer accepts unsigned data"))
    }

    @Test func pinnedStateIsFetchedFromServer() {
        #expect(action(held: nil, .absent, pin: 5, monitor: 5) == .create)
        #expect(action(held: 4, pin: 5, monitor: 5) == .update)
        #expect(action(held: 5, .absent, pin: 5, monitor: 5) == .refetch("its bundle is missing"))
        #expect(action(held: 5, .damaged("cut"), pin: 5, monitor: 5) == .refetch("cut"))
        #expect(action(held: 4, .damaged("cut"), pin: 5, monitor: 5) == .refetch("its bundle has another state, 4"))
        #expect(action(held: 6, pin: 5, monitor: 5) == .pinUnmet("its bundle has another state, 6"))
    }

    @Test(arguments: [nil, 4, 6]) func pinIsUnmetByOtherStates(monitor: UInt64?) {
        #expect(
            action(held: nil, .absent, pin: 5, monitor: monitor)
                == .pinUnmet("there is no bundle, and the server does not list that state"))
        #expect(action(held: 4, pin: 5, monitor: monitor) == .pinUnmet("its bundle has another state, 4"))
        #expect(action(held: 5, .absent, pin: 5, monitor: monitor) == .pinUnmet("its bundle is missing"))
        #expect(action(held: 5, .damaged("cut"), pin: 5, monitor: monitor) == .pinUnmet("cut"))
    }
}
