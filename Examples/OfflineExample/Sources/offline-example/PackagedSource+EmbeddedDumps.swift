// Written by rsdump embed from the lock and its bundles; write it again instead of editing.

import EmbeddedDumps
public import RemoteSettings

nonisolated extension PackagedSource {
    /// The bundles that are embedded in the program, read in place.
    public static let embeddedDumps: PackagedSource = {
        let contents = unsafe EmbeddedDumps_contents().pointee
        let lock = unsafe RemoteSettingsBytes.ofProgram(contents.lock, count: contents.lock_size)
        var bundles: [String: RemoteSettingsBytes] = [:]
        for number in unsafe 0..<contents.bundle_count {
            let bundle = unsafe contents.bundles[number]
            let name = unsafe String(cString: bundle.collection)
            bundles[name] = unsafe RemoteSettingsBytes.ofProgram(bundle.bytes, count: bundle.size)
        }
        return .embedded(lock: lock, bundles: bundles)
    }()
}

nonisolated extension TypedCollection where Record == RemoteSettingsRecord {
    /// `main/regions`
    public static let regions =
        TypedCollection("main/regions", in: .embeddedDumps)
    /// `main/search-hints`
    public static let searchHints =
        TypedCollection("main/search-hints", in: .embeddedDumps)
}
