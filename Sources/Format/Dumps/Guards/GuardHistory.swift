import RemoteSettingsModel
import SnapshotBundle

/// A collection's states in the commits of its dumps directory, for guards that compare states. Nothing is verified.
package struct GuardHistory: Sendable {
    /// The largest number of states that suggestions are based on.
    private static let mostStates = 100

    private let directory: DumpsDirectory
    private let history: BundleHistory
    private let limits: Limits

    /// Runs git.
    ///
    /// - Throws: `HistoryError` if the directory is not in a repository.
    package init(_ directory: DumpsDirectory, limits: Limits) async throws(HistoryError) {
        self.directory = directory
        self.limits = limits
        history = try await BundleHistory(of: directory.path, in: ["git"], limits: limits)
    }

    /// The records of the newest committed state that is earlier than the given one; `nil` if there is none.
    package func records(before timestamp: Timestamp, of id: CollectionID) async throws -> RecordTable? {
        let earlier = try await history.bundles(of: id).bundles.first { $0.timestamp < timestamp }
        return try await earlier?.open().payload().records
    }

    /// The guards that a collection's states suggest; `nil` if fewer than two are committed.
    package func suggestion(for id: CollectionID) async throws -> GuardSuggestion? {
        var suggestion = GuardSuggestion()
        var timestamps: Set<Timestamp> = []
        let states = try await history.bundles(of: id).bundles.filter { timestamps.insert($0.timestamp).inserted }
        var old: RecordTable?
        for state in states.prefix(Self.mostStates).reversed() {
            let new = try await state.open().payload().records
            suggestion.add(new, at: state.timestamp, after: old)
            old = new
        }
        return suggestion.states < 2 ? nil : suggestion
    }
}

/// A collection's usual changes, learned from its states one after the other.
package struct GuardSuggestion: Sendable {
    package private(set) var states = 0
    package private(set) var first: Timestamp?
    package private(set) var last: Timestamp?
    /// The largest of all changes, in percent of the earlier records, rounded up.
    package private(set) var (removed, changed, added, growth) = (0, 0, 0, 0)
    private var fewest = Int.max
    private var wasEmptied = false
    private var keepsFieldTypes = true
    /// The ids of the records; `nil` as soon as two states differ in them.
    private var ids: [String]?

    mutating func add(_ new: RecordTable, at timestamp: Timestamp, after old: RecordTable?) {
        states += 1
        first = first ?? timestamp
        last = timestamp
        fewest = min(fewest, new.count)
        let newIDs = new.map(\.id)
        ids = states == 1 || ids == newIDs ? newIDs : nil
        guard let old, !old.isEmpty else { return }
        if new.isEmpty { wasEmptied = true }
        var counts = (removed: 0, changed: 0, added: 0)
        for difference in new.differences(from: old) {
            switch difference {
            case .created: counts.added += 1
            case .updated: counts.changed += 1
            case .deleted: counts.removed += 1
            }
        }
        func percent(_ part: Int, of whole: Int) -> Int {
            whole > 0 && part > 0 ? Int((Double(part) * 100 / Double(whole)).rounded(.up)) : 0
        }
        removed = max(removed, percent(counts.removed, of: old.count))
        changed = max(changed, percent(counts.changed, of: old.count))
        added = max(added, percent(counts.added, of: old.count))
        growth = max(
            growth, percent(new.count - old.count, of: old.count),
            percent(new.byteCount - old.byteCount, of: old.byteCount))
        keepsFieldTypes =
            keepsFieldTypes && FieldTypes(of: new).violations(after: FieldTypes(of: old), in: new).isEmpty
    }

    /// Guards that every state so far would have passed. They allow twice the largest change.
    package var guards: Guards {
        func limit(_ highest: Int) -> Guards.Limit? {
            let twice = max(10, 2 * highest)
            return twice < 100 ? .percent(.init(hundredths: twice * 100)) : nil
        }
        var guards = Guards()
        guards.keepsRecords = !wasEmptied
        if fewest >= 2 { guards.minRecords = fewest / 2 }
        guards.maxRemoved = limit(removed)
        guards.maxChanged = limit(changed)
        guards.maxAdded = limit(added)
        guards.maxGrowth = .init(hundredths: max(50, 2 * growth) * 100)
        guards.keepsFieldTypes = keepsFieldTypes
        if let ids, ids.count <= 20 { guards.requiredIDs = ids }
        return guards
    }
}
