import RemoteSettingsModel

// The reasons why records are not a catalogue, or why a catalogue cannot replace the current one.
extension BundleError {
    /// The records are not a catalogue.
    package static func malformed(_ problem: String) -> Self {
        Self(
            .malformed,
            "\(Catalogue.collection): not a valid catalogue: \(VisibleText.excerpt(problem))")
    }

    /// The records have a later version of the format.
    static func laterFormat(_ format: UInt64) -> Self {
        Self(
            .unknownVersion,
            "\(Catalogue.collection): expected catalogue format \(Catalogue.format), found \(format); update this "
                + "software"
        )
    }

    /// The catalogue belongs to another publisher, such as a test publisher with the same keys.
    package static func otherPublisher(found: PublisherName, expected: PublisherName) -> Self {
        Self(
            .untrusted,
            "\(Catalogue.collection): expected the publisher \(expected), found \(found); "
                + "correct the server or the publisher in the configuration")
    }

    /// The number is lower than that of the current catalogue.
    package static func olderCatalogue(found: UInt64, held: UInt64) -> Self {
        Self(
            .rollback,
            "\(Catalogue.collection): expected catalogue number \(held) or later, found \(found); the server sent an "
                + "older catalogue than before"
        )
    }

    /// The number is that of the current catalogue, but the states differ.
    static func sameNumberOtherStates(_ number: UInt64) -> Self {
        Self(
            .untrusted,
            "\(Catalogue.collection): catalogue \(number) lists different states than before under the same number; "
                + "tell "
                + "the publisher that new states require a new number")
    }

    /// The number is that of the current catalogue, but its confirmation is older than the current one.
    static func olderConfirmation(found: Timestamp, held: Timestamp) -> Self {
        Self(
            .rollback,
            "\(Catalogue.collection): expected a catalogue confirmed at \(held.rfc3339) or later, found one "
                + "confirmed at \(found.rfc3339)")
    }

    /// Collections of an earlier catalogue are neither listed nor marked as removed.
    package static func unlisted(_ ids: [CollectionID]) -> Self {
        Self(
            .untrusted,
            "\(Catalogue.collection): collections of an earlier catalogue are neither listed nor marked as removed: "
                + "\(Counted.list(ids.sorted()))")
    }

    /// The signing certificate was issued before that of the current catalogue.
    static func earlierCertificate(found: Timestamp, held: Timestamp) -> Self {
        Self(
            .rollback,
            "\(Catalogue.collection): the catalogue was signed with a key that has since been replaced "
                + "(its certificate is from \(found.rfc3339), not \(held.rfc3339) or later); the publisher must "
                + "sign with the new key"
        )
    }

    /// The client's first catalogue is already stale, because its confirmation has expired.
    package static func expired(_ number: UInt64, since: Timestamp) -> Self {
        Self(
            .untrusted,
            "\(Catalogue.collection): catalogue \(number) has been stale since \(since.rfc3339): a mirror or a "
                + "cache may be out of date, or rsdump publish --confirm has not been run; try a different server, or "
                + "ask the publisher")
    }

    /// The time of the confirmation is more than ``Limits/clockToleranceSeconds`` in the future.
    static func confirmedAhead(found: Timestamp, now: Timestamp) -> Self {
        Self(
            .untrusted,
            "\(Catalogue.collection): the catalogue was confirmed in the future, at \(found.rfc3339), and the current "
                + "time is \(now.rfc3339); check the clocks of this device and of the publisher")
    }
}
