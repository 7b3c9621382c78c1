// Written by rsdump embed from the lock and its bundles; write it again instead of editing.

import EmbeddedFirefoxDumps
import RemoteSettings

extension PackagedSource {
    /// The bundles that are part of the program, in place.
    public static func ofEmbeddedFirefoxDumps() throws -> PackagedSource {
        let contents = unsafe EmbeddedFirefoxDumps_contents().pointee
        let lock = unsafe RemoteSettingsBytes.ofProgram(contents.lock, count: contents.lock_size)
        var bundles: [CollectionID: RemoteSettingsBytes] = [:]
        for number in unsafe 0..<contents.bundle_count {
            let bundle = unsafe contents.bundles[number]
            let id = try CollectionID(unsafe String(cString: bundle.collection))
            bundles[id] = unsafe RemoteSettingsBytes.ofProgram(bundle.bytes, count: bundle.size)
        }
        return .embedded(lock: lock, bundles: bundles)
    }
}
