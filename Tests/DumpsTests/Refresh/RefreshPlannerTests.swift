import RemoteSettingsModel
import SnapshotBundle
import Testing
@testable import Dumps

struct RefreshPlannerTests {
    private let regions: CollectionID
    private let root: SHA256Digest
    private let other: SHA256Digest

    init() throws {
        regions = try CollectionID("main/regions")
        root = try #require(SHA256Digest(hex: String(repeating: "1", count: 64)))
        other = try #require(SHA256Digest(hex: String(repeating: "2", count: 64)))
    }

    private func entry(_ timestamp: UInt64, trust: Provenance? = nil, rule: String = "all") -> LockFile.Collection {
        let time = Timestamp(milliseconds: 9)
        return LockFile.Collection(
            server: "s", timestamp: Timestamp(milliseconds: timestamp), records: 1, attachments: 0,
            attachmentRule: rule,
            omitted: [], content: other, bundle: .init(collection: regions, size: 1, sha256: other),
            trust: trust ?? .signed(.init(signer: "x", root: root, chainNotAfter: time, verifiedAt: time)))
    }

    private func action(
        _ held: LockFile.Collection?, _ disk: RefreshPlanner.DiskState = .asLocked, monitor: UInt64? = 5,
        isFull: Bool = false, acceptsUnsigned: Bool = false
    ) -> PlannedCollection.Action {
        let planner = RefreshPlanner(
            policy: TrustPolicy(roots: TrustAnchors([root]), acceptsUnsigned: acceptsUnsigned), isFull: isFull)
        let settings = DumpsConfiguration.Collection(id: regions, attachments: AttachmentRule())
        return planner.plan(
            settings, held: held, disk: disk,
            monitor: monitor.map { [regions: Timestamp(milliseconds: $0)] } ?? [:]
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

    /// What a catalogue lists decides, whatever the monitor says and whichever timestamp is later.
    @Test func aCatalogueDecides() throws {
        let publisher = try #require(PublisherName("a"))
        let time = Timestamp(milliseconds: 1)
        let listed = Catalogue.Entry(timestamp: Timestamp(milliseconds: 5), payload: root, records: 1)
        let substitute = Catalogue.Entry(timestamp: listed.timestamp, payload: other, records: 1)
        var catalogue = Catalogue(
            publisher: publisher, number: 3, made: time, confirmed: time, expires: time, entries: [regions: listed])
        let planner = RefreshPlanner(policy: TrustPolicy(roots: TrustAnchors([root])), isFull: false)
        var settings = DumpsConfiguration.Collection(id: regions, attachments: AttachmentRule())
        func plan(_ held: LockFile.Collection?, _ state: Catalogue.Entry?) -> PlannedCollection {
            planner.plan(
                settings, held: held, disk: held == nil ? .absent : .asLocked, of: catalogue, state: state)
        }
        #expect(plan(nil, nil).action == .create)
        #expect(plan(entry(5), listed).action == .unchanged && plan(entry(5), listed).listed == listed)
        #expect(plan(entry(5, rule: "none"), listed).action == .repack)
        #expect(plan(entry(4), substitute).action == .update)
        // A substitute with the same or a later timestamp is replaced.
        for held in [entry(5), entry(6), entry(5, rule: "none")] {
            guard case .refetch = plan(held, substitute).action else {
                Issue.record("\(plan(held, substitute).action)")
                continue
            }
            #expect(plan(held, substitute).isVouchedFor)
        }
        settings.pin = Pin(at: Timestamp(milliseconds: 4))
        #expect(plan(entry(4), substitute).action == .pinned && plan(entry(4), substitute).leftCatalogue == 3)
        #expect(plan(entry(4), substitute).listed == nil)
        settings.pin = nil
        catalogue.entries = [:]
        #expect(plan(entry(5), listed).problem == .unlisted(regions, publisher: publisher, number: 3))
        catalogue.removed = [regions: 2]
        #expect(plan(entry(5), listed).problem == .removed(regions, publisher: publisher, since: 2))
    }

    @Test func refetchesWhatCannotBeBuiltUpon() {
        #expect(action(entry(5), .absent) == .refetch("its bundle is missing"))
        #expect(action(entry(5), .damaged("cut")) == .refetch("cut"))
        #expect(action(entry(5), isFull: true) == .refetch("--full"))
        #expect(action(entry(5, trust: .imported)) == .refetch("it was imported without a signature"))
        #expect(
            action(entry(5, trust: .unsigned))
                == .refetch("it is unsigned, and dumps.yaml no longer accepts unsigned data"))
        #expect(action(entry(5, trust: .unsigned), acceptsUnsigned: true) == .unchanged)
        let time = Timestamp(milliseconds: 9)
        let elsewhere = Provenance.signed(
            .init(signer: "x", root: other, chainNotAfter: time, verifiedAt: time))
        #expect(action(entry(5, trust: elsewhere)) == .refetch("its root is no longer trusted"))
    }
}
