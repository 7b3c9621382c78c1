import Dumps
import RemoteSettingsModel
import SnapshotBundle

// The reasons why a collection cannot be published.
extension DumpsError {
    /// The current timestamp is so far ahead of the clock that apps would refuse the next one.
    package static func clockBehind(_ id: CollectionID, present: Timestamp, time: Timestamp) -> Self {
        Self(
            file: "\(id)",
            problem: "this machine's clock, \(time.rfc3339), is more than a day behind the current timestamp, "
                + "\(present.rfc3339)",
            remedy: "correct the clock, or restore the earlier bundle with git, then publish again")
    }

    /// The requested time is not later than the current timestamp.
    package static func notLater(_ id: CollectionID, present: Timestamp, time: Timestamp) -> Self {
        Self(
            file: "\(id)",
            problem: "--at \(time.rfc3339) is not after the current timestamp, \(present.rfc3339)",
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
            problem: "expected a valid signature of a root in dumps.yaml, found \(problem)",
            remedy: "publish it from its source, or remove it with: rsdump remove \(id)")
    }

    /// The state differs from the one that the current catalogue lists, and does not verify against a configured root.
    package static func notVouchedInCatalogue(_ id: CollectionID, _ problem: String) -> Self {
        Self(
            file: "\(id)",
            problem: "its state is not the one that the current catalogue lists, and it does not verify against a root "
                + "in dumps.yaml (\(problem))",
            remedy: "publish it from its source, restore its bundle with git, or remove it with: rsdump remove \(id)")
    }

    /// The current catalogue belongs to a different publisher.
    package static func otherPublisher(_ found: PublisherName, configured: PublisherName) -> Self {
        Self(
            file: "\(Catalogue.collection)",
            problem: "expected the publisher in dumps.yaml, \(configured), found \(found), which clients know",
            remedy: "change the name in dumps.yaml back, or, to start over with the new name, run: rsdump remove "
                + "\(Catalogue.collection)")
    }

    /// `dumps.yaml` has a publisher other than the requested one, or none.
    package static func publisherElsewhere(_ publisher: PublisherName, configured: PublisherName?) -> Self {
        Self(
            file: "--publisher \(publisher)",
            problem: "dumps.yaml names \(configured.map { "the publisher \($0)" } ?? "no publisher")",
            remedy: "leave out --publisher, or write the name into dumps.yaml, under catalogue:")
    }

    /// `--no-catalogue` was given, but `dumps.yaml` has this publisher.
    package static func hasCatalogues(_ configured: PublisherName) -> Self {
        Self(
            file: "--no-catalogue", problem: "dumps.yaml names the publisher \(configured)",
            remedy: "to publish no more catalogues, run rsdump remove \(Catalogue.collection) and write catalogue: off "
                + "into dumps.yaml")
    }

    /// The current catalogue has the highest possible number.
    package static func numbersUsedUp(_ id: CollectionID) -> Self {
        Self(
            file: "\(id)",
            problem: "catalogue number \(Catalogue.highestNumber) is the highest possible one, and may be forged by a "
                + "thief of the key",
            remedy: "to begin again at 1, make a later signing certificate with: rsdump keys renew DIR")
    }

    /// The current catalogue cannot be read, or clients that have it would refuse the next one.
    package static func nextCatalogue(_ error: BundleError) -> Self {
        if error.code == .rollback { return Self(problem: "\(error)", remedy: "sign with the newer keys") }
        return Self(
            problem: "\(error)",
            remedy: "restore the bundle with git, or start over with: rsdump remove \(Catalogue.collection)")
    }

    /// Clients would consider the catalogue stale before the next run is due.
    package static func unconfirmedTooEarly(_ id: CollectionID, end: Timestamp, due: Timestamp) -> Self {
        Self(
            file: "\(id)",
            problem:
                "it would be unconfirmed from \(end.rfc3339), when the signing certificate expires; expected it to "
                + "be confirmed until the next run, \(due.rfc3339) (half of expires-after)",
            remedy: "shorten expires-after in dumps.yaml, or renew the certificate with: rsdump keys renew DIR "
                + "--signer-public-key FILE, then run: rsdump publish --resign")
    }

    /// There is no catalogue to confirm.
    package static func noCatalogueToConfirm(_ file: String) -> Self {
        Self(
            file: file, problem: "the file does not name a publisher, and only a catalogue can be confirmed",
            remedy: "write catalogue: with the publisher's name")
    }

    /// The directory has no collections for a catalogue to confirm.
    package static func nothingToConfirm(_ path: String) -> Self {
        Self(
            file: path, problem: "there are no collections to confirm",
            remedy: "publish some with rsdump publish first")
    }

    /// There is a source for the catalogue, but `publish` generates the catalogue.
    package static func sourceOfCatalogue(_ id: CollectionID) -> Self {
        Self(
            file: "\(id)", problem: "publish makes the catalogue itself, so it cannot have a source",
            remedy: "remove the source, or catalogue: in dumps.yaml")
    }

    /// The command of `publish --sign-with` returned no signature. The error does not quote its output, which may
    /// contain a PIN.
    package static func noSignature(_ problem: String) -> Self {
        Self(
            .program, file: "--sign-with",
            problem: "the command did not return a signature: \(problem); nothing was published",
            remedy: "run the command by itself, with any text on its standard input")
    }

    /// There is no earlier state to roll back to.
    package static func noEarlierState(_ id: CollectionID, current: Timestamp, time: Timestamp?) -> Self {
        Self(
            file: "\(id)",
            problem: "there is no state before the current one, of \(current.rfc3339),"
                + (time.map { " and not later than \($0.rfc3339)," } ?? "") + " in the commits that lead to HEAD",
            remedy: "rsdump log \(id) shows the states")
    }

    /// The current state has the same records as an earlier one, so it was already rolled back.
    package static func rolledBack(_ id: CollectionID, to earlier: Timestamp, next: Timestamp) -> Self {
        Self(
            file: "\(id)",
            problem: "it was rolled back before, because its records are already those of \(earlier.rfc3339)",
            remedy: "for the state of \(next.rfc3339), give --to \(next.rfc3339)")
    }

    /// The earlier state does not verify against a configured root.
    package static func earlierNotVouched(_ id: CollectionID, place: String, problem: String) -> Self {
        Self(
            .untrusted, file: "\(id)", entry: place,
            problem: "expected a state with a signature of a root in dumps.yaml, but \(problem)",
            remedy: "choose another one with --to")
    }
}
