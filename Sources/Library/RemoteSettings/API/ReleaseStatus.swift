import RemoteSettingsModel
import SnapshotTrust

/// The release in use, and whether its origin still confirms it. See <doc:Releases>.
public struct ReleaseStatus: Hashable, Sendable {
    /// Whether the origin has recently confirmed that this is its present release.
    public enum Freshness: Hashable, Sendable {
        /// It has. The confirmation holds until this time.
        case confirmed(until: Timestamp)
        /// Its confirmation expired at this time. Records are still served.
        ///
        /// The device was offline, the origin has stopped confirming, or somebody in between keeps back what is newer.
        case unconfirmed(since: Timestamp)
    }

    /// The name that the origin gives itself.
    public var origin: String
    /// The release's number. Each release of an origin has a higher number than the one before it.
    public var number: UInt64
    /// When it was published.
    public var made: Timestamp
    /// When the origin last confirmed that it is its present release.
    public var confirmed: Timestamp
    /// Whether the confirmation still holds, by this device's clock.
    public var freshness: Freshness
    /// Where the catalogue comes from: ``SnapshotStatus/Source/cached``, or the packaged source of this name.
    public var source: SnapshotStatus.Source
    /// The collections that it lists, as `bucket/collection`, sorted.
    public var collections: [String]
}

extension ReleaseStatus {
    init(_ view: ReleaseView, now: Timestamp) {
        let catalogue = view.catalogue
        origin = "\(catalogue.origin)"
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

extension ReleaseStatus.Freshness {
    /// Whether the origin's confirmation holds.
    public var isConfirmed: Bool { if case .confirmed = self { true } else { false } }
}

extension ReleaseStatus: CustomStringConvertible {
    public var description: String {
        let state =
            switch freshness {
            case .confirmed(let until): "confirmed until \(until.rfc3339)"
            case .unconfirmed(let since): "unconfirmed since \(since.rfc3339)"
            }
        return "release \(number) of \(origin), published \(made.rfc3339), \(state)"
    }
}
