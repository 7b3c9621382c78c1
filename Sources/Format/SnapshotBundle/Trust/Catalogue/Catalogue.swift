import RemoteSettingsModel

/// A list of the states that one publisher published together, one for each collection, with the time until which the
/// list is fresh.
///
/// It is published as the records of the collection ``collection``. Every server, mirror, cache and client can
/// therefore transfer it like any other collection. A catalogue is trusted only if its snapshot is verified.
package struct Catalogue: Hashable, Sendable {
    /// The collection whose records are a publisher's catalogue.
    package static let collection: CollectionID = {
        do {
            return try CollectionID(bucket: "publisher", name: "catalogue")
        } catch {
            preconditionFailure("\(error)")
        }
    }()

    /// The version of the records' format that this package reads and writes.
    static let format: UInt64 = 1

    /// The state of one collection.
    package struct Entry: Hashable, Sendable {
        package var timestamp: Timestamp
        /// The SHA-256 of the signed payload, which is the canonical JSON of the records and the timestamp.
        package var payload: SHA256Digest
        /// The number of records.
        package var records: Int

        package init(timestamp: Timestamp, payload: SHA256Digest, records: Int) {
            self.timestamp = timestamp
            self.payload = payload
            self.records = records
        }
    }

    /// The name that the publisher chose. It prevents another publisher with the same keys from replacing the
    /// catalogue.
    package var publisher: PublisherName
    /// The number of the catalogue, from 1 to 2^53 - 1. Each new catalogue of a publisher has a higher number.
    package var number: UInt64
    /// The time when the catalogue was published.
    package var made: Timestamp
    /// The time when the publisher last confirmed that this is its current catalogue.
    package var confirmed: Timestamp
    /// The time until which the catalogue is fresh, according to the publisher. Clients use
    /// ``freshUntil(certificateEnds:)``, which may be earlier.
    package var expires: Timestamp
    /// The collections in the catalogue, with their states.
    package var entries: [CollectionID: Entry]
    /// The collections that earlier catalogues listed, each with the number of the catalogue that removed it.
    package var removed: [CollectionID: UInt64]

    /// The highest possible number of a catalogue. Every JSON parser represents it exactly (RFC 8259, section 6).
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

    /// The longest time for which one confirmation is valid. `dumps.yaml` does not accept a longer time.
    package static let longestConfirmation = Duration.seconds(366 * 86_400)

    /// Returns the time until which the catalogue is fresh. After that time, the catalogue is stale, but an app still
    /// gets its records.
    ///
    /// It is the earliest of three times: ``expires``, ``longestConfirmation`` after ``confirmed``, and the expiry of
    /// the certificate chain. So an attacker who had the key for a short time cannot confirm a catalogue forever.
    ///
    /// - Parameter end: the expiry of the certificate chain of the catalogue's signature; `nil` if there is no
    ///   signature.
    package func freshUntil(certificateEnds end: Timestamp?) -> Timestamp {
        min(expires, confirmed.advanced(by: Self.longestConfirmation), end ?? expires)
    }

    /// Returns whether both catalogues list the same states. Their confirmations may differ.
    func hasSameStates(as other: Catalogue) -> Bool {
        publisher == other.publisher && entries == other.entries && removed == other.removed
    }
}

/// The name that a publisher chose for itself.
///
/// It consists of 1 to 64 of the characters `a` to `z`, `0` to `9`, `.` and `-`, and begins with a letter or a digit.
package struct PublisherName: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    /// Parses a name.
    ///
    /// - Returns: `nil` if the text violates the rule.
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
    package static let rule = "1 to 64 characters from a to z, 0 to 9, . and -, beginning with a letter or digit"
}
