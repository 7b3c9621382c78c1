import RemoteSettingsModel

// The reasons why records are not a catalogue, or why a catalogue cannot replace the current one.
extension BundleError {
    /// The records are not a catalogue.
    package static func malformed(_ problem: String) -> Self {
        Self(
            .malformed,
            "\(Catalogue.collection): expected the records of a catalogue, found "
                + VisibleText.excerpt(problem))
    }

    /// The records have a later version of the format.
    static func laterFormat(_ format: UInt64) -> Self {
        Self(
            .unknownVersion,
            "\(Catalogue.collection): expected a catalogue of format \(Catalogue.format), found \(format); update this "
                + "package")
    }

    /// The catalogue belongs to a different publisher, such as a test publisher with the same keys.
    package static func otherPublisher(found: PublisherName, expected: PublisherName) -> Self {
        Self(
            .untrusted,
            "\(Catalogue.collection): expected the catalogue of the publisher \(expected), found that of \(found); "
                + "correct the server or the publisher in the configuration")
    }

    /// The number is lower than that of the current catalogue.
    package static func olderCatalogue(found: UInt64, held: UInt64) -> Self {
        Self(.rollback, "\(Catalogue.collection): expected catalogue \(held) or a later one, found catalogue \(found)")
    }

    /// The number is that of the current catalogue, but the states differ.
    static func sameNumberOtherStates(_ number: UInt64) -> Self {
        Self(
            .untrusted,
            "\(Catalogue.collection): catalogue \(number) lists other states than before; tell its publisher that "
                + "new states require a new number")
    }

    /// The number is that of the current catalogue, but its confirmation is older than the current one.
    static func olderConfirmation(found: Timestamp, held: Timestamp) -> Self {
        Self(
            .rollback,
            "\(Catalogue.collection): expected a confirmation of \(held.rfc3339) or later, found one of "
                + "\(found.rfc3339)")
    }

    /// Collections that were listed are missing and not marked as removed.
    package static func unlisted(_ ids: [CollectionID]) -> Self {
        Self(
            .untrusted,
            "\(Catalogue.collection): \(Counted.list(ids.sorted())): listed before, but now neither listed nor "
                + "marked as removed")
    }

    /// The signing certificate was issued before that of the current catalogue.
    static func earlierCertificate(found: Timestamp, held: Timestamp) -> Self {
        Self(
            .rollback,
            "\(Catalogue.collection): expected a certificate that is valid from \(held.rfc3339) or later, found "
                + "one that is valid from \(found.rfc3339), whose key was replaced; its publisher must sign with the "
                + "new key")
    }

    /// The client's first catalogue is already stale, because its confirmation has expired.
    package static func expired(_ number: UInt64, since: Timestamp) -> Self {
        Self(
            .untrusted,
            "\(Catalogue.collection): expected a confirmed catalogue, found catalogue \(number), whose confirmation "
                + "ended at \(since.rfc3339): a mirror or a cache may be out of date, or nobody ran rsdump publish "
                + "--confirm; use another server, or ask the publisher")
    }

    /// The time of the confirmation is in the future.
    static func confirmedAhead(found: Timestamp, now: Timestamp) -> Self {
        Self(
            .untrusted,
            "\(Catalogue.collection): expected a confirmation that is not later than this device's time, "
                + "\(now.rfc3339), found one of \(found.rfc3339); check the clocks of this device and of the publisher")
    }
}
