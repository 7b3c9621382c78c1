// The same as AppAround.swift for the article about the tests of apps.

@_exported import RemoteSettingsTesting
@_exported import Testing

func some<Value>() -> Value { fatalError() }

public let test: TestService = some()
public let markets: ServerCollection = some()
public let client: RemoteSettingsClient = some()
