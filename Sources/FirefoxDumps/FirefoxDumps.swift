import RemoteSettings

/// Five collections that were shipped with Firefox ESR, for apps that want some data before they ship dumps of their own:
/// blocked add-ons, screens of devices, dictionaries, password rules of sites, and revoked intermediate certificates.
///
/// The data is under the Mozilla Public License 2.0 (`dumps/NOTICE`). It carries no signature, which
/// `RemoteSettingsClient.snapshot` states; the first sync replaces it by what the server has signed.
public enum FirefoxDumps {
    /// The collections as a packaged source. The bundles are part of the program and are read in place. No I/O.
    ///
    /// - Throws: `InvalidIdentifier` where a collection's name is not valid, which does not happen with sources that
    ///   `rsdump embed` wrote.
    public static func packaged() throws -> PackagedSource { try .ofEmbeddedFirefoxDumps().acceptingImported() }
}
