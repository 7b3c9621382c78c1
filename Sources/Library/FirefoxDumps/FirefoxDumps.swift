import RemoteSettings

/// Five collections shipped with Firefox ESR, for apps that need some data before they ship their own dumps: blocked
/// add-ons, device screens, dictionaries, websites' password rules, and revoked intermediate certificates.
///
/// The data is under the Mozilla Public License 2.0 (`dumps/NOTICE`). It has no signature, which
/// `RemoteSettingsClient.status` reports. The first sync replaces it with signed data from the server.
public enum FirefoxDumps {
    /// The collections as a packaged source. The bundles are compiled into the program and are read in place. Does no
    /// I/O.
    public static let packaged = PackagedSource.embeddedFirefoxDumps.acceptingImported()
}
