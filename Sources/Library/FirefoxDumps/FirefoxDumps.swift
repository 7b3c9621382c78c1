import RemoteSettings

/// Five collections that were shipped with Firefox ESR, for apps that want some data before they ship dumps of their
/// own. They are blocked add-ons, screens of devices, dictionaries, password rules of sites, and revoked intermediate
/// certificates.
///
/// The data is under the Mozilla Public License 2.0 (`dumps/NOTICE`). It has no signature, and
/// `RemoteSettingsClient.status` states that. The first sync replaces it with data that the server has signed.
public enum FirefoxDumps {
    /// The collections as a packaged source. The bundles are part of the program and are read in place. No I/O.
    public static let packaged = PackagedSource.embeddedFirefoxDumps.acceptingImported()
}
