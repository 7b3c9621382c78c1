import RemoteSettingsModel
import SnapshotBundle

/// Provides seeds from real data: the repository's own `dumps/`, and Debian's collections if they are installed.
package struct SeedSource: Sendable {
    private let root: String?
    /// Whether the seeds are the same on every machine and in every run.
    let isRepeatable: Bool

    /// - Parameters:
    ///   - root: the repository; `nil` for generated seeds only.
    ///   - isRepeatable: excludes data of the current Debian package, and new keys.
    package init(root: String?, isRepeatable: Bool = false) {
        self.root = root
        self.isRepeatable = isRepeatable
    }

    /// The bundles of `dumps/`.
    var bundles: [BundleReader] {
        files(below: "dumps", suffix: ".zip").compactMap { try? BundleReader(path: $0) }
    }

    /// The files of the small bundles of `dumps/`.
    var bundleFiles: [[UInt8]] {
        files(below: "dumps", suffix: ".zip").compactMap { (try? FileStore.read($0, limit: 8192))?.array }
    }

    /// Small changesets of real records.
    var changesets: [[UInt8]] {
        var found: [[UInt8]] = []
        for bundle in bundles {
            guard let payload = try? bundle.payload(), let metadata = try? bundle.metadataText() else { continue }
            found.append(Self.changeset(payload.records.prefix(3).map(\.json.text), metadata.text, payload.timestamp))
        }
        for path in isRepeatable ? [] : files(below: ".cache/real-collections", suffix: ".json").prefix(80) {
            guard let bytes = try? FileStore.read(path, limit: 8 << 20),
                let document = try? JSONValue(parsing: bytes),
                case .array(let records)? = document["data"]
            else { continue }
            let texts = records.map { String(decoding: JSONText.compact($0), as: UTF8.self) }.filter {
                $0.utf8.count < 1500
            }
            let name = String(path.split(separator: "/").last?.dropLast(5) ?? "")
            found.append(
                Self.changeset(
                    Array(texts.prefix(2)), #"{"id":"\#(name)","bucket":"main","signatures":[]}"#,
                    Timestamp(milliseconds: 1_700_000_000_000)))
        }
        return found.filter { $0.count < 6000 }
    }

    /// Returns a file of the repository; `nil` if it does not exist.
    func file(_ path: String) -> [UInt8]? {
        guard let root, let bytes = try? FileStore.read("\(root)/\(path)", limit: 1 << 20) else { return nil }
        return bytes.array
    }

    private func files(below folder: String, suffix: String) -> [String] {
        guard let root else { return [] }
        var found: [String] = []
        for bucket in (try? FileStore.list("\(root)/\(folder)")) ?? [] {
            for name in (try? FileStore.list("\(root)/\(folder)/\(bucket)")) ?? [] where name.hasSuffix(suffix) {
                found.append("\(root)/\(folder)/\(bucket)/\(name)")
            }
        }
        return found.sorted()
    }

    static func changeset(_ records: [String], _ metadata: String, _ timestamp: Timestamp) -> [UInt8] {
        Array(
            #"{"metadata":\#(metadata),"timestamp":\#(timestamp),"changes":[\#(records.joined(separator: ","))]}"#.utf8)
    }
}
