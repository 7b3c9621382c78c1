import RemoteSettingsModel
import SnapshotBundle

// Errors that reject the state of a collection, or a whole catalogue.
extension DumpsError {
    /// Returns an error for a catalogue that is malformed, belongs to another publisher, or must not replace the
    /// packaged one.
    static func catalogue(_ error: BundleError) -> Self {
        Self(error.failureCode ?? .content, kind: .catalogue, problem: "\(error); the bundles are unchanged")
    }

    static func noCatalogue(_ publisher: PublisherName) -> Self {
        Self(
            .missing, kind: .catalogue, problem: "the server has no catalogue of the publisher \(publisher)",
            remedy:
                "set --server to that publisher's server or a mirror of it, or ask the publisher to write catalogue: "
                + "in its dumps.yaml")
    }

    /// Returns an error for a collection whose state on the server is not the one listed in the server's catalogue.
    static func otherState(number: UInt64, listed: Timestamp, found: Timestamp) -> Self {
        let (problem, remedy) =
            found == listed
            ? (
                "the server's records of \(listed.rfc3339) do not match catalogue \(number); the current "
                    + "catalogue is kept", "report this to the server's operator"
            )
            : (
                "expected the state that catalogue \(number) lists, \(listed) (\(listed.rfc3339)), found \(found) "
                    + "(\(found.rfc3339)); the current catalogue is kept",
                "the publisher may be publishing now, so try again later"
            )
        return Self(
            .content, kind: .catalogue, problem: problem, remedy: remedy,
            details: .states(listed: listed, found: found))
    }

    /// Returns an error for a collection that the catalogue no longer lists.
    static func removed(_ id: CollectionID, publisher: PublisherName, since: UInt64) -> Self {
        Self(
            .missing, kind: .catalogue,
            problem: "the publisher \(publisher) removed this collection in catalogue \(since); its bundle is kept",
            remedy: "to remove it, run rsdump remove \(id)")
    }

    /// Returns an error for a collection that the catalogue does not list.
    static func unlisted(_ id: CollectionID, publisher: PublisherName, number: UInt64) -> Self {
        Self(
            .missing, kind: .catalogue, problem: "catalogue \(number) of \(publisher) does not list this collection",
            remedy: "correct its name in dumps.yaml, or run rsdump remove \(id)")
    }

    /// Returns an error for a catalogue that has been stale since the given time, according to its own confirmation or
    /// the configuration.
    static func staleCatalogue(number: UInt64, since: Timestamp) -> Self {
        Self(
            .rollback, kind: .catalogue,
            problem: "catalogue \(number) has been stale since \(since.rfc3339), and the server has no newer one: a "
                + "mirror or a cache may be out of date, or the publisher has not run rsdump publish --confirm",
            remedy: "try another server, or ask the publisher to confirm the catalogue")
    }

    /// Returns an error for a collection that was not replaced because others in the catalogue failed.
    static func notWhole(failed: [CollectionID]) -> Self {
        Self(
            .refused, kind: .catalogue,
            problem: "not updated, because \(Counted.list(failed)) failed and the collections of a catalogue are only "
                + "updated together; the current catalogue and the downloads are kept",
            details: .causes(failed))
    }

    /// The collections whose failures prevented the acceptance of the catalogue; empty for other errors.
    var causes: [CollectionID] {
        if case .causes(let causes)? = details { causes } else { [] }
    }
}
