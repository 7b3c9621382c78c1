// The declarations that the Swift blocks of the articles assume. They are compiled, and never run.

import Foundation
@_exported import RemoteConfiguration
@_exported import RemoteSettings
package import RemoteSettingsModel
@_exported import TargetFilter

func some<Value>() -> Value { fatalError() }

public let path = "storage"
public let directory = "storage"
public let storagePath = "storage"
public let roots: TrustAnchors = some()
public let context: RemoteSettingsContext = some()
public let service: RemoteSettingsService = some()
public let client: RemoteSettingsClient = some()
nonisolated(unsafe) public var config = RemoteSettingsConfig()

public final class GleanTelemetry: RemoteSettingsTelemetry {
    public init() {}

    public func reportUptake(_ event: UptakeEvent) {}
}

public struct Model: Decodable, Sendable {
    public let fromLang: String
}

nonisolated(unsafe) public var images: [String: Data] = [:]
public func reloadIcons() {}
public func show(_ records: [RemoteSettingsRecord]) {}
public func report(_ progress: AttachmentProgress) {}

package let records: [Record] = some()
package let record: Record = some()

public enum UIBackgroundFetchResult { case newData, noData, failed }
public final class UIApplication: Sendable {}
