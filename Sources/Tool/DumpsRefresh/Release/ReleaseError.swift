import RemoteSettingsModel
import SnapshotTrust

/// Why a collection, or a whole release, was not taken.
package enum ReleaseError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server's catalogue is none, is of another origin, or cannot follow the packaged one.
    case catalogue(CatalogueError)
    /// The server has no catalogue.
    case noCatalogue(OriginName)
    /// The server has another state of a collection than its catalogue lists.
    case otherState(number: UInt64, listed: Timestamp, found: Timestamp)
    /// The release no longer has the collection.
    case removed(origin: OriginName, since: UInt64)
    /// The release does not have the collection.
    case unlisted(origin: OriginName, number: UInt64)
    /// Nothing has confirmed the release since this time, or for longer than the configuration allows.
    case unconfirmed(number: UInt64, since: Timestamp)
    /// Other collections of the release failed, so this one was not replaced.
    case notWhole(failed: [CollectionID])

    package var description: String {
        switch self {
        case .catalogue(let error): "\(error); what the directory has stays"
        case .noCatalogue(let origin):
            "expected the catalogue of the origin \(origin), found no such collection on the server; its publisher "
                + "must write "
                + "release: in dumps.yaml, or the server is not a mirror of that origin"
        case .otherState(let number, let listed, let found) where found == listed:
            "expected the records that release \(number) lists for \(listed.rfc3339), found others; the present "
                + "release is "
                + "kept, ask the server's owner"
        case .otherState(let number, let listed, let found):
            "expected the state that release \(number) lists, \(listed) (\(listed.rfc3339)), found \(found) "
                + "(\(found.rfc3339)); the present release is kept: a publication may be under way, try again later"
        case .removed(let origin, let since):
            "the origin \(origin) removed it in release \(since); its bundle is kept; remove it with rsdump remove"
        case .unlisted(let origin, let number):
            "release \(number) of \(origin) does not have it; correct its name, or remove it with rsdump remove"
        case .unconfirmed(let number, let since):
            "expected a release that its publisher confirms, found release \(number), unconfirmed since \(since.rfc3339); "
                + "what the server answers is not newer: a mirror or a cache may keep it back, or nobody ran rsdump "
                + "publish --confirm; compare with another server, or ask the publisher"
        case .notWhole(let failed):
            "not taken, because a release is taken as a whole and \(Counted.list(failed)) failed; the present release is "
                + "kept, and so is what was downloaded"
        }
    }
}
