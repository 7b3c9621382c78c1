import Dumps
import RemoteSettingsModel
import SnapshotBundle

/// The next catalogue, which `publish` computes from the current catalogue and the next states of the directory. No
/// I/O, no clock.
package struct NextCatalogue: Hashable, Sendable {
    package enum Status: String, Hashable, Sendable {
        /// The states differ from those in the current catalogue, or there is no current catalogue. The number is new.
        case made
        /// Only the times are new.
        case confirmed
        case unchanged
    }

    package let catalogue: Catalogue
    package let status: Status
    /// Collections that the current catalogue does not list.
    package let added: [CollectionID]
    /// Collections that the current catalogue lists with a different state.
    package let changed: [CollectionID]
    /// Collections that the current catalogue lists and that are no longer in the directory.
    package let removed: [CollectionID]

    /// Computes the next catalogue.
    ///
    /// - Parameters:
    ///   - present: the current catalogue if it verifies against a configured root, otherwise `nil`. The number of an
    ///     unverified catalogue is not a minimum for the next one.
    ///   - states: the states of all collections in the new catalogue.
    ///   - timestamp: the catalogue's timestamp if the catalogue differs from the current one.
    ///   - time: the current time.
    ///   - confirms: whether to renew the times in any case. Otherwise they are renewed when half of `expiresAfter` has
    ///     passed, or when `expiresAfter` has changed.
    ///   - begins: the start of the signing certificate's validity; `nil` if unknown.
    /// - Throws: `DumpsError` if the current catalogue has a different publisher or the highest possible number.
    package init(
        _ settings: (publisher: PublisherName, expiresAfter: Duration), after present: VerifiedCatalogue?,
        states: [CollectionID: Catalogue.Entry], timestamp: Timestamp, time: Timestamp, confirms: Bool,
        begins: Timestamp?
    ) throws(DumpsError) {
        let held = present?.catalogue
        if let held, held.publisher != settings.publisher {
            throw .otherPublisher(held.publisher, configured: settings.publisher)
        }
        let before = held?.entries ?? [:]
        added = states.keys.filter { before[$0] == nil }.sorted()
        changed = states.keys.filter { id in before[id].map { $0 != states[id] } ?? false }.sorted()
        removed = before.keys.filter { states[$0] == nil }.sorted()
        let expires = timestamp.advanced(by: settings.expiresAfter)
        if let held, added.isEmpty, changed.isEmpty, removed.isEmpty {
            let isDue =
                time >= held.confirmed.advanced(by: settings.expiresAfter / 2)
                || held.expires != held.confirmed.advanced(by: settings.expiresAfter)
            guard confirms || isDue else {
                (catalogue, status) = (held, .unchanged)
                return
            }
            var confirmed = held
            (confirmed.confirmed, confirmed.expires) = (max(timestamp, held.made), max(expires, held.made))
            (catalogue, status) = (confirmed, .confirmed)
            return
        }
        let number: UInt64
        if let present, present.catalogue.number == Catalogue.highestNumber {
            // After the highest number, clients accept 1 again only if a newer certificate signs the catalogue.
            guard let begins, let held = present.certificateBegins, begins > held
            else { throw .numbersUsedUp(Catalogue.collection) }
            number = 1
        } else {
            number = (held?.number ?? 0) + 1  // bounded: by the highest number, which is less than 2^53
        }
        var gone = (held?.removed ?? [:]).filter { states[$0.key] == nil }.mapValues { min($0, number) }
        for id in removed { gone[id] = number }
        catalogue = Catalogue(
            publisher: settings.publisher, number: number, made: timestamp, confirmed: timestamp, expires: expires,
            entries: states, removed: gone)
        status = .made
    }

    /// The catalogue in the form of a collection's source.
    var source: CollectionSource {
        let records = catalogue.records.map { id, members in
            let text = JSONText.compact(.object([.init(key: "id", value: .string(id))] + members))
            return SourceRecord(
                id: id, members: Bytes(Array(text.dropFirst().dropLast())), file: "\(Catalogue.collection)", line: 1)
        }
        return CollectionSource(
            id: Catalogue.collection, records: records, attachments: [:], metadata: [], notes: [])
    }
}
