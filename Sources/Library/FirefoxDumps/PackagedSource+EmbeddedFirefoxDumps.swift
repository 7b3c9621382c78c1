// Written by rsdump embed from the lock and its bundles; write it again instead of editing.

import EmbeddedFirefoxDumps
public import RemoteSettings

nonisolated extension PackagedSource {
    /// The bundles that are embedded in the program, read in place.
    public static let embeddedFirefoxDumps: PackagedSource = {
        let contents = unsafe EmbeddedFirefoxDumps_contents().pointee
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
    /// `blocklists/addons-bloomfilters`
    public static let addonsBloomfilters =
        TypedCollection("blocklists/addons-bloomfilters", in: .embeddedFirefoxDumps)
    /// `main/devtools-devices`
    public static let devtoolsDevices =
        TypedCollection("main/devtools-devices", in: .embeddedFirefoxDumps)
    /// `main/language-dictionaries`
    public static let languageDictionaries =
        TypedCollection("main/language-dictionaries", in: .embeddedFirefoxDumps)
    /// `main/password-rules`
    public static let passwordRules =
        TypedCollection("main/password-rules", in: .embeddedFirefoxDumps)
    /// `security-state/onecrl`
    public static let onecrl =
        TypedCollection("security-state/onecrl", in: .embeddedFirefoxDumps)
}
