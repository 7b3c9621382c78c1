import RemoteSettingsModel

/// What one publisher published together: the state of each of its collections, and until when that is confirmed.
///
/// It travels as the records of the collection ``collection``. So every server, mirror, cache and client carries it
/// without knowing what it is. A catalogue is believed only if the snapshot that it was read from is verified.
package struct Catalogue: Hashable, Sendable {
    /// The collection whose records are a publisher's catalogue.
    package static let collection: CollectionID = {
        do {
            return try CollectionID(bucket: "publisher", name: "catalogue")
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    /// The format of the records that this version reads and writes.
    package static let format: UInt64 = 1

    /// The state of one collection.
    package struct Entry: Hashable, Sendable {
        package var timestamp: Timestamp
        /// The SHA-256 of the signed payload, which is canonical JSON of the records and the timestamp.
        package var payload: SHA256Digest
        /// The number of records.
        package var records: Int

        package init(timestamp: Timestamp, payload: SHA256Digest, records: Int) {
            self.timestamp = timestamp
            self.payload = payload
            self.records = records
        }
    }

    /// The name that the publisher gives itself. It prevents another publisher with the same keys from standing in for this
    /// one.
    package var publisher: PublisherName
    /// The number of the catalogue, from 1 to 2^53 - 1. Each catalogue of a publisher has a higher number than the one before
    /// it.
    package var number: UInt64
    /// When the catalogue was published.
    package var made: Timestamp
    /// When the publisher last confirmed that this catalogue is its present one.
    package var confirmed: Timestamp
    /// Until when the publisher confirms it, as it says itself. ``confirmedUntil(certificateEnds:)`` decides.
    package var expires: Timestamp
    /// The collections of the catalogue.
    package var entries: [CollectionID: Entry]
    /// The collections that earlier catalogues listed, with the number of the one that removed them.
    package var removed: [CollectionID: UInt64]

    /// The highest number of a catalogue. Every JSON reader keeps it exactly (RFC 8259, section 6).
    package static let highestNumber: UInt64 = (1 << 53) - 1

    package init(
        publisher: PublisherName, number: UInt64, made: Timestamp, confirmed: Timestamp, expires: Timestamp,
        entries: [CollectionID: Entry], removed: [CollectionID: UInt64] = [:]
    ) {
        self.publisher = publisher
        self.number = number
        self.made = made
        self.confirmed = confirmed
        self.expires = expires
        self.entries = entries
        self.removed = removed
    }

    /// The longest time that one confirmation may last, which is also the longest that `dumps.yaml` accepts.
    package static let longestConfirmation = Duration.seconds(366 * 86_400)

    /// Until when clients may accept the catalogue as the current one. Records are still served after that time, but they
    /// count as unconfirmed.
    ///
    /// It is the earliest of three times, so that somebody who had the key for a day cannot confirm a catalogue for ever:
    /// ``expires``, ``longestConfirmation`` after ``confirmed``, and the end of the certificate.
    ///
    /// - Parameter end: the end of the certificate chain that vouches for the catalogue; `nil` if nothing is signed.
    package func confirmedUntil(certificateEnds end: Timestamp?) -> Timestamp {
        min(expires, confirmed.advanced(by: Self.longestConfirmation), end ?? expires)
    }

    /// Whether both list the same states. Their times of confirmation may differ.
    package func hasSameStates(as other: Catalogue) -> Bool {
        publisher == other.publisher && entries == other.entries && removed == other.removed
    }
}

/// The name that a publisher gives itself. Names are compared by their characters.
///
/// It has 1 to 64 of the characters `a` to `z`, `0` to `9`, `.` and `-`, and begins with a letter or a digit.
package struct PublisherName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// - Returns: `nil` if the text is not such a name.
    package init?(_ text: String) {
        func isPlain(_ byte: UInt8) -> Bool {
            UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        }
        guard let first = text.utf8.first, isPlain(first), text.utf8.count <= 64,
            text.utf8.allSatisfy({ isPlain($0) || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-") })
        else { return nil }
        description = text
    }

    /// The rule for names, for errors.
    package static let rule = "1 to 64 of the characters a to z, 0 to 9, . and -, beginning with a letter or a digit"
}

/// Why records are not a catalogue, or why a catalogue cannot follow the one that is held.
package enum CatalogueError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The records are not a catalogue.
    case malformed(String)
    /// The records have a later version of the format.
    case laterFormat(UInt64)
    /// The catalogue belongs to another publisher, such as a staging one with the same keys.
    case otherPublisher(found: PublisherName, expected: PublisherName)
    /// Its number is lower than that of the catalogue that is held.
    case olderCatalogue(found: UInt64, held: UInt64)
    /// Its number is that of the held catalogue, but it lists other states.
    case sameNumberOtherStates(UInt64)
    /// It confirms the held catalogue, but was made before the held confirmation.
    case olderConfirmation(found: Timestamp, held: Timestamp)
    /// Collections that were listed are missing, and it does not say that they were removed.
    case unlisted([CollectionID])
    /// The certificate that signed it was issued before that of the held catalogue.
    case earlierCertificate(found: Timestamp, held: Timestamp)
    /// It is the first one, and nothing confirms it any more.
    case expired(UInt64, since: Timestamp)
    /// It was confirmed at a time that has not come yet.
    case confirmedAhead(found: Timestamp, now: Timestamp)

    package var description: String {
        switch self {
        case .malformed(let problem):
            "\(Catalogue.collection): expected a catalogue (its article has the format), found \(problem)"
        case .laterFormat(let format):
            "\(Catalogue.collection): expected a catalogue of format \(Catalogue.format), found \(format); update this "
                + "package"
        case .otherPublisher(let found, let expected):
            "\(Catalogue.collection): expected the catalogue of the publisher \(expected), found that of \(found); the "
                + "server "
                + "or the configuration names the wrong publisher"
        case .olderCatalogue(let found, let held):
            "\(Catalogue.collection): expected catalogue \(held) or a later one, found catalogue \(found)"
        case .sameNumberOtherStates(let number):
            "\(Catalogue.collection): catalogue \(number) lists other states than before; a publisher gives a catalogue that "
                + "differs a new number"
        case .olderConfirmation(let found, let held):
            "\(Catalogue.collection): expected a confirmation of \(held.rfc3339) or later, found one of "
                + "\(found.rfc3339)"
        case .unlisted(let ids):
            "\(Catalogue.collection): \(Counted.list(ids.sorted())): listed before, and now neither listed nor marked as "
                + "removed"
        case .earlierCertificate(let found, let held):
            "\(Catalogue.collection): expected a signature of a certificate that is valid from \(held.rfc3339) or "
                + "later, found one from \(found.rfc3339), a key that was replaced; its publisher renews it "
                + "with rsdump keys renew"
        case .expired(let number, let since):
            "\(Catalogue.collection): expected a catalogue that its publisher confirms, found catalogue \(number), which "
                + "nothing has confirmed since \(since.rfc3339): a mirror or a cache may keep back what is newer, or "
                + "nobody ran rsdump publish --confirm; ask another server, or the publisher"
        case .confirmedAhead(let found, let now):
            "\(Catalogue.collection): expected a confirmation of about \(now.rfc3339), the time of this device, or "
                + "earlier, found one of \(found.rfc3339); check the clocks of this device and of the publisher"
        }
    }
}
