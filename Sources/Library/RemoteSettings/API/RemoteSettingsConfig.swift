import RemoteSettingsHTTP
import RemoteSettingsModel
import SnapshotBundle

/// The configuration of a ``RemoteSettingsService``.
public struct RemoteSettingsConfig: Sendable {
    /// The server; `nil` for Mozilla's production server.
    public var server: RemoteSettingsServer?
    /// The bucket of collections whose names do not include one; `nil` for `main`.
    public var bucketName: String?
    /// Whether collections are read from the preview of their buckets, such as `main-preview` instead of `main`.
    ///
    /// A preview contains changes that are not published yet, for reviewers. It must be signed like any other bucket.
    /// Snapshots packaged from the published bucket are not used. Call ``RemoteSettingsService/updateConfig(config:)``
    /// to switch between the two.
    public var isPreview = false
    /// The app's values for the records' filters; `nil` to leave them all undefined.
    public var appContext: RemoteSettingsContext?
    /// The snapshots shipped with the app. If several sources contain a collection, the newest snapshot is used.
    public var packaged: [PackagedSource]
    /// The pinned root certificates; `nil` for the built-in root of the Mozilla server in ``server``.
    ///
    /// A ``RemoteSettingsServer/custom(url:)`` that is not Mozilla's has no default root. A configuration without roots
    /// is not valid unless ``acceptsUnsigned`` is set. `rsdump keys create` and `rsdump keys status` print the root of
    /// your own keys; for a server that is not yours, ask its operator.
    public var trustRoots: TrustAnchors?
    /// The DNS name that signing certificates must contain; `nil` for the name that Mozilla uses for the collection's
    /// bucket.
    public var signer: String?
    /// Whether unsigned collections are accepted. Set it for servers that do not sign.
    ///
    /// If it is set, anyone who can write to the storage directory can give records to the app, except for collections
    /// with a signed bundle in ``packaged``. A signature that is present is still verified, and a collection that was
    /// once signed is not accepted without a signature later. See <doc:Trust>.
    public var acceptsUnsigned = false
    /// Whether plain `http` is allowed for a ``RemoteSettingsServer/custom(url:)`` that does not run on this machine.
    public var allowsPlainHTTP = false
    /// The app's name and version in the `User-Agent` header field, as `name/version`. Characters that are not allowed
    /// in a header field are replaced with `-`.
    public var userAgent = "swift-remote-settings/0.1"
    /// The limits on data from the server.
    public var limits = RemoteSettingsLimits()
    /// A closure that receives log entries, such as a failed sync or an unusable snapshot. It is called on any task and
    /// must not block.
    ///
    /// If it is `nil`, entries are sent to swift-log with the label `remote-settings`. By default, swift-log writes
    /// them to standard error.
    public var log: (@Sendable (RemoteSettingsLogEntry) -> Void)?
    /// The receiver of sync outcomes.
    public var telemetry: (any RemoteSettingsTelemetry)?
    /// The policy for notifications of new data, which make polling unnecessary.
    ///
    /// By default, the service keeps a connection to a ``RemoteSettingsServer/custom(url:)`` open while the app listens
    /// to changes.
    public var updates = UpdatePolicy()
    /// The collections that may use the network; by default, all.
    public var network: NetworkAccess = .allowed
    /// The clock, the sleep function and the source of randomness. Tests replace them.
    package var environment = HTTPEnvironment.system
    /// The HTTP transport; `nil` for the platform's default: URLSession on Apple systems, libcurl elsewhere.
    package var transport: (any HTTPTransport)?
    /// Local files that replace collections during development. If several replace the same collection, the first one
    /// is used.
    ///
    /// These files are not verified, so set overrides in debug builds only.
    public var overrides: [CollectionOverride] = []
    /// Whether the app can recover from a state that makes its starts fail.
    ///
    /// If it is set, each start is counted until ``RemoteSettingsService/markStartSuccessful()`` is called, and the
    /// previous state is stored beside the current one. The value is read when a service is created; later changes have
    /// no effect. See <doc:Guide#Bad-states>.
    public var usesSafeStart = false
    /// Whether the service writes to its storage directory. The value is read when a service is created; later changes
    /// have no effect.
    public var storageAccess = StorageAccess.readWrite
    /// Whether states that an app has rejected are skipped although safe start is off, for programs that inspect an
    /// app's storage.
    package var skipsRejected = false
    /// Whether only packaged records are used. If it is set, nothing is synced, and stored data is ignored but not
    /// removed.
    public var isPackagedOnly = false
    /// A check by the app of each state that a sync has verified, before it is stored. It throws if the app cannot use
    /// the state.
    ///
    /// If it throws, the current records remain in use, the sync fails, telemetry receives
    /// ``UptakeEvent/Status/rejectedError``, and ``CollectionStatus/unused`` lists the state. The state is not
    /// fetched again until the server has a newer one, or until the app's version (``userAgent``,
    /// ``RemoteSettingsContext/appVersion``) or build changes. The check runs on a thread of this package and may block
    /// it. In a module whose types are isolated to the main actor by default, declare a type that it decodes as
    /// `nonisolated`.
    ///
    /// - Parameters:
    ///   - collection: the collection, as `bucket/collection`.
    ///   - old: the current records; `nil` if there are none.
    ///   - new: the records that ``RemoteSettingsClient/records`` would return.
    public var validate:
        (
            @Sendable (
                _ collection: String, _ old: [RemoteSettingsRecord]?, _ new: [RemoteSettingsRecord]
            ) throws -> Void
        )?
    /// The time limit for ``validate``. If the check takes longer, the state is rejected.
    public var validationTimeout = Duration.seconds(30)

    /// Creates a configuration. Each parameter sets the property of the same name; all other properties have a default.
    ///
    /// Does no I/O and checks nothing. ``RemoteSettingsService/init(storageDirectory:validating:)-(String,_)`` throws
    /// if the configuration is not valid.
    public init(
        server: RemoteSettingsServer? = nil, bucketName: String? = nil, appContext: RemoteSettingsContext? = nil,
        packaged: [PackagedSource] = [], trustRoots: TrustAnchors? = nil
    ) {
        self.server = server
        self.bucketName = bucketName
        self.appContext = appContext
        self.packaged = packaged
        self.trustRoots = trustRoots
    }
}

extension RemoteSettingsConfig {
    /// The user agent, parsed into name and version for the header field.
    var userAgentField: UserAgent {
        let parts = userAgent.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        return UserAgent(name: String(parts[0]), version: parts.count > 1 ? String(parts[1]) : "")
    }

    /// The roots and the signer that collections are verified against under this configuration.
    var trustPolicy: TrustPolicy {
        TrustPolicy(
            roots: trustRoots ?? mozillaRoots ?? TrustAnchors([]), signer: signer.map { SignerName($0) },
            acceptsUnsigned: acceptsUnsigned)
    }

    /// The root of the configured Mozilla server; `nil` for any other server.
    private var mozillaRoots: TrustAnchors? {
        (try? (server ?? .production).serverURL(allowPlainHTTP: allowsPlainHTTP))?.mozillaRoots
    }

    /// Checks the configuration as far as possible without I/O.
    ///
    /// - Throws: an error if the server's URL is not valid, or if there are no roots and ``acceptsUnsigned`` is not
    ///   set.
    func check() throws(RemoteSettingsError) {
        let url = try (server ?? .production).serverURL(allowPlainHTTP: allowsPlainHTTP)
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
    case production
    /// Mozilla's staging server.
    case stage
    /// Mozilla's development server.
    case dev
    /// A server at a base URL, such as `https://settings.example.org/v1`.
    ///
    /// A URL without a version means `/v2`, the newest version that this package supports. The URL of a Mozilla server
    /// is equivalent to that server's case, with either version. `https` is required, except for this machine or if
    /// ``RemoteSettingsConfig/allowsPlainHTTP`` is set.
    case custom(url: String)

    func serverURL(allowPlainHTTP: Bool) throws(RemoteSettingsError) -> ServerURL {
        switch self {
        case .production: return .production
        case .stage: return .stage
        case .dev: return .dev
        case .custom(let url):
            return try mapFailure(of: try ServerURL(url, allowPlainHTTP: allowPlainHTTP)) {
                RemoteSettingsError.other(reason: "RemoteSettingsConfig.server: \($0)")
            }
        }
    }
}

extension RemoteSettingsConfig {
    /// The collections that may use the network.
    ///
    /// Without network access, reads use packaged and stored records, and every call that would send a request fails at
    /// once with ``RemoteSettingsError/notAllowed(reason:)``. If no collection may use the network, the service never
    /// opens a connection.
    @nonexhaustive public enum NetworkAccess: Hashable, Sendable {
        /// All collections.
        case allowed
        /// All collections except these, each given by its name in the configured bucket or as `bucket/name`.
        case allowedExcept(Set<String>)
        /// No collections.
        case never
    }

    /// Whether a service writes to its storage directory.
    @nonexhaustive public enum StorageAccess: Hashable, Sendable {
        /// The service reads and writes.
        case readWrite
        /// The service only reads and acquires no lock, for a widget or an extension that shares its app's directory.
        ///
        /// It uses everything that the app stores. Data that the service fetches itself is verified and kept in memory,
        /// until the process exits or the app stores new data.
        case readOnly
    }
}
