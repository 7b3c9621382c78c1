import Catalogue
import CollectionSources
import RemoteSettingsModel

/// What publishing makes of the present release and the states that the directory will have. Pure: no I/O, no clock.
package struct NextRelease: Hashable, Sendable {
    package enum Status: String, Hashable, Sendable {
        /// The states are others than those of the present release, or there is none: the number is new.
        case made
        /// Only the times are new.
        case confirmed
        case unchanged
    }

    package let catalogue: Catalogue
    package let status: Status
    /// Collections that the present release does not list.
    package let added: [CollectionID]
    /// Collections that the present release lists in another state.
    package let changed: [CollectionID]
    /// Collections that the present release lists, and that the directory no longer has.
    package let removed: [CollectionID]

    /// - Parameters:
    ///   - present: the present catalogue, if a configured root vouches for it: a number that nobody signed is no floor.
    ///   - states: the states of all collections that are listed.
    ///   - timestamp: what the catalogue gets as its timestamp if it is another one than the present.
    ///   - time: the present time.
    ///   - confirms: whether the times are renewed in any case. Else they are once half of the time is over.
    ///   - begins: from when the certificate that signs is valid, and its root; `nil` where that is not known.
    /// - Throws: ``PublishError/otherOrigin(_:configured:)`` or ``PublishError/numbersUsedUp(_:)``.
    package init(
        _ release: (origin: OriginName, expiresAfter: Duration), after present: VerifiedCatalogue?,
        states: [CollectionID: Catalogue.Entry], timestamp: Timestamp, time: Timestamp, confirms: Bool,
        begins: (time: Timestamp, root: SHA256Digest)?
    ) throws(PublishError) {
        let held = present?.catalogue
        if let held, held.origin != release.origin {
            throw .otherOrigin(held.origin, configured: release.origin)
        }
        let before = held?.entries ?? [:]
        added = states.keys.filter { before[$0] == nil }.sorted()
        changed = states.keys.filter { id in before[id].map { $0 != states[id] } ?? false }.sorted()
        removed = before.keys.filter { states[$0] == nil }.sorted()
        let expires = timestamp.advanced(by: release.expiresAfter)
        if let held, added.isEmpty, changed.isEmpty, removed.isEmpty {
            let isDue =
                time >= held.confirmed.advanced(by: release.expiresAfter / 2)
                || held.expires != held.confirmed.advanced(by: release.expiresAfter)
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
            // Only a later certificate of the same root makes a new beginning for those who hold this number.
            guard let begins, begins.root == present.root, let held = present.certificateBegins, begins.time > held
            else { throw .numbersUsedUp(Catalogue.collection) }
            number = 1
        } else {
            number = (held?.number ?? 0) + 1  // bounded: by the highest number, which is less than 2^53
        }
        var gone = (held?.removed ?? [:]).filter { states[$0.key] == nil }.mapValues { min($0, number) }
        for id in removed { gone[id] = number }
        catalogue = Catalogue(
            origin: release.origin, number: number, made: timestamp, confirmed: timestamp, expires: expires,
            entries: states, removed: gone)
        status = .made
    }

    /// The catalogue as the source of a collection.
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
