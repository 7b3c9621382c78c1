import RemoteSettingsModel
import SnapshotBundle

/// The catalogue in use, and whether it is still fresh. See <doc:Catalogues>.
public struct CatalogueStatus: Codable, Hashable, Sendable {
    /// Whether the publisher has recently confirmed that this is its current catalogue.
    ///
    /// Closed: no version adds a case.
    public enum Freshness: Codable, Hashable, Sendable {
        /// The catalogue is fresh: the publisher's confirmation and its certificate chain are valid until this time.
        case fresh(until: RemoteSettingsTimestamp)
        /// The catalogue is stale: the confirmation or the certificate chain expired at this time. It is still used.
        ///
        /// The device was offline, the publisher has stopped confirming the catalogue, or an attacker on the network
        /// path is withholding a newer one.
        case stale(since: RemoteSettingsTimestamp)
    }

    /// The publisher's name, as given in the catalogue.
    public var publisher: String
    /// The catalogue's number. Each new catalogue of a publisher has a higher number.
    public var number: UInt64
    /// The time when the catalogue was published.
    public var made: RemoteSettingsTimestamp
    /// The time when the publisher last confirmed that this is its current catalogue.
    public var confirmed: RemoteSettingsTimestamp
    /// Whether the catalogue is fresh, by this device's clock.
    public var freshness: Freshness
    /// The place that the catalogue was read from: ``CollectionStatus/Source/cached`` or a packaged source.
    public var source: CollectionStatus.Source
    /// The collections listed in the catalogue, as `bucket/collection`, sorted.
    public var collections: [String]
}

extension CatalogueStatus {
    init(_ view: CatalogueView, now: Timestamp) {
        let catalogue = view.catalogue
        publisher = "\(catalogue.publisher)"
        number = catalogue.number
        made = catalogue.made
        confirmed = catalogue.confirmed
        freshness =
            view.isFresh(at: now)
            ? .fresh(until: view.freshUntil) : .stale(since: view.freshUntil)
        source = view.source
        collections = catalogue.entries.keys.sorted().map { "\($0)" }
    }
}

extension CatalogueStatus.Freshness {
    /// Whether the catalogue is fresh.
    public var isFresh: Bool { if case .fresh = self { true } else { false } }
}

extension CatalogueStatus: CustomStringConvertible {
    public var description: String {
        let state =
            switch freshness {
            case .fresh(let until): "fresh until \(until.rfc3339)"
            case .stale(let since): "stale since \(since.rfc3339)"
            }
        return "catalogue \(number) of \(publisher), created \(made.rfc3339), \(state)"
    }
}
