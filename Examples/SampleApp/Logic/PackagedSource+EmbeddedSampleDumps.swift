// Written by rsdump embed from the lock and its bundles; write it again instead of editing.

import EmbeddedSampleDumps
public import RemoteSettings

nonisolated extension PackagedSource {
    /// The bundles that are embedded in the program, read in place.
    public static let embeddedSampleDumps: PackagedSource = {
        let contents = unsafe EmbeddedSampleDumps_contents().pointee
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
    /// `main/app-config`
    public static let appConfig =
        TypedCollection("main/app-config", in: .embeddedSampleDumps)
    /// `main/regions`
    public static let regions =
        TypedCollection("main/regions", in: .embeddedSampleDumps)
}
