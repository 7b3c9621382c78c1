import RemoteSettingsModel

/// Why a collection is not at its pinned state, or cannot be brought there.
package enum PinError: Error, Hashable, Sendable {
    /// Neither the current bundle nor the server has the pinned state.
    case unmet(CollectionID, Pin, reason: String)
    /// The pin's last day is over, and the bundle is too old to stay without a pin.
    case overdue(CollectionID, Pin)
    /// There is no bundle to pin.
    case nothingHeld(CollectionID)
    /// The bundle is at another state than the one that the configuration pins.
    case elsewhere(CollectionID, Pin, held: Timestamp)
    /// The bundle at the pinned state does not verify.
    case damaged(CollectionID, Pin, problem: String)
    /// A folder has several states, and the user did not name one.
    case several(CollectionID, place: String, found: [Timestamp])
    /// No bundle with that timestamp was found. `places` names the places searched, `found` the other states there.
    case notFound(CollectionID, wanted: String, places: String, found: [Timestamp], remedy: String)
    /// The bundle that was found could not be verified.
    case notVouchedFor(CollectionID, place: String, problem: String)
}

extension PinError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unmet(let id, let pin, let reason):
            "\(reason), but dumps.yaml pins it at \(pin.at) (\(pin.at.rfc3339)); the current bundle is kept; bring the "
                + "pinned state back with: rsdump pin \(id) --at \(pin.at), or follow the server again with: rsdump pin "
                + "\(id) --remove"
        case .overdue(let id, let pin):
            "its pin ended on \(pin.until.map(Pin.dateText) ?? "-"), and its bundle is older than --max-age; follow "
                + "the server again with: rsdump pin \(id) --remove, or pin it again with a later --until"
        case .nothingHeld(let id):
            "\(id): there is no bundle to pin; run rsdump refresh \(id) first, or use --at and --from"
        case .elsewhere(let id, let pin, let held):
            "the bundle is at \(held), but dumps.yaml pins it at \(pin.at) (\(pin.at.rfc3339)); bring that back with: "
                + "rsdump pin \(id) --at \(pin.at), or remove the pin with: rsdump pin \(id) --remove"
        case .damaged(let id, let pin, let problem):
            "\(problem); dumps.yaml pins it at \(pin.at) (\(pin.at.rfc3339)); bring it back from git history with: "
                + "rsdump pin \(id) --at \(pin.at), or follow the server again with: rsdump pin \(id) --remove"
        case .several(let id, let place, let found):
            "\(id): \(place) has \(found.count) states of it: \(Self.list(found)); name one with --at"
        case .notFound(let id, let wanted, let places, let found, let remedy):
            "\(id): no bundle \(wanted) in \(places)"
                + (found.isEmpty ? ", nor any other of its bundles" : "; there: \(Self.list(found))") + "; \(remedy)"
        case .notVouchedFor(let id, let place, let problem):
            "\(id): the bundle at \(place) cannot be used: \(problem)"
        }
    }

    private static func list(_ timestamps: [Timestamp]) -> String {
        Counted.list(timestamps.lazy.map { "\($0) (\($0.rfc3339))" })
    }
}

extension DumpsConfiguration.Collection {
    /// Checks that a state may take the place of the current one.
    ///
    /// - Throws: ``PinError/unmet(_:_:reason:)`` if the collection is pinned to another state.
    package func checkPin(_ timestamp: Timestamp) throws(PinError) {
        guard let pin, pin.at != timestamp else { return }
        throw .unmet(id, pin, reason: "the new state is \(timestamp) (\(timestamp.rfc3339))")
    }
}
