// Types in a module of the app, with names that other modules have too. An import of the library must hide none of them.
// Each has a member that the library's type of that name lacks.

public protocol Logger: Sendable {
    func log(_ message: String, level: LogLevel)
}

public enum LogLevel: Sendable { case info, warning }

public struct PrintingLogger: Logger {
    public init() {}

    public func log(_ message: String, level: LogLevel) { print("\(level): \(message)") }
}

public struct Timestamp: Sendable {
    public let appSeconds: Int
    public init(appSeconds: Int) { self.appSeconds = appSeconds }
}

public struct UserAgent: Sendable {
    public let appName: String
    public init(appName: String) { self.appName = appName }
}

public struct Bytes: Sendable {
    public let appCount: Int
    public init(appCount: Int) { self.appCount = appCount }
}

public struct Limits: Sendable {
    public let appLimit: Int
    public init(appLimit: Int) { self.appLimit = appLimit }
}

public enum JSONValue: Sendable { case appValue }

public struct SHA256Digest: Sendable {
    public let appDigest: String
    public init(appDigest: String) { self.appDigest = appDigest }
}

public protocol HTTPTransport: Sendable { func appSend() }

public struct HTTPEnvironment: Sendable {
    public let appEnvironment: String
    public init(appEnvironment: String) { self.appEnvironment = appEnvironment }
}
