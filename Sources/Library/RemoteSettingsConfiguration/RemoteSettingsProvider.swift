#if RemoteSettingsConfiguration
import ConfigParameters
public import Configuration
public import RemoteSettings
import RemoteSettingsModel
import TargetFilter

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A provider for swift-configuration whose values are signed: the parameters of a Remote Settings collection.
///
/// Values come from the newest state that can be trusted, packaged or stored, and never from the network. A key is the
/// parameter's name; the parts of a key are joined by dots. Conditions of parameters are evaluated for each call: the
/// context of the key comes before that of the service (`RemoteSettingsConfig.appContext`), so that one provider serves
/// many users:
///
///     config.bool(forKey: ConfigKey("checkout.new", context: ["id": .string(user), "country": "de"]), default: false)
///
/// The collection has records as `rsdump publish` makes them of `parameters:`, or plain ones with an `id` and a
/// `value`. A key without a parameter has no value, and the next provider is asked.
///
/// Texts hold other types as well, as parameters from Firebase do: `"24"` is an integer, `"true"` a boolean, and bytes
/// are base64. Nothing else is converted. A value of another type is an error.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
public final class RemoteSettingsProvider: Sendable {
    private let client: RemoteSettingsClient
    private let secrets: SecretsSpecifier<String, String>
    private let known = Mutex<RemoteSettingsParameters?>(nil)
    /// The last sync of ``fetchValue(forKey:type:)``.
    private let fetched = Mutex<(at: Duration, result: Result<SyncOutcome, RemoteSettingsError>)?>(nil)

    /// Makes a provider. Does no I/O.
    ///
    /// - Parameters:
    ///   - client: a client of the collection. Its service decides about server, roots and packaged snapshots.
    ///   - secrets: which values are never logged, by their keys and JSON texts.
    public init(client: RemoteSettingsClient, secrets: SecretsSpecifier<String, String> = .none) {
        self.client = client
        self.secrets = secrets
    }

    /// The parameters of the state in use. Reads them again only if another state is in use.
    private func parameters() throws(RemoteSettingsError) -> RemoteSettingsParameters {
        let collection = try client.collection()
        let payload = collection.current().snapshot?.payload
        if let known = known.withLock({ $0 }), known.payload == payload,
            known.context == collection.session.filterContext
        {
            return known
        }
        let new = try RemoteSettingsParameters(payload, collection, providerName: providerName, secrets: secrets)
        known.withLock { $0 = new }
        return new
    }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension RemoteSettingsProvider: ConfigProvider {
    public var providerName: String { "RemoteSettingsProvider[\(client.collectionName())]" }

    public func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        try parameters().value(forKey: key, type: type)
    }

    /// Syncs the collection first, unless the provider has done it for another key within the last minute. Uses the
    /// network.
    public func fetchValue(forKey key: AbsoluteConfigKey, type: ConfigType) async throws -> LookupResult {
        let uptime = try client.collection().session.config.environment.uptime
        if let last = fetched.withLock({ $0 }), uptime() - last.at < .seconds(60) {
            _ = try last.result.get()
            return try value(forKey: key, type: type)
        }
        let result: Result<SyncOutcome, RemoteSettingsError>
        do throws(RemoteSettingsError) { result = .success(try await client.sync()) } catch { result = .failure(error) }
        // A caller that was cancelled has learned nothing about the server.
        if result != .failure(.cancelled) { fetched.withLock { $0 = (uptime(), result) } }
        _ = try result.get()
        return try value(forKey: key, type: type)
    }

    /// All values of a snapshot are of one state of the collection.
    public func snapshot() -> any ConfigSnapshot {
        do throws(RemoteSettingsError) { return try parameters() } catch {
            return UnreadableSnapshot(providerName: providerName, error: error)
        }
    }

    public func watchValue<Return: ~Copyable>(
        forKey key: AbsoluteConfigKey, type: ConfigType,
        updatesHandler: (_ updates: ConfigUpdatesAsyncSequence<Result<LookupResult, any Error>, Never>) async throws ->
            Return
    ) async throws -> Return {
        try await watching { stores in
            try await updatesHandler(
                .init(
                    updates(of: stores) { [self] last -> Result<LookupResult, any Error>? in
                        let found = Result { try value(forKey: key, type: type) }
                        if let found = try? found.get(), let last = try? last?.get(), found == last { return nil }
                        return found
                    }))
        }
    }

    public func watchSnapshot<Return: ~Copyable>(
        updatesHandler: (_ updates: ConfigUpdatesAsyncSequence<any ConfigSnapshot, Never>) async throws -> Return
    ) async throws -> Return {
        try await watching { stores in
            try await updatesHandler(.init(updates(of: stores) { [self] _ -> (any ConfigSnapshot)? in snapshot() }))
        }
    }

    /// Keeps the service's update channel open while `body` runs, so that what is published arrives at once.
    private func watching<Return: ~Copyable>(
        _ body: (AsyncStream<Void>) async throws -> Return
    ) async throws -> Return {
        let stores = try client.collection().stores()
        let listening = client.listenForUpdates { _ in }
        defer { withExtendedLifetime(listening) {} }
        return try await body(stores)
    }

    /// What is there now, and what comes of each later state.
    ///
    /// - Parameter next: the element after the last one; `nil` if it is the same.
    private func updates<Element: Sendable>(
        of stores: AsyncStream<Void>, _ next: @escaping @Sendable (_ last: Element?) -> Element?
    ) -> AsyncStream<Element> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let task = Task {
                var last = next(nil)
                if let last { continuation.yield(last) }
                for await _ in stores {
                    guard let new = next(last) else { continue }
                    last = new
                    continuation.yield(new)
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in task.cancel() }
        }
    }
}

/// The parameters of one state of a collection.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private struct RemoteSettingsParameters: ConfigSnapshot {
    /// `nil` if nothing is held.
    let payload: Payload?
    let context: FilterContext
    let providerName: String
    private let parameters: ParameterSet
    private let limits: FilterLimits
    private let secrets: SecretsSpecifier<String, String>

    init(
        _ payload: Payload?, _ collection: LocalCollection, providerName: String,
        secrets: SecretsSpecifier<String, String>
    ) throws(RemoteSettingsError) {
        self.payload = payload
        self.providerName = providerName
        self.secrets = secrets
        context = collection.session.filterContext
        limits = collection.session.limits.filter
        do throws(ParameterError) {
            parameters =
                try payload.map { payload throws(ParameterError) in try ParameterSet(payload.records) }
                ?? ParameterSet()
        } catch {
            throw .other(reason: "\(collection.id): \(error)")
        }
    }

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult {
        let name = key.components.joined(separator: ".")
        var filter = RecordFilter(context: context.replacing(key.context), limits: limits)
        guard case .value(let json)? = parameters.winner(for: name, &filter)?.content else {
            return LookupResult(encodedKey: name, value: nil)
        }
        let isSecret = secrets.isSecret(key: name, value: json.text)
        let value = try JSONValue(parsing: json, limits: Limits())
        guard let content = ConfigContent(value, as: type) else {
            throw RemoteSettingsError.other(
                reason: "\(providerName): \(name): expected a value of the type \(type.rawValue), found "
                    + "\(isSecret ? "a secret" : VisibleText.excerpt(json.text, limit: 100)); correct the parameter, "
                    + "or read "
                    + "it as its own type")
        }
        return LookupResult(encodedKey: name, value: ConfigValue(content, isSecret: isSecret))
    }
}

/// A collection whose records are not parameters: each look-up says so.
@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
private struct UnreadableSnapshot: ConfigSnapshot {
    let providerName: String
    let error: RemoteSettingsError

    func value(forKey key: AbsoluteConfigKey, type: ConfigType) throws -> LookupResult { throw error }
}

extension FilterContext {
    /// This context, with these members of `env` in place of its own.
    @available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
    fileprivate func replacing(_ members: [String: ConfigContextValue]) -> FilterContext {
        guard !members.isEmpty else { return self }
        var root = root
        var env = FilterObject()
        if case .object(let own) = root["env"] { env = own }
        for (key, value) in members {
            switch value {
            case .string(let text): env[key] = .string(text)
            case .int(let number): env[key] = .number(Double(number))
            case .double(let number): env[key] = .number(number)
            case .bool(let value): env[key] = .bool(value)
            }
        }
        root["env"] = .object(env)
        return FilterContext(root: root, preferences: preferences)
    }
}

@available(macOS 15, iOS 18, tvOS 18, watchOS 11, visionOS 2, *)
extension ConfigContent {
    /// - Returns: `nil` if the value is not of the type.
    fileprivate init?(_ value: JSONValue, as type: ConfigType) {
        switch type {
        case .string: guard let text = value.string else { return nil }; self = .string(text)
        case .int: guard let number = value.configInt else { return nil }; self = .int(number)
        case .double: guard let number = value.configDouble else { return nil }; self = .double(number)
        case .bool: guard let bool = value.configBool else { return nil }; self = .bool(bool)
        case .bytes: guard let bytes = value.configBytes else { return nil }; self = .bytes(bytes)
        case .stringArray: guard let all = value.all(\.string) else { return nil }; self = .stringArray(all)
        case .intArray: guard let all = value.all(\.configInt) else { return nil }; self = .intArray(all)
        case .doubleArray: guard let all = value.all(\.configDouble) else { return nil }; self = .doubleArray(all)
        case .boolArray: guard let all = value.all(\.configBool) else { return nil }; self = .boolArray(all)
        case .byteChunkArray: guard let all = value.all(\.configBytes) else { return nil }; self = .byteChunkArray(all)
        }
    }
}

extension JSONValue {
    fileprivate var configInt: Int? {
        if let text = string { return Int(text) }
        return number.flatMap { $0.int64.flatMap { Int(exactly: $0) } ?? Int(exactly: $0.double) }
    }

    fileprivate var configDouble: Double? { string.map { Double($0) } ?? number?.double }

    fileprivate var configBool: Bool? {
        switch string {
        case "true": true
        case "false": false
        default: bool
        }
    }

    fileprivate var configBytes: [UInt8]? { string.flatMap { Data(base64Encoded: $0) }.map { Array($0) } }

    /// The elements of a list, if each of them is of the type.
    fileprivate func all<Value>(_ element: (JSONValue) -> Value?) -> [Value]? {
        guard let elements = array else { return nil }
        let found = elements.compactMap(element)
        return found.count == elements.count ? found : nil
    }
}
#endif
