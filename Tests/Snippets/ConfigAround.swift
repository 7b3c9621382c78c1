// The same as AppAround.swift for articles in which `config` is a remote config.

@_exported import RemoteConfiguration

func some<Value>() -> Value { fatalError() }

public let config: RemoteConfig = some()

public struct Analytics: Sendable {
    public func log(_ name: String, _ values: [String]) {}
}
public let analytics: Analytics = some()
