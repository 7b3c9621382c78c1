// The same as AppAround.swift for the blocks that import RemoteSettingsBlocking.

import Foundation
import RemoteSettingsBlocking

func some<Value>() -> Value { fatalError() }

public let directory = "storage"
public let context: RemoteSettingsContext = some()
public let service: RemoteSettingsService = some()
public let client: RemoteSettingsClient = some()

public final class GleanTelemetry: RemoteSettingsTelemetry {
    public init() {}

    public func reportUptake(extras: UptakeEventExtras) {}
}

public struct Model: Decodable, Sendable {
    public let fromLang: String
}

nonisolated(unsafe) public var images: [String: Data] = [:]
public func reloadIcons() {}
public func use(_ rules: Data) {}
