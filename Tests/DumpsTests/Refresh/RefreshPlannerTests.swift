import RemoteSettingsModel
import SnapshotBundle
import Testing
@testable import Dumps

/// What a refresh does for a collection. If the collection is pinned, only the pinned state is fetched from the server.
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
        pin: UInt64? = nil, isFull: Bool = false, acceptsUnsigned: Bool = false
    ) -> PlannedCollection.Action {
        let planner = RefreshPlanner(
            policy: TrustPolicy(roots: TrustAnchors([root]), acceptsUnsigned: acceptsUnsigned), isFull: isFull)
        var settings = DumpsConfiguration.Collection(id: markets, attachments: AttachmentRule())
        settings.pin = pin.map { Pin(at: Timestamp(milliseconds: $0)) }
        return planner.plan(
            settings, held: held, disk: disk, monitor: monitor.map { [markets: Timestamp(milliseconds: $0)] } ?? [:]
        ).action
    }

    @Test func plannerComparesWithTheMonitor() {
        #expect(action(nil, .absent) == .create)
        #expect(action(entry(5)) == .unchanged)
        #expect(action(entry(4)) == .update)
        // If the monitor is older than the stored state, this is no rollback: the server is asked.
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

    @Test(arguments: [nil, 4, 5, 6]) func pinnedStateIgnoresTheServer(monitor: UInt64?) {
        #expect(action(entry(5), monitor: monitor, pin: 5) == .pinned)
        #expect(action(entry(5), monitor: monitor, pin: 5, isFull: true) == .pinned)
        #expect(action(entry(5, trust: .imported), monitor: monitor, pin: 5) == .pinned)
        #expect(action(entry(5, rule: "none"), monitor: monitor, pin: 5) == .repack)
        #expect(
            action(entry(5, trust: .unsigned), monitor: monitor, pin: 5)
                == .pinUnmet("it is unsigned, and dumps.yaml no longer accepts unsigned data"))
    }

    @Test func pinnedStateIsFetchedFromServer() {
        #expect(action(nil, .absent, pin: 5) == .create)
        #expect(action(entry(4), pin: 5) == .update)
        #expect(action(entry(5), .absent, pin: 5) == .refetch("its bundle is missing"))
        #expect(action(entry(5), .damaged("cut"), pin: 5) == .refetch("cut"))
        #expect(action(entry(4), .damaged("cut"), pin: 5) == .refetch("its bundle has another state, 4"))
        #expect(action(entry(6), pin: 5) == .pinUnmet("its bundle has another state, 6"))
    }

    @Test(arguments: [nil, 4, 6]) func pinIsUnmetByOtherStates(monitor: UInt64?) {
        #expect(
            action(nil, .absent, monitor: monitor, pin: 5)
                == .pinUnmet("there is no bundle, and the server does not list that state"))
        #expect(action(entry(4), monitor: monitor, pin: 5) == .pinUnmet("its bundle has another state, 4"))
        #expect(action(entry(5), .absent, monitor: monitor, pin: 5) == .pinUnmet("its bundle is missing"))
        #expect(action(entry(5), .damaged("cut"), monitor: monitor, pin: 5) == .pinUnmet("cut"))
    }
}
