import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The plan of a refresh for one collection.
package struct PlannedCollection: Sendable {
    package enum Action: Hashable, Sendable {
        /// The bundle has the server's state.
        case unchanged
        /// There is no bundle yet.
        case create
        /// The server has a newer state, which is fetched as a delta.
        case update
        /// Everything is fetched again, for the given reason.
        case refetch(String)
        /// The records are the same, but the rule for attachments has changed.
        case repack
        /// The monitor does not list the collection, or lists an older state than the bundle's, for example because of
        /// an outdated cache. The collection itself is requested from the server.
        case probe
        /// The bundle has its pinned state. The server's state is ignored.
        case pinned
        /// The pinned state cannot be used, for the given reason.
        case pinUnmet(String)

        /// Everything is fetched because the user has requested it.
        static let full = Action.refetch("--full")

        /// Whether anything is fetched or written.
        package var needsWork: Bool {
            switch self {
            case .unchanged, .pinned, .pinUnmet: false
            case .create, .update, .refetch, .repack, .probe: true
            }
        }

        /// Whether everything is fetched again.
        package var isRefetch: Bool {
            if case .refetch = self { true } else { false }
        }
    }

    package let settings: DumpsConfiguration.Collection
    package let action: Action
    /// The entry in the lock file.
    package let held: LockFile.Collection?
    /// The timestamp in the monitor.
    package let serverTimestamp: Timestamp?

    init(
        settings: DumpsConfiguration.Collection, action: Action, held: LockFile.Collection?,
        serverTimestamp: Timestamp?
    ) {
        self.settings = settings
        self.action = action
        self.held = held
        self.serverTimestamp = serverTimestamp
    }

    package var id: CollectionID { settings.id }

    /// Returns whether only the changes since the bundle with this head are requested from the server.
    func isBase(_ head: BundleHead?) -> Bool {
        guard let held, head?.timestamp == held.timestamp else { return false }
        return action == .update || action == .probe
    }
}

/// The planner of a refresh, its first step: it compares the lock file, the files and the monitor, and chooses an
/// action for each collection. Does no I/O.
struct RefreshPlanner {
    /// The state of the bundle's file, judging by its size and its first bytes.
    enum DiskState: Hashable {
        case absent
        /// The size and the timestamp match the lock file.
        case asLocked
        case damaged(String)
    }

    let policy: TrustPolicy
    let isFull: Bool

    func plan(
        _ settings: DumpsConfiguration.Collection, held: LockFile.Collection?, disk: DiskState,
        monitor: [CollectionID: Timestamp]
    ) -> PlannedCollection {
        let listed = monitor[settings.id]
        return PlannedCollection(
            settings: settings, action: action(settings, held: held, disk: disk, listed: listed), held: held,
            serverTimestamp: listed)
    }

    private func action(
        _ settings: DumpsConfiguration.Collection, held: LockFile.Collection?, disk: DiskState, listed: Timestamp?
    ) -> PlannedCollection.Action {
        if let pin = settings.pin { return action(settings, pin, held: held, disk: disk, listed: listed) }
        guard let listed else { return .probe }
        guard let held else { return .create }
        switch disk {
        case .absent: return .refetch("its bundle is missing")
        case .damaged(let problem): return .refetch(problem)
        case .asLocked: break
        }
        if isFull { return .full }
        if let distrust = distrust(held) { return .refetch(distrust) }
        if held.standing.isBehind(announced: listed, acceptsUnsigned: policy.acceptsUnsigned) {
            return held.trust == .imported ? .refetch("it was imported without a signature") : .update
        }
        guard listed == held.timestamp else { return .probe }
        return held.attachmentRule == settings.attachments.text ? .unchanged : .repack
    }

    /// Returns the action that a refresh would take only because `dumps.yaml` has changed, even if the server's state
    /// has not; `nil` if the lock file agrees with `dumps.yaml`.
    func disagreement(
        _ settings: DumpsConfiguration.Collection, with held: LockFile.Collection
    ) -> PlannedCollection.Action? {
        switch action(settings, held: held, disk: .asLocked, listed: held.timestamp) {
        // An imported bundle remains unchanged until the server provides a signed state.
        case .refetch where held.trust == .imported && policy.acceptsUnsigned: nil
        case .unchanged, .pinned: nil
        case let action: action
        }
    }

    /// Returns the action for a pinned collection, for which only the pinned state is accepted from the server.
    private func action(
        _ settings: DumpsConfiguration.Collection, _ pin: Pin, held: LockFile.Collection?, disk: DiskState,
        listed: Timestamp?
    ) -> PlannedCollection.Action {
        let problem: String
        switch (held, disk) {
        case (nil, _): problem = "there is no bundle, and the server does not list that state"
        case (let held?, _) where held.timestamp != pin.at: problem = "its bundle has another state, \(held.timestamp)"
        case (_, .absent): problem = "its bundle is missing"
        case (_, .damaged(let damage)): problem = damage
        case (let held?, .asLocked):
            if let distrust = distrust(held) { return .pinUnmet(distrust) }
            return held.attachmentRule == settings.attachments.text ? .pinned : .repack
        }
        guard listed == pin.at else { return .pinUnmet(problem) }
        guard let held else { return .create }
        let pinned = Standing(pin.at, held.trust.kind)
        if succession(of: pinned, after: held.standing, in: Situation(.fetched)) == .refuse(.older) {
            return .pinUnmet(problem)
        }
        let isBehind = held.standing.isBehind(announced: pin.at, acceptsUnsigned: policy.acceptsUnsigned)
        return isBehind && disk == .asLocked ? .update : .refetch(problem)
    }

    /// Returns the reason that the configuration no longer trusts a bundle; `nil` if it does.
    private func distrust(_ held: LockFile.Collection) -> String? {
        switch held.trust {
        case .signed(let signature):
            policy.roots.roots.contains(signature.root) ? nil : "its root is no longer trusted"
        case .unsigned: policy.acceptsUnsigned ? nil : "it is unsigned, and dumps.yaml no longer accepts unsigned data"
        case .imported: nil
        }
    }
}

extension CollectionFetcher {
    /// Fetches the state required by a plan, for a caller that packs nothing. Reads the current bundle, which may be
    /// damaged.
    func fetch(_ planned: PlannedCollection, in directory: DumpsDirectory) async throws(Failure) -> Fetched {
        let bundle = try? directory.bundle(planned.id)
        let fetched = try await fetch(planned, onto: bundle, try? bundle?.payload(), BundleVerifier(policy))
        if fetched.snapshot.timestamp == planned.held?.timestamp {
            try planned.checkDelivered(fetched.snapshot.timestamp)
        }
        return fetched
    }

    /// Fetches the state required by a plan, as a delta onto the current bundle if that is possible.
    ///
    /// - Parameters:
    ///   - bundle: the current bundle; `nil` if there is none or it cannot be read.
    ///   - payload: its records; `nil` if they cannot be read.
    func fetch(
        _ planned: PlannedCollection, onto bundle: BundleReader?, _ payload: Payload?, _ verifier: BundleVerifier
    ) async throws(Failure) -> Fetched {
        let held = planned.held.map { entry in
            // The lock file can be edited, and so can the bundle.
            let verified = bundle.flatMap { bundle in
                payload.flatMap { try? verifier.snapshot(of: bundle, payload: $0, as: entry) }
            }
            return Held(
                entry.standing, payload?.timestamp == entry.timestamp ? payload : nil,
                isProven: verified?.timestamp == entry.timestamp)
        }
        var wanted = Wanted(
            id: planned.id, expected: planned.serverTimestamp, held: held,
            base: planned.isBase(bundle?.head) ? payload : nil)
        wanted.needsState = true
        do throws(Failure) {
            guard let fetched = try await fetch(wanted) else { throw .noAnswer(url: "\(planned.id)") }
            return fetched
        } catch {
            if case .unknownCollection = error.cause, planned.held != nil { throw .gone(planned.id) }
            // Both the list and the collection may have come from an outdated cache.
            if case .rollback(let held, let answered) = error.cause, let listed = planned.serverTimestamp,
                listed < held,
                planned.action == .probe || planned.action == .full
            {
                throw .stale(held: held, answered: answered)
            }
            throw Failure(ofRefresh: error, of: planned.id)
        }
    }
}

extension PlannedCollection {
    /// Checks that an unchanged state is not older than the one announced in the server's list.
    func checkDelivered(_ answered: Timestamp) throws(Failure) {
        guard let serverTimestamp, answered < serverTimestamp else { return }
        throw .undelivered(listed: serverTimestamp, answered: answered)
    }
}

extension PlannedCollection.Action: Encodable {
    package func encode(to encoder: any Encoder) throws { try word.encode(to: encoder) }

    package var word: String {
        switch self {
        case .unchanged: "unchanged"
        case .create: "create"
        case .update: "update"
        case .refetch: "refetch"
        case .repack: "repack"
        case .probe: "probe"
        case .pinned: "pinned"
        case .pinUnmet: "pin-unmet"
        }
    }

    package var reason: String? {
        switch self {
        case .refetch(let reason), .pinUnmet(let reason): reason
        default: nil
        }
    }

    /// A sentence that describes the planned action.
    package var sentence: String {
        switch self {
        case .unchanged: "nothing to do"
        case .create: "would be created"
        case .update: "would be updated"
        case .refetch(let reason): "would be fetched again: \(reason)"
        case .repack: "would be packed again: its attachment rule changed"
        case .probe:
            "would be requested, because the server's list lacks it, or lists an older state than its bundle"
        case .pinned: "would remain pinned"
        case .pinUnmet(let reason): "would fail, because its pinned state cannot be used: \(reason)"
        }
    }
}

extension DumpsDirectory {
    /// Returns the state of a bundle's file, judging by its size and its first bytes.
    func diskState(_ id: CollectionID, _ held: LockFile.Collection?) -> RefreshPlanner.DiskState {
        let path = bundlePath(id)
        let size: Int
        do throws(Failure) {
            guard case .file(let found)? = try FileStore.kind(path) else { return .absent }
            size = found
        } catch {
            return .damaged(error.located)
        }
        guard let held else { return .asLocked }
        guard size == held.bundle.size else {
            if (try? LargeFilePointer.isAt(path)) == true {
                return .damaged("its bundle is \(LargeFilePointer.name); fetch the bundle with: git lfs pull")
            }
            return .damaged("its bundle is \(size) bytes instead of the \(held.bundle.size) in the lock file")
        }
        do throws(Failure) {
            let head = try BundleHead.read(path: path)
            guard head.collection == id, head.timestamp == held.timestamp else {
                return .damaged(
                    "its bundle is \(head.collection) at \(head.timestamp), which does not match the lock file")
            }
            return .asLocked
        } catch {
            return .damaged(error.located)
        }
    }
}
