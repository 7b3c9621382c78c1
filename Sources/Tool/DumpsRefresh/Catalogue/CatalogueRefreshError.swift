import RemoteSettingsModel
import SnapshotTrust

/// Why a collection, or a whole catalogue, was not taken.
package enum CatalogueRefreshError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server's catalogue is none, is of another publisher, or cannot follow the packaged one.
    case catalogue(CatalogueError)
    /// The server has no catalogue.
    case noCatalogue(PublisherName)
    /// The server has another state of a collection than its catalogue lists.
    case otherState(number: UInt64, listed: Timestamp, found: Timestamp)
    /// The catalogue no longer has the collection.
    case removed(publisher: PublisherName, since: UInt64)
    /// The catalogue does not have the collection.
    case unlisted(publisher: PublisherName, number: UInt64)
    /// Nothing has confirmed the catalogue since this time, or for longer than the configuration allows.
    case unconfirmed(number: UInt64, since: Timestamp)
    /// Other collections of the catalogue failed, so this one was not replaced.
    case notWhole(failed: [CollectionID])

    package var description: String {
        switch self {
        case .catalogue(let error): "\(error); what the directory has stays"
        case .noCatalogue(let publisher):
            "expected the catalogue of the publisher \(publisher), found no such collection on the server; its publisher "
                + "must write "
                + "catalogue: in dumps.yaml, or the server is not a mirror of that publisher"
        case .otherState(let number, let listed, let found) where found == listed:
            "expected the records that catalogue \(number) lists for \(listed.rfc3339), found others; the present "
                + "catalogue is "
                + "kept, ask the server's owner"
        case .otherState(let number, let listed, let found):
            "expected the state that catalogue \(number) lists, \(listed) (\(listed.rfc3339)), found \(found) "
                + "(\(found.rfc3339)); the present catalogue is kept: a publication may be under way, try again later"
        case .removed(let publisher, let since):
            "the publisher \(publisher) removed it in catalogue \(since); its bundle is kept; remove it with rsdump remove"
        case .unlisted(let publisher, let number):
            "catalogue \(number) of \(publisher) does not have it; correct its name, or remove it with rsdump remove"
        case .unconfirmed(let number, let since):
            "expected a catalogue that its publisher confirms, found catalogue \(number), unconfirmed since \(since.rfc3339); "
                + "what the server answers is not newer: a mirror or a cache may keep it back, or nobody ran rsdump "
                + "publish --confirm; compare with another server, or ask the publisher"
        case .notWhole(let failed):
            "not taken, because a catalogue is taken as a whole and \(Counted.list(failed)) failed; the present catalogue is "
                + "kept, and so is what was downloaded"
        }
    }
}
