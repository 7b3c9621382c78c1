import RemoteSettingsModel
import SnapshotBundle

/// Why a collection, or a whole catalogue, was refused.
package enum CatalogueRefreshError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The server's catalogue is malformed, is of another publisher, or cannot follow the packaged one.
    case catalogue(BundleError)
    /// The server has no catalogue.
    case noCatalogue(PublisherName)
    /// The server's state of a collection is not the one that its catalogue lists.
    case otherState(number: UInt64, listed: Timestamp, found: Timestamp)
    /// The catalogue no longer lists the collection.
    case removed(publisher: PublisherName, since: UInt64)
    /// The catalogue does not list the collection.
    case unlisted(publisher: PublisherName, number: UInt64)
    /// Nothing has confirmed the catalogue since this time, or for longer than the configuration allows.
    case unconfirmed(number: UInt64, since: Timestamp)
    /// Other collections of the catalogue failed, so this one was not replaced.
    case notWhole(failed: [CollectionID])

    package var description: String {
        switch self {
        case .catalogue(let error): "\(error); the bundles are unchanged"
        case .noCatalogue(let publisher):
            "the server has no catalogue of the publisher \(publisher); give --server that publisher's server or a "
                + "mirror of it, or ask the publisher to write catalogue: in its dumps.yaml"
        case .otherState(let number, let listed, let found) where found == listed:
            "expected the records that catalogue \(number) lists for \(listed.rfc3339), found others; the current "
                + "catalogue is kept; ask the server's owner"
        case .otherState(let number, let listed, let found):
            "expected the state that catalogue \(number) lists, \(listed) (\(listed.rfc3339)), found \(found) "
                + "(\(found.rfc3339)); the current catalogue is kept; the publisher may be publishing now, so try "
                + "again later"
        case .removed(let publisher, let since):
            "the publisher \(publisher) removed it in catalogue \(since); its bundle is kept; to remove it, run "
                + "rsdump remove"
        case .unlisted(let publisher, let number):
            "catalogue \(number) of \(publisher) does not list it; correct its name in dumps.yaml, or run rsdump remove"
        case .unconfirmed(let number, let since):
            "catalogue \(number) is unconfirmed since \(since.rfc3339), and the server has no newer one: a mirror or a "
                + "cache may hold it back, or the publisher has not run rsdump publish --confirm; compare with another "
                + "server, or ask the publisher"
        case .notWhole(let failed):
            "not taken, because \(Counted.list(failed)) failed and a catalogue is taken as a whole; the current "
                + "catalogue and the downloads are kept"
        }
    }
}
