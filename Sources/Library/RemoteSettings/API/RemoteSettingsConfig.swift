import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The configuration of a ``RemoteSettingsService``.
public struct RemoteSettingsConfig: Sendable {
    /// The server; `nil` for Mozilla's production server.
    public var server: RemoteSettingsServer?
    /// The bucket of collections whose names give none; `nil` for `main`.
    public var bucketName: String?
    /// Whether collections are read from the preview of their buckets, such as `main-preview` in place of `main`.
    ///
    /// A preview holds what editors have not published yet, for people who review it. It must be signed like everything
    /// else. Snapshots that are packaged from the published bucket are not used.
    /// ``RemoteSettingsService/updateConfig(config:)`` switches between the two.
    public var isPreview = false
    /// The name that the server's catalogues carry; `nil` to read collections one by one, without catalogues.
    ///
    /// The name is `catalogue: publisher:` in the publisher's `dumps.yaml`. Catalogues of a different publisher are
    /// refused, even if it signs with the same keys, as a staging server may. With a name, all records belong to one
    /// catalogue, and a sync replaces them all at once. See <doc:Catalogues>.
    public var publisher: String?
    /// The values that the records' filters are evaluated against; `nil` for an app that says nothing about itself.
    public var appContext: RemoteSettingsContext?
    /// The snapshots that were shipped with the app. If several sources have a collection, the newest snapshot is used.
    public var packaged: [PackagedSource]
    /// The pinned root certificates; `nil` for the root of the Mozilla server that ``server`` is.
    ///
    /// A ``RemoteSettingsServer/custom(url:)`` of someone else has no default root. Without roots, and without
    /// ``acceptsUnsigned``, the configuration is not valid. `rsdump keys create` and `rsdump keys status` print the
    /// root of your own keys; for another server, ask its operator.
    public var trustRoots: TrustAnchors?
    /// The DNS name that signing certificates must carry; `nil` for the name that Mozilla uses for the collection's
    /// bucket.
    public var signer: String?
    /// Whether collections without any signature are accepted. Set it for servers that do not sign.
    ///
    /// If it is set, anyone who can write to the storage directory can give records to the app. Collections that are
    /// known to be signed are the exception: those that have a signed bundle in ``packaged``. A signature that is
    /// present is still verified, and a collection that was once signed is not accepted without a signature later. See
    /// <doc:Trust>.
    public var acceptsUnsigned = false
    /// Whether a ``RemoteSettingsServer/custom(url:)`` on another machine may be asked over plain `http`.
    public var allowsPlainHTTP = false
    /// The app's name and version as the server sees them, as `name/version`. Characters that a header field cannot
    /// hold become `-`.
    public var userAgent = "swift-remote-settings/0.1"
    /// The limits on everything that comes from outside.
    public var limits = RemoteSettingsLimits()
    /// Receives log entries, such as a failed sync or a snapshot that cannot be used. It is called from any task and
    /// must not block.
    ///
    /// If it is `nil`, swift-log receives the entries under the label `remote-settings`. Unless the program has set up
    /// something else, swift-log writes them to standard error.
    public var log: (@Sendable (RemoteSettingsLogEntry) -> Void)?
    /// Receives the outcomes of syncs.
    public var telemetry: (any RemoteSettingsTelemetry)?
    /// How the service learns at once that something was published.
    ///
    /// By default, it keeps a connection to a ``RemoteSettingsServer/custom(url:)`` while somebody listens to changes.
    public var updates = UpdatePolicy()
    /// Which collections may use the network; all of them by default.
    public var network: NetworkAccess = .allowed
    /// The clock, the way to wait, and the source of randomness. Tests replace them.
    package var environment = HTTPEnvironment.system
    /// The connection to the network; `nil` for the platform's own: URLSession on Apple systems, libcurl elsewhere.
    package var transport: (any HTTPTransport)?
    /// Files of this machine that replace collections while the app is developed. The first one that names a collection
    /// counts.
    ///
    /// Nothing verifies what is in them, so set them in debug builds only.
    public var overrides: [CollectionOverride] = []
    /// Whether the app can get back from a state that it starts badly with.
    ///
    /// Each start is then counted until ``RemoteSettingsService/markStartSuccessful()``, and the state before the
    /// cached one stays stored. It counts when a service is made. See <doc:Guide#Bad-states>.
    public var safeStart = false
    /// What the service does with its storage directory. It counts when a service is made.
    public var storageAccess = StorageAccess.readWrite
    /// Whether states that an app has set aside are passed over as the app does it, although nothing is counted: for
    /// programs that look into an app's storage.
    package var passesOverSetAside = false
    /// Whether nothing is used but what is packaged. Nothing is synced then, and what was stored stays as it is.
    public var isPackagedOnly = false
    /// The app's own check of a state that a sync has verified, before it is stored. It throws if the app cannot use
    /// the state.
    ///
    /// What was held then stays, the sync fails, telemetry gets ``UptakeEvent/Status/rejectedError``, and
    /// ``CollectionStatus/rejected`` lists the state. It is not asked for again until the server has a newer one, or
    /// the app is another version (``userAgent``, ``RemoteSettingsContext/appVersion``) or another build. The check
    /// runs on a thread of this package, and may block it.
    ///
    /// - Parameters:
    ///   - collection: `bucket/collection`.
    ///   - old: the records that are held; `nil` if none are.
    ///   - new: the records that ``RemoteSettingsClient/getRecords()`` would return.
    public var validate:
        (
            @Sendable (
                _ collection: String, _ old: [RemoteSettingsRecord]?, _ new: [RemoteSettingsRecord]
            ) throws -> Void
        )?
    /// How long ``validate`` may take. If it takes longer, the state is refused.
    public var validationTimeout = Duration.seconds(30)

    /// Makes a configuration. Each parameter is the property of the same name; everything else is a property with a
    /// default.
    ///
    /// Does no I/O. ``RemoteSettingsService/init(storageDir:validating:)-(String,_)`` throws if the configuration is
    /// not valid.
    public init(
        server: RemoteSettingsServer? = nil, bucketName: String? = nil, appContext: RemoteSettingsContext? = nil,
        packaged: [PackagedSource] = [], trustRoots: TrustAnchors? = nil, publisher: String? = nil
    ) {
        self.server = server
        self.bucketName = bucketName
        self.appContext = appContext
        self.packaged = packaged
        self.trustRoots = trustRoots
        self.publisher = publisher
    }
}

extension RemoteSettingsConfig {
    /// The user agent, in the form that the header field takes.
    var userAgentField: UserAgent {
        let parts = userAgent.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        return UserAgent(name: String(parts[0]), version: parts.count > 1 ? String(parts[1]) : "")
    }

    /// The roots and the signer that collections must be verified against under this configuration.
    var trustPolicy: TrustPolicy {
        TrustPolicy(
            roots: trustRoots ?? mozillaRoots ?? TrustAnchors([]), signer: signer.map { SignerName($0) },
            acceptsUnsigned: acceptsUnsigned)
    }

    /// The root of the Mozilla server that is configured; `nil` for a server of someone else.
    private var mozillaRoots: TrustAnchors? {
        guard let url = try? (server ?? .prod).serverURL(allowPlainHTTP: allowsPlainHTTP) else { return nil }
        if url.isSameServer(as: .prod) { return .mozillaProduction }
        return [ServerURL.stage, .dev].contains { $0.isSameServer(as: url) } ? .mozillaStaging : nil
    }

    /// Checks what can be checked without I/O.
    ///
    /// - Throws: if the server's URL, the bucket or the publisher is not valid, or if nothing says whom to trust.
    func check() throws(RemoteSettingsError) {
        let url = try (server ?? .prod).serverURL(allowPlainHTTP: allowsPlainHTTP)
        if let publisher, PublisherName(publisher) == nil {
            throw .invalidName(
                reason:
                    "RemoteSettingsConfig.publisher: expected \(PublisherName.rule), found "
                    + "\(VisibleText.quote(publisher)); use the name in the publisher's dumps.yaml")
        }
        guard trustRoots == nil, mozillaRoots == nil, !acceptsUnsigned else { return }
        throw .other(
            reason: "RemoteSettingsConfig.trustRoots: no root certificate is pinned for \(url); set it to the SHA-256 "
                + "that rsdump keys status prints as trust-root (for an unsigned server, set acceptsUnsigned)"
        )
    }
}

/// A Remote Settings server.
///
/// Closed: no version adds a case.
public enum RemoteSettingsServer: Hashable, Sendable {
    /// Mozilla's production server.
    case prod
    /// Mozilla's staging server.
    case stage
    /// Mozilla's development server.
    case dev
    /// Another server, by its base URL, such as `https://settings.example.org/v1`.
    ///
    /// A URL without a version means `/v2`, the newest version that this package supports. The URL of one of Mozilla's
    /// servers means that server, in either version. `https` is required, except on this machine or if
    /// ``RemoteSettingsConfig/allowsPlainHTTP`` is set.
    case custom(url: String)

    func serverURL(allowPlainHTTP: Bool) throws(RemoteSettingsError) -> ServerURL {
        switch self {
        case .prod: return .prod
        case .stage: return .stage
        case .dev: return .dev
        case .custom(let url):
            do throws(HTTPError) {
                return try ServerURL(url, allowPlainHTTP: allowPlainHTTP)
            } catch {
                throw .other(reason: "RemoteSettingsConfig.server: \(error)")
            }
        }
    }
}
