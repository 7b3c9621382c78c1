import ContentSignature
import Logging
import RemoteSettingsHTTP
import RemoteSettingsModel

/// How a service works.
public struct RemoteSettingsConfig: Sendable {
    /// The server; `nil` is Mozilla's production server.
    public var server: RemoteSettingsServer?
    /// The bucket of collections that are named without one; `nil` is `main`.
    public var bucketName: String?
    /// What filters are evaluated against; `nil` says nothing about the app.
    public var appContext: RemoteSettingsContext?
    /// Snapshots that were shipped with the app. Where several have a collection, the newest is served.
    public var packaged: [PackagedSource]
    /// The pinned roots; `nil` takes Mozilla's root for the server: production's for ``RemoteSettingsServer/prod``, the
    /// other one for every other server.
    public var trustRoots: TrustAnchors?
    /// The DNS name that signing certificates must carry; `nil` takes Mozilla's for the bucket.
    public var signer: String?
    /// Whether collections without any signature are served: for servers that do not sign. Whoever can write to the
    /// storage directory can then put records before the app, but for collections that are known to be signed: those with
    /// a signed bundle among ``packaged``. What is signed is verified all the same, and a collection that was signed once is
    /// not taken without a signature later. The article "What an app can rely on" tells more.
    public var acceptsUnsigned: Bool
    /// Whether a ``RemoteSettingsServer/custom(url:)`` on another machine may be asked by plain `http`.
    public var allowsPlainHTTP: Bool
    /// How the app calls itself to the server.
    public var userAgent: UserAgent
    public var limits: Limits
    public var logger: Logger
    public var telemetry: (any RemoteSettingsTelemetry)?
    /// Time and chance.
    public var environment: HTTPEnvironment
    /// The way to the network; `nil` takes the platform's own.
    public var transport: (any HTTPTransport)?

    public init(
        server: RemoteSettingsServer? = nil, bucketName: String? = nil, appContext: RemoteSettingsContext? = nil,
        packaged: [PackagedSource] = [], trustRoots: TrustAnchors? = nil, signer: String? = nil,
        acceptsUnsigned: Bool = false, allowsPlainHTTP: Bool = false,
        userAgent: UserAgent = UserAgent(name: "swift-remote-settings", version: "0.1"), limits: Limits = Limits(),
        logger: Logger = Logger(label: "remote-settings"), telemetry: (any RemoteSettingsTelemetry)? = nil,
        environment: HTTPEnvironment = .system, transport: (any HTTPTransport)? = nil
    ) {
        self.server = server
        self.bucketName = bucketName
        self.appContext = appContext
        self.packaged = packaged
        self.trustRoots = trustRoots
        self.signer = signer
        self.acceptsUnsigned = acceptsUnsigned
        self.allowsPlainHTTP = allowsPlainHTTP
        self.userAgent = userAgent
        self.limits = limits
        self.logger = logger
        self.telemetry = telemetry
        self.environment = environment
        self.transport = transport
    }
}

/// The name that Mozilla's binding had for it before version 152.
public typealias RemoteSettingsConfig2 = RemoteSettingsConfig
