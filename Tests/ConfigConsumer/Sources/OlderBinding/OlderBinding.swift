// The names of an older binding, as far as they are those of the library or of one of its modules.

public final class RemoteSettings: Sendable {
    public init() {}
}

public final class RemoteSettingsService: Sendable {
    public init() {}

    public func older() -> String { "older" }
}
