import Foundation
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

extension OriginTransport {
    /// Publishes a catalogue of the current states of all collections, in `publisher/catalogue`, like `rsdump publish`.
    ///
    /// Later writes to a collection become part of the next catalogue.
    ///
    /// - Parameters:
    ///   - publisher: the name of the publisher.
    ///   - number: the catalogue's number; `nil` for the number after the last one.
    ///   - expiresAfter: the time for which the publisher's confirmation is valid.
    ///   - confirming: whether to confirm the last catalogue again instead of publishing a new one.
    ///   - omitted: the collections to leave out of the catalogue, which no real publisher should do.
    /// - Returns: the catalogue's number.
    /// - Throws: `RemoteSettingsError` if the name is not valid for a publisher.
    @discardableResult
    public func publishCatalogue(
        as publisher: String = "in-memory", number: UInt64? = nil, expiresAfter: Duration = .seconds(7 * 86_400),
        confirming: Bool = false, omitting omitted: [String] = []
    ) throws -> UInt64 {
        guard let name = PublisherName(publisher) else {
            throw RemoteSettingsError.invalidName(
                reason:
                    "invalid publisher name \(VisibleText.quote(publisher)); a name is \(PublisherName.rule)")
        }
        let target = try collection("\(Catalogue.collection)")
        return try state.withLock { state in
            let time = state.nextTime()
            let last = state.catalogue
            var catalogue = Catalogue(
                publisher: name, number: number ?? (last?.number ?? 0) + 1, made: time, confirmed: time,
                expires: time.advanced(by: expiresAfter), entries: [:], removed: last?.removed ?? [:])
            for id in Array(state.collections.keys) where id != Catalogue.collection && !omitted.contains("\(id)") {
                catalogue.entries[id] = try state.collections[id]?.listed(at: address)
                catalogue.removed[id] = nil
            }
            for id in last?.entries.keys.sorted() ?? [] where state.collections[id] == nil {
                catalogue.removed[id] = catalogue.number
            }
            if confirming, let last {
                (catalogue.number, catalogue.made) = (last.number, last.made)
                (catalogue.entries, catalogue.removed) = (last.entries, last.removed)
            }
            let records = catalogue.records.map { id, members in
                let stamped =
                    [JSONValue.Member(key: "id", value: .string(id))] + members
                    + [.init(key: "last_modified", value: .count(time.milliseconds))]
                return (id, String(decoding: JSONText.compact(.object(stamped)), as: UTF8.self))
            }
            state.collections[target.collection]?.edit(at: time) { all in
                all = Dictionary(records) { first, _ in first }
            }
            state.catalogue = catalogue
            return catalogue.number
        }
    }

    /// Removes a collection from the server. The next catalogue lists it as removed.
    package func removeCollection(_ id: String) throws {
        let id = try CollectionID(id)
        state.withLock { $0.collections[id] = nil }
    }
}
