import RemoteSettingsModel
import SnapshotBundle
import SnapshotOrigin

#if canImport(Glibc)
import Glibc
#elseif canImport(Darwin)
import Darwin
#endif

/// An unsigned collection that is written to a bundle and read back.
struct SampleCollection {
    var id = "main/sample"
    var timestamp: UInt64
    var records: [String]
    var metadata = #"{"id":"sample","bucket":"main","last_modified":5}"#
    var attachments: [String] = []
    /// Attachments omitted from the bundle.
    var omitted: [String] = []

    static let address = "http://mirror.example:8888"

    func bundle() throws -> BundleReader {
        let id = try CollectionID(id)
        let body =
            #"{"metadata":\#(metadata),"timestamp":\#(timestamp),"changes":[\#(records.joined(separator: ","))]}"#
        let changeset = try Changeset(parsing: Bytes(utf8: body))
        let unverified = try changeset.snapshot(of: id, onto: nil)
        let snapshot = Snapshot(vouchingFor: unverified, chain: nil, provenance: .unsigned)
        let files = attachments.map { Bytes(utf8: $0) }
        var sources = Dictionary(
            uniqueKeysWithValues: files.map { (SHA256Digest(hashing: $0), AttachmentInput.bytes($0)) })
        for text in omitted { sources[SHA256Digest(hashing: Bytes(utf8: text))] = .omitted(.filter) }
        let path = "/tmp/snapshot-origin-\(getpid())-\(UInt64.random(in: 0...UInt64.max)).zip"
        defer { unsafe unlink(path) }
        _ = try BundleWriter(snapshot, attachments: sources).write(toNewFile: path)
        return try BundleReader(path: path)
    }

    func served(history: [SampleCollection] = []) throws -> ServedCollection {
        try ServedCollection(
            try bundle(), signature: nil, history: try history.map { try $0.bundle() },
            address: try OriginAddress(Self.address))
    }

    static func attachment(_ id: String, _ text: String, name: String? = nil) -> String {
        let bytes = Bytes(utf8: text)
        return #"{"id":"\#(id)","last_modified":3,"attachment":{"filename":"a.txt","mimetype":"text/plain","#
            + #""location":"main-workspace/sample/\#(name ?? "\(id).txt")","size":\#(bytes.count),"hash":"\#(SHA256Digest(hashing: bytes))"}}"#
    }
}
