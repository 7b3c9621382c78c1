import RemoteSettings

/// Collections that came with Firefox ESR, for apps that want some data before they ship dumps of their own.
///
/// They are facts and figures under the Mozilla Public License 2.0 (`dumps/NOTICE`): blocked add-ons, screens of devices,
/// dictionaries, password rules of sites, revoked intermediate certificates. They carry no signature, which
/// ``RemoteSettingsClient/snapshot`` says; the first sync replaces them by what the server has signed.
public enum FirefoxDumps {
    /// The bundles, in place: they are part of the program.
    ///
    /// - Throws: `InvalidIdentifier`, which a bundle that `rsdump embed` wrote does not give.
    public static func packaged() throws -> PackagedSource { try .ofEmbeddedFirefoxDumps().acceptingImported() }
}
