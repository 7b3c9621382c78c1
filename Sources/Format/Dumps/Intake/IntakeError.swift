import RemoteSettingsModel
import SnapshotBundle

/// Why a snapshot does not replace the present one.
package enum IntakeError: Error, Hashable, Sendable {
    case rollback(CollectionID, held: Timestamp, offered: Timestamp)
    /// Both snapshots are signed and have the same timestamp, but their records differ.
    case equivocation(CollectionID, Timestamp)
    /// The present snapshot is signed, but the new one is not.
    case signatureLost(CollectionID)
    case pinned(CollectionID, at: Timestamp, offered: Timestamp)

    static func check(
        _ offer: SnapshotIntake.Offer, against held: LockFile.Collection, samePayload: Bool
    ) throws(IntakeError) {
        let snapshot = offer.snapshot
        guard snapshot.timestamp >= held.timestamp else {
            throw .rollback(snapshot.collection, held: held.timestamp, offered: snapshot.timestamp)
        }
        guard held.trust.isSigned, !samePayload else { return }
        guard snapshot.provenance.isSigned else { throw .signatureLost(snapshot.collection) }
        guard snapshot.timestamp > held.timestamp else {
            throw .equivocation(snapshot.collection, held.timestamp)
        }
    }
}

extension IntakeError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .rollback(let id, let held, let offered):
            "\(id): expected at least \(held) (\(held.rfc3339)), the present timestamp, found \(offered) "
                + "(\(offered.rfc3339)); "
                + "if this is intended, remove the collection first: rsdump remove \(id)"
        case .equivocation(let id, let timestamp):
            "\(id): expected the present records at \(timestamp), found others, which are signed too; the present "
                + "bundle is "
                + "kept; ask the server's owner which are right"
        case .pinned(let id, let pin, let offered):
            "\(id): expected \(pin), which it is pinned to in dumps.yaml, found \(offered); unpin it first: "
                + "rsdump unpin \(id)"
        case .signatureLost(let id):
            "\(id): expected a signature, because the present bundle has one, found none; if this is intended, remove "
                + "the collection "
                + "first: rsdump remove \(id)"
        }
    }
}
