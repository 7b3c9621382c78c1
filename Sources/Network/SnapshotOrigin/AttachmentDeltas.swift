import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The attachments that a server offers as deltas (RFC 9842). For each record, there are deltas from the other files
/// that it had in recent states to its newest file.
struct AttachmentDeltas: Sendable {
    struct Pair: Sendable {
        let new: Manifest.File
        let old: Manifest.File
        fileprivate let newBundle: BundleReader
        fileprivate let oldBundle: BundleReader

        /// The path below the attachments base URL at which Mozilla's server stores this delta, so that a CDN with
        /// Mozilla's rules finds it by the names of both files; `nil` if the locations are not
        /// `<bucket>/<collection>/<name>`.
        var path: String? {
            func parts(_ file: Manifest.File) -> [ExactString] {
                file.location.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0).exact }
            }
            let (new, old) = (parts(new), parts(old))
            guard new.count == 3, old.count == 3, new[..<2] == old[..<2], new[2] != old[2] else { return nil }
            return "cdt/\(new[0])/\(new[1])/compressed/target-\(new[2])/dcz/from-\(old[2]).dcz"
        }

        var tag: String { "\(new.sha256)-\(old.sha256)" }
    }

    /// The largest number of earlier files of a record that deltas are offered from.
    private static let versions = 5

    /// The pairs by the percent-decoded location of the newer file, starting with the most recent older file.
    private let pairs: [ExactString: [Pair]]
    private let made: MadeDeltas

    /// Finds the pairs. Reads the bundles' manifests.
    init(_ collections: [ServedCollection], made: MadeDeltas) throws(Failure) {
        self.made = made
        var pairs: [ExactString: [Pair]] = [:]
        for collection in collections where !collection.history.isEmpty {
            var newest: [ExactString: Manifest.File] = [:]
            for file in try collection.files() where file.omitted == nil {
                for record in file.records { newest[record] = file }
            }
            for bundle in collection.history {
                for old in try bundle.manifest().files where old.omitted == nil {
                    for new in old.records.compactMap({ newest[$0] })
                    where new.sha256 != old.sha256 && FileDelta.isWorthwhile(from: old.size, to: new.size) {
                        let known = pairs[PercentEncoding.decode(new.location)] ?? []
                        guard known.count < Self.versions, !known.contains(where: { $0.old.sha256 == old.sha256 })
                        else { continue }
                        pairs[PercentEncoding.decode(new.location).exact, default: []].append(
                            Pair(new: new, old: old, newBundle: collection.bundle, oldBundle: bundle))
                    }
                }
            }
        }
        self.pairs = pairs
    }

    /// All pairs that have a path, sorted by path. If several have the same path, only the pair with the most recent
    /// older file is included.
    var all: [(path: String, pair: Pair)] {
        let named = pairs.values.joined().compactMap { pair in pair.path.map { ($0.exact, pair) } }
        return Dictionary(named) { first, _ in first }.sorted { $0.key < $1.key }.map { ($0.key.string, $0.value) }
    }

    /// Returns the pair of a newer and an older file; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - location: the location of the newer file, percent-decoded.
    ///   - dictionary: the SHA-256 of the older file.
    func pair(_ location: String, to dictionary: SHA256Digest) -> Pair? {
        pairs[location]?.first { $0.old.sha256 == dictionary }
    }

    /// Returns the delta of a pair from the cache, or creates it. Returns `nil` if the delta is not useful, or if it is
    /// not cached while another call is creating a delta.
    ///
    /// - Parameter earlier: a delta from an earlier run. It is reused if it is a delta of this pair.
    func delta(_ pair: Pair, earlier: Bytes? = nil) throws(Failure) -> Bytes? {
        try made.delta(pair, earlier: earlier)
    }
}

/// A cache for the deltas of a server's states, with a size limit in bytes. The oldest delta is removed first.
package final class MadeDeltas: Sendable {
    private struct State {
        /// The deltas by the pair's tag; `nil` for a delta that is not useful.
        var deltas: [ExactString: Bytes?] = [:]
        var order: [String] = []
        var bytes = 0
        var isMaking = false
    }

    private let mostBytes: Int
    private let state = Mutex(State())

    package init(mostBytes: Int = 64 << 20) { self.mostBytes = mostBytes }

    /// Returns the delta from the cache, or creates it. Only one delta is created at a time, because that uses a core
    /// for about a second. Meanwhile, a call for any delta that is not cached returns `nil`.
    fileprivate func delta(_ pair: AttachmentDeltas.Pair, earlier: Bytes?) throws(Failure) -> Bytes? {
        let known = state.withLock { state -> Bytes?? in
            if let known = state.deltas[pair.tag] { return known }
            if state.isMaking { return .some(nil) }
            state.isMaking = true
            return nil
        }
        if let known { return known }
        defer { state.withLock { $0.isMaking = false } }
        let delta = try Self.make(pair, earlier: earlier)
        state.withLock { state in
            state.deltas[pair.tag] = .some(delta)
            state.order.append(pair.tag)
            state.bytes += delta?.count ?? 0
            while state.bytes > mostBytes, !state.order.isEmpty {
                let first = state.deltas.removeValue(forKey: state.order.removeFirst().exact)
                state.bytes -= first??.count ?? 0
            }
        }
        return delta
    }

    private static func make(_ pair: AttachmentDeltas.Pair, earlier: Bytes?) throws(Failure) -> Bytes? {
        guard let old = try pair.oldBundle.attachment(pair.old.sha256),
            let new = try pair.newBundle.attachment(pair.new.sha256)
        else { return nil }
        if let earlier {
            let held = HeldFile(old, digest: pair.old.sha256, location: pair.old.location, newer: pair.new.sha256)
            if FileDelta.isSound(earlier, from: held, size: new.count) { return earlier }
        }
        return FileDelta.made(of: new, from: old, named: pair.old.sha256).map { Bytes($0) }
    }
}
