import RemoteSettingsModel

// Errors about collections that are not at their pinned state, or cannot be pinned.
extension Failure {
    /// Returns an error for a pinned state that cannot be used, for the given reason.
    static func unmet(_ id: CollectionID, _ pin: Pin, reason: String) -> Self {
        Self(
            .refused,
            problem: "dumps.yaml pins it at \(pin.at) (\(pin.at.rfc3339)), but \(reason); the collection is unchanged",
            remedy: "bring the pinned state back with: rsdump pin \(id) --at \(pin.at), or follow the server again "
                + "with: rsdump pin \(id) --remove", cause: .pin)
    }

    /// Returns an error for an expired pin whose bundle is older than `--max-age`.
    static func overdue(_ id: CollectionID, _ pin: Pin) -> Self {
        Self(
            .refused,
            problem: "its pin expired on \(pin.until.map(Pin.dateText) ?? "-"), and its bundle is older than --max-age",
            remedy: "follow the server again with: rsdump pin \(id) --remove, or pin it again with a later --until",
            cause: .pin)
    }

    /// Returns an error for a collection without a bundle to pin.
    static func nothingHeld(_ id: CollectionID) -> Self {
        Self(
            place: "\(id)", problem: "there is no bundle to pin",
            remedy: "run rsdump refresh \(id) first, or choose an older state with --at or --from", cause: .pin)
    }

    /// Returns an error for a bundle whose state is not the pinned one.
    static func elsewhere(_ id: CollectionID, _ pin: Pin, held: Timestamp) -> Self {
        Self(
            .damaged,
            problem:
                "the bundle is at \(held) (\(held.rfc3339)), but dumps.yaml pins it at \(pin.at) (\(pin.at.rfc3339))",
            remedy: "bring the pinned state back with: rsdump pin \(id) --at \(pin.at), or remove the pin with: rsdump "
                + "pin \(id) --remove", cause: .pin)
    }

    /// Returns an error for a bundle at the pinned state that does not verify.
    static func damaged(_ id: CollectionID, _ pin: Pin, problem: String) -> Self {
        Self(
            .damaged, problem: "\(problem); dumps.yaml pins it at \(pin.at) (\(pin.at.rfc3339))",
            remedy: "bring the state back from git history with: rsdump pin \(id) --at \(pin.at), or follow the server "
                + "again with: rsdump pin \(id) --remove", cause: .pin)
    }

    /// Returns an error for a folder that contains several states, if the user did not choose one.
    static func several(_ id: CollectionID, place: String, found: [Timestamp]) -> Self {
        Self(
            place: "\(id)", problem: "\(place) has \(found.count) states of this collection: \(list(found))",
            remedy: "choose one with --at", cause: .pin)
    }

    /// Returns an error for a requested state of which no bundle was found.
    ///
    /// - Parameters:
    ///   - places: the folder, file or git history that was searched.
    ///   - found: the other states that were found there.
    static func notFound(
        _ id: CollectionID, wanted: String, places: String, found: [Timestamp], remedy: String
    ) -> Self {
        Self(
            .missing, place: "\(id)",
            problem: "no bundle \(wanted) in \(places)"
                + (found.isEmpty ? "" : "; available: \(list(found))"),
            remedy: remedy, cause: .pin)
    }

    /// Returns an error for a bundle that was found but could not be verified.
    static func notVouchedFor(_ id: CollectionID, place: String, problem: String) -> Self {
        Self(.untrusted, place: "\(id)", problem: "the bundle at \(place) cannot be used: \(problem)", cause: .pin)
    }

    private static func list(_ timestamps: [Timestamp]) -> String {
        Counted.list(timestamps.lazy.map { "\($0) (\($0.rfc3339))" })
    }
}

extension DumpsConfiguration.Collection {
    /// Checks that no pin prevents a state from replacing the current one.
    ///
    /// - Throws: ``Failure`` of the class `pin` if the collection is pinned to another state.
    package func checkPin(_ timestamp: Timestamp) throws(Failure) {
        guard let pin, pin.at != timestamp else { return }
        throw .unmet(id, pin, reason: "the new state is another one, \(timestamp) (\(timestamp.rfc3339))")
    }
}
