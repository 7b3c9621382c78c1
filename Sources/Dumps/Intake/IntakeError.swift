import RemoteSettingsModel
import SnapshotBundle

/// Why a snapshot does not take the place of the one that is held.
public enum IntakeError: Error, Hashable, Sendable {
    case rollback(CollectionID, held: Timestamp, offered: Timestamp)
    /// Signed, with other records under the timestamp of what is held and signed.
    case equivocation(CollectionID, Timestamp)
    /// What is held is signed, what is offered is not.
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
    public var description: String {
        switch self {
        case .rollback(let id, let held, let offered):
            "\(id): expected at least \(held) (\(held.rfc3339)), which is held, found \(offered) (\(offered.rfc3339)); "
                + "if this is meant, remove the collection first: rsdump remove \(id)"
        case .equivocation(let id, let timestamp):
            "\(id): expected the records that are held at \(timestamp), found others, signed as well; what is held stays, "
                + "ask the server's owner which are right"
        case .pinned(let id, let pin, let offered):
            "\(id): expected \(pin), which it is pinned to in dumps.yaml, found \(offered); let it move first: "
                + "rsdump unpin \(id)"
        case .signatureLost(let id):
            "\(id): expected a signature, as what is held has one, found none; if this is meant, remove the collection "
                + "first: rsdump remove \(id)"
        }
    }
}
