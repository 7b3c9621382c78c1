import Dumps
import RemoteSettingsModel
import SnapshotBundle

// Errors of publishing. Each comment states the problem that the error reports.
extension DumpsError {
    /// The current timestamp is so far ahead of the clock that apps would refuse the next one.
    package static func clockBehind(_ id: CollectionID, present: Timestamp, time: Timestamp) -> Self {
        Self(
            file: "\(id)",
            problem:
                "this machine's clock (\(time.rfc3339)) is more than a day behind the timestamp of the current state "
                + "(\(present.rfc3339))",
            remedy: "correct the clock, or restore the dumps directory from an earlier commit with git, then publish "
                + "again")
    }

    /// The requested time is not later than the current timestamp.
    package static func notLater(_ id: CollectionID, present: Timestamp, time: Timestamp) -> Self {
        Self(
            file: "\(id)",
            problem: "--at \(time.rfc3339) is not later than the timestamp of the current state, \(present.rfc3339)",
            remedy: "give a later time")
    }

    /// The current bundle is damaged or differs from its entry in the lock file.
    package static func damaged(_ id: CollectionID, _ problem: String) -> Self {
        Self(
            .damaged, file: "\(id)", problem: "the current bundle cannot be used: \(problem)",
            remedy: "restore it with git, or check it with: rsdump verify")
    }

    /// The state that is to be signed again does not verify against a configured root.
    package static func notVouched(_ id: CollectionID, _ problem: String) -> Self {
        Self(
            .untrusted, file: "\(id)",
            problem: "it has no valid signature from a root in dumps.yaml: \(problem)",
            remedy: "publish it from its source, or remove it with: rsdump remove \(id)")
    }

    /// The state differs from the one that the current catalogue lists, and does not verify against a configured root.
    package static func notVouchedInCatalogue(_ id: CollectionID, _ problem: String) -> Self {
        Self(
            file: "\(id)",
            problem:
                "its state is not listed in the current catalogue, and it does not verify against a root in dumps.yaml "
                + "(\(problem))",
            remedy: "publish it from its source, restore its bundle with git, or remove it with: rsdump remove \(id)")
    }

    /// The current catalogue belongs to a different publisher.
    package static func otherPublisher(_ found: PublisherName, configured: PublisherName) -> Self {
        Self(
            file: "\(Catalogue.collection)",
            problem: "the publisher in dumps.yaml is \(configured), but the published catalogue is from \(found)",
            remedy: "change the name in dumps.yaml back; or, to start over with the new name, run: rsdump remove "
                + "\(Catalogue.collection)")
    }

    /// `dumps.yaml` has a publisher other than the requested one, or none.
    package static func publisherElsewhere(_ publisher: PublisherName, configured: PublisherName?) -> Self {
        Self(
            file: "--publisher \(publisher)",
            problem: configured.map { "the publisher in dumps.yaml is \($0)" } ?? "dumps.yaml has no publisher",
            remedy: "remove --publisher, or set publisher: under catalogue: in dumps.yaml")
    }

    /// `--no-catalogue` was given, but `dumps.yaml` has this publisher.
    package static func hasCatalogues(_ configured: PublisherName) -> Self {
        Self(
            file: "--no-catalogue", problem: "dumps.yaml has the publisher \(configured)",
            remedy:
                "to stop publishing catalogues, run rsdump remove \(Catalogue.collection), and write catalogue: off "
                + "in dumps.yaml")
    }

    /// The current catalogue has the highest possible number.
    package static func numbersUsedUp(_ id: CollectionID) -> Self {
        Self(
            file: "\(id)",
            problem:
                "catalogue number \(Catalogue.highestNumber) is the highest possible one; a stolen key may have signed "
                + "it",
            remedy: "to start again at 1, create a new signing certificate with: rsdump keys renew DIR")
    }

    /// The current catalogue cannot be read, or clients that have it would refuse the next one.
    package static func nextCatalogue(_ error: BundleError) -> Self {
        if error.code == .rollback { return Self(problem: "\(error)", remedy: "sign with the newer keys") }
        return Self(
            problem: "\(error)",
            remedy: "restore the bundle with git, or start over with: rsdump remove \(Catalogue.collection)")
    }

    /// Clients would consider the catalogue stale before the next run is due.
    package static func staleTooEarly(_ id: CollectionID, end: Timestamp, due: Timestamp) -> Self {
        Self(
            file: "\(id)",
            problem:
                "it would be stale from \(end.rfc3339), when the signing certificate expires, before the next run is "
                + "due at \(due.rfc3339) (half of expires-after)",
            remedy: "shorten expires-after in dumps.yaml, or renew the certificate with: rsdump keys renew DIR "
                + "--signer-public-key FILE, then run: rsdump publish --resign")
    }

    /// There is no catalogue to confirm.
    package static func noCatalogueToConfirm(_ file: String) -> Self {
        Self(
            file: file, problem: "the file has no publisher, and only a catalogue can be confirmed",
            remedy: "set publisher: under catalogue:")
    }

    /// The directory has no collections for a catalogue to confirm.
    package static func nothingToConfirm(_ path: String) -> Self {
        Self(
            file: path, problem: "there are no collections to confirm",
            remedy: "publish them first with: rsdump publish")
    }

    /// There is a source for the catalogue, although `publish` generates the catalogue.
    package static func sourceOfCatalogue(_ id: CollectionID) -> Self {
        Self(
            file: "\(id)", problem: "publish creates the catalogue itself, so it cannot have a source",
            remedy: "remove the source, or catalogue: in dumps.yaml")
    }

    /// The command of `publish --sign-with` returned no signature. The error does not quote its output, which may
    /// contain a PIN.
    package static func noSignature(_ problem: String) -> Self {
        Self(
            .program, file: "--sign-with",
            problem: "the command did not return a signature: \(problem); nothing was published",
            remedy: "test the command by itself, with any text on its standard input")
    }

    /// There is no earlier state to roll back to.
    ///
    /// - Parameter gap: the reason that older commits are missing, and the remedy.
    package static func noEarlierState(
        _ id: CollectionID, current: Timestamp, time: Timestamp?, gap: String?
    ) -> Self {
        Self(
            file: "\(id)",
            problem: "the history of HEAD has no state before the current one (\(current.rfc3339))"
                + (time.map { " that is not later than \($0.rfc3339)" } ?? ""),
            remedy: gap ?? "list the states with: rsdump log \(id)")
    }

    /// The current state has the same records as an earlier one, so it was already rolled back.
    package static func rolledBack(_ id: CollectionID, to earlier: Timestamp, next: Timestamp) -> Self {
        Self(
            file: "\(id)",
            problem: "it has already been rolled back: its records are those of \(earlier.rfc3339)",
            remedy: "to undo the rollback, give --to \(next.rfc3339); to go back further, give an earlier time")
    }

    /// The earlier state does not verify against a configured root.
    package static func earlierNotVouched(_ id: CollectionID, place: String, problem: String) -> Self {
        Self(
            .untrusted, file: "\(id)", entry: place,
            problem: "this state does not verify against a root in dumps.yaml: \(problem)",
            remedy: "choose a different state with --to")
    }
}
