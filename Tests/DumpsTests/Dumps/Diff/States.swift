@testable import Dumps
import RemoteSettingsModel

/// Snapshots built from the canonical JSON of their records.
enum States {
    static func snapshot(
        _ records: [String], at timestamp: UInt64 = 1_760_000_000_000, collection: String = "main/cases",
        signer: String? = nil, root: String = "0"
    ) throws -> ComparedSnapshot {
        let payload = "{\"data\":[\(records.joined(separator: ","))],\"last_modified\":\"\(timestamp)\"}"
        let unverified = UnverifiedSnapshot(
            collection: try CollectionID(collection), payload: try Payload(parsing: Bytes(utf8: payload)),
            metadata: try CollectionMetadata(parsing: Bytes(utf8: "{}")))
        let provenance: Provenance =
            if let signer {
                .signed(
                    SignatureVerdict(
                        signer: signer, root: digest(root), chainNotAfter: Timestamp(milliseconds: 2),
                        verifiedAt: Timestamp(milliseconds: 1)))
            } else {
                .unsigned
            }
        return ComparedSnapshot(Snapshot(vouchingFor: unverified, chain: nil, provenance: provenance))
    }

    static func diff(_ old: [String], _ new: [String]) throws -> SnapshotDiff? {
        SnapshotDiff(from: try snapshot(old, at: 1), to: try snapshot(new, at: 2))
    }

    static func report(_ old: [String], _ new: [String]) throws -> DiffReport {
        DiffReport(old: "old", new: "new", collections: try [diff(old, new)].compactMap(\.self))
    }

    /// Returns a record with an attachment whose hash repeats this digit 64 times.
    static func attached(_ id: String, _ digit: String, size: UInt64, name: String = "a.bin") -> String {
        """
        {"attachment":{"filename":"\(name)","hash":"\(digest(digit).hex)","location":"l/\(name)",\
        "mimetype":"text/plain","size":\(size)},"id":"\(id)","last_modified":1}
        """
    }

    static func digest(_ digit: String) -> SHA256Digest {
        SHA256Digest(hex: String(repeating: digit, count: 64)) ?? SHA256Digest(hashing: Bytes())
    }
}
