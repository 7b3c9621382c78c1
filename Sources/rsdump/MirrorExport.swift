import Dumps
import FileStorage
import RemoteSettingsModel
import SnapshotBundle
import SnapshotExchange
import SnapshotHistory
import SnapshotOrigin
import StaticMirror

/// Publishes a dumps directory as a static mirror.
struct MirrorExport {
    /// Older states of each collection, of which deltas are made: a month of nightly refreshes.
    static let olderStates = 30

    let directory: DumpsDirectory
    let address: OriginAddress
    /// `git`, or folders.
    let history: [String]

    /// - Throws: what the lock, the bundles, their history or the folder say.
    func publish(_ names: [CollectionID], to folder: String) async throws -> StaticMirror.Report {
        let limits = Limits()
        let lock = try directory.lockFile(limits: limits)
        let older = BundleHistory(try await sources(limits), limits: limits)
        var collections: [ServedCollection] = []
        var notes: [String] = []
        for bundle in try directory.lockedBundles(names, limits: limits) {
            let id = bundle.head.collection
            let signature = lock.collections[id]?.trust.verdict
            var states: [BundleReader] = []
            if !history.isEmpty {
                let listing = try await older.bundles(of: id)
                notes += listing.unusable.map { "\($0)" }
                var seen: Set<Timestamp> = [bundle.head.timestamp]
                for state in listing.bundles where state.timestamp < bundle.head.timestamp {
                    guard states.count < Self.olderStates, seen.insert(state.timestamp).inserted else { continue }
                    states.append(try await state.open())
                }
            }
            collections.append(
                try ServedCollection(bundle, signature: signature, history: states, address: address, limits: limits))
            if bundle.head.omitted > 0 {
                notes.append("\(id): \(Export.leftOut(bundle.head.omitted))")
            }
        }
        let origin = try Origin(collections, address: address, softwareVersion: Version.text, limits: limits)
        var report = try StaticMirror(origin).publish(to: TextFile.absolute(folder))
        report.notes = notes + report.notes
        return report
    }

    private func sources(_ limits: Limits) async throws -> [BundleHistory.Source] {
        var sources: [BundleHistory.Source] = []
        for place in history {
            if place == "git" {
                sources.append(.git(try await GitRepository(containing: directory.path, limits: limits)))
            } else {
                sources.append(.path(place))
            }
        }
        return sources
    }
}
