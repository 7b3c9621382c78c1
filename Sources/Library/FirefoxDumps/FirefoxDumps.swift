import RemoteSettings

/// Five collections shipped with Firefox ESR, for apps that need some data before they ship their own dumps. They are
/// blocked add-ons, screens of devices, dictionaries, password rules of sites, and revoked intermediate certificates.
///
/// The data is under the Mozilla Public License 2.0 (`dumps/NOTICE`). It has no signature, which
/// `RemoteSettingsClient.status` reports. The first sync replaces it with signed data from the server.
public enum FirefoxDumps {
    /// The collections as a packaged source. The bundles are part of the program and read in place. Does no I/O.
    public static let packaged = PackagedSource.embeddedFirefoxDumps.acceptingImported()
}
