import Dumps
import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

extension StaticMirror {
    /// The maximum number of older states for which deltas are created: a month of nightly refreshes.
    private static let olderStates = 30

    /// Publishes collections of a dumps directory as a mirror. Reads every byte of their bundles.
    ///
    /// - Parameters:
    ///   - names: the collections; an empty list means all collections in the lock file.
    ///   - folder: the folder for the mirror, as an absolute path.
    ///   - address: the address at which clients reach the mirror.
    ///   - history: the source of older states; `nil` to use none.
    /// - Throws: the errors of ``publish(to:address:_:)``; `Failure` or `Failure` if the lock file, the bundles
    ///   or their history cannot be read.
    package static func publish(
        _ names: [CollectionID], of directory: DumpsDirectory, to folder: String, address: OriginAddress,
        history: BundleHistory?, softwareVersion: String
    ) async throws -> Report {
        var notes: [String] = []
        var report = try await publish(to: folder, address: address) {
            try await origin(
                names, of: directory, address: address, history: history, softwareVersion: softwareVersion,
                notes: &notes)
        }
        report.notes = notes + report.notes
        return report
    }

    private static func origin(
        _ names: [CollectionID], of directory: DumpsDirectory, address: OriginAddress, history: BundleHistory?,
        softwareVersion: String, notes: inout [String]
    ) async throws -> Origin {
        let lock = try directory.lockFile()
        var collections: [ServedCollection] = []
        for bundle in try directory.lockedBundles(names) {
            let id = bundle.head.collection
            var states: [BundleReader] = []
            if let history {
                let listing = try await history.bundles(of: id)
                notes += listing.unusable.map { "\($0)" }
                var seen: Set<Timestamp> = [bundle.head.timestamp]
                for state in listing.bundles where state.timestamp < bundle.head.timestamp {
                    guard states.count < olderStates, seen.insert(state.timestamp).inserted else { continue }
                    states.append(try await state.open())
                }
            }
            let signature = lock.collections[id]?.trust.verdict
            collections.append(try ServedCollection(bundle, signature: signature, history: states, address: address))
            let omitted = bundle.head.omitted
            if omitted > 0 {
                let count = Counted.text(omitted, "attachment")
                notes.append("\(id): \(count) \(Counted.noun(omitted, "is", plural: "are")) not in its bundle")
            }
        }
        return try Origin(collections, address: address, softwareVersion: softwareVersion)
    }
}
