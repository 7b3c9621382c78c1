import RemoteSettingsModel
import SnapshotBundle

/// The catalogue in use, and whether its publisher still confirms it. See <doc:Catalogues>.
public struct CatalogueStatus: Hashable, Sendable {
    /// Whether the publisher has recently confirmed that this is its current catalogue.
    ///
    /// Closed: no version adds a case.
    public enum Freshness: Hashable, Sendable {
        /// It has. The confirmation holds until this time.
        case confirmed(until: RemoteSettingsTimestamp)
        /// Its confirmation expired at this time. Records are still served.
        ///
        /// The device was offline, the publisher has stopped confirming, or somebody in between keeps back what is
        /// newer.
        case unconfirmed(since: RemoteSettingsTimestamp)
    }

    /// The name that the publisher gives itself.
    public var publisher: String
    /// The catalogue's number. Each catalogue of a publisher has a higher number than the one before it.
    public var number: UInt64
    /// When it was published.
    public var made: RemoteSettingsTimestamp
    /// When the publisher last confirmed that it is its current catalogue.
    public var confirmed: RemoteSettingsTimestamp
    /// Whether the confirmation still holds, by this device's clock.
    public var freshness: Freshness
    /// Where the catalogue comes from: ``CollectionStatus/Source/cached``, or the packaged source of this name.
    public var source: CollectionStatus.Source
    /// The collections that it lists, as `bucket/collection`, sorted.
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
            view.isConfirmed(at: now)
            ? .confirmed(until: view.confirmedUntil) : .unconfirmed(since: view.confirmedUntil)
        source = view.source
        collections = catalogue.entries.keys.sorted().map { "\($0)" }
    }
}

extension CatalogueStatus.Freshness {
    /// Whether the publisher's confirmation holds.
    public var isConfirmed: Bool { if case .confirmed = self { true } else { false } }
}

extension CatalogueStatus: CustomStringConvertible {
    public var description: String {
        let state =
            switch freshness {
            case .confirmed(let until): "fresh until \(until.rfc3339)"
            case .unconfirmed(let since): "stale since \(since.rfc3339)"
            }
        return "catalogue \(number) of \(publisher), created \(made.rfc3339), \(state)"
    }
}
