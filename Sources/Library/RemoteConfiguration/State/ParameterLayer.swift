import ConfigParameters
import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle
import TargetFilter

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// One state of the collection in one filter context. It is the source of remote and packaged values.
///
/// A key is resolved when it is first read, and the value is then kept. No I/O is done under the lock.
final class ParameterLayer: Sendable {
    private struct Memory {
        var filter: RecordFilter
        /// The values that have been read, by key, each with the id of its record. Both are `nil` if no record applies,
        /// and the value also if the app's own default applies.
        var values: [ExactString: (record: String?, value: RemoteConfigValue?)] = [:]
    }

    let snapshot: Snapshot
    let parameters: ParameterSet
    let source: RemoteConfigSource
    /// What matters for whether another state replaces this one.
    let standing: Standing
    /// The configured server.
    let server: ServerIdentity
    let context: FilterContext
    private let memory: Mutex<Memory>

    var timestamp: Timestamp { snapshot.timestamp }

    /// Creates a layer.
    ///
    /// - Parameters:
    ///   - found: the state in use that the snapshot belongs to; `nil` if a sync has just fetched the snapshot.
    /// - Throws: `Failure` if the snapshot contains a record that is not a parameter.
    init(
        _ found: CurrentState?, _ snapshot: Snapshot, of collection: LocalCollection, _ context: FilterContext
    ) throws(Failure) {
        self.snapshot = snapshot
        parameters = try ParameterSet(snapshot.records)
        source = found?.source.configSource ?? .remote
        standing = found?.standing ?? snapshot.standing
        server = collection.session.serverIdentity
        self.context = context
        memory = Mutex(Memory(filter: RecordFilter(context: context)))
    }

    /// Creates a layer of the same state in another context.
    init(_ layer: ParameterLayer, _ context: FilterContext) {
        snapshot = layer.snapshot
        parameters = layer.parameters
        source = layer.source
        standing = layer.standing
        server = layer.server
        self.context = context
        memory = Mutex(Memory(filter: RecordFilter(context: context)))
    }

    /// Returns the value of a key; `nil` if the app's own default applies.
    func value(_ key: String) -> RemoteConfigValue? { resolved(key).value }

    /// Returns the id of the record that determines the value of a key; `nil` if none of its records applies.
    func winner(_ key: String) -> String? { resolved(key).record }

    /// The number of records that do not apply because the filters of the collection take too much work.
    var unevaluated: Int { memory.withLock { $0.filter.unevaluated } }

    private func resolved(_ key: String) -> (record: String?, value: RemoteConfigValue?) {
        memory.withLock { memory -> (record: String?, value: RemoteConfigValue?) in
            if let known = memory.values[key] { return known }
            guard parameters.contains(key) else { return (nil, nil) }
            let winner = parameters.winner(for: key, &memory.filter)
            let resolved = (record: winner?.id, value: winner?.remoteConfigValue(source))
            memory.values[key] = resolved
            return resolved
        }
    }

    /// The keys that have a value, in any order.
    var keys: [ExactString] { parameters.keys.filter { value($0.string) != nil } }

    /// Returns the keys whose values differ between two layers: added, removed or changed.
    static func differences(from old: ParameterLayer?, to new: ParameterLayer?) -> Set<ExactString> {
        guard old !== new else { return [] }
        var candidates: Set<ExactString> = []
        (new?.snapshot.records ?? RecordTable()).forEachDifference(from: old?.snapshot.records ?? RecordTable()) {
            // The parameters are in the order of the record table, so their positions are the same.
            if let position = $0, let old { candidates.insert(old.parameters.records[position].key.exact) }
            if let position = $1, let new { candidates.insert(new.parameters.records[position].key.exact) }
        }
        // A filter may have a different result in the new context even if its record is unchanged.
        if old?.context != new?.context {
            for layer in [old, new] {
                guard let layer, layer.snapshot.records.mayMentionFilters else { continue }
                for parameter in layer.parameters.records where parameter.hasFilter {
                    candidates.insert(parameter.key.exact)
                }
            }
        }
        return candidates.filter { old?.value($0.string)?.content != new?.value($0.string)?.content }
    }
}

extension ParameterRecord {
    /// Returns the value; `nil` if the app's own default applies.
    fileprivate func remoteConfigValue(_ source: RemoteConfigSource) -> RemoteConfigValue? {
        guard case .value(let json) = content else { return nil }
        return RemoteConfigValue(json: json, source: source)
    }
}

/// The packaged state, which is not read before it is needed.
final class PackagedLayer: Sendable {
    private let load: @Sendable () -> ParameterLayer?
    private let known = Mutex<ParameterLayer??>(nil)

    init(_ load: @escaping @Sendable () -> ParameterLayer?) { self.load = load }

    /// The packaged state as a layer; `nil` if there is no usable one. The first access does I/O.
    var layer: ParameterLayer? {
        if let known = known.withLock({ $0 }) { return known }
        let layer = load()
        known.withLock { $0 = .some(layer) }
        return layer
    }
}

/// All sources that values are read from at one moment. This object never changes, apart from its caches.
final class ConfigLayers: Sendable {
    /// The newer of the activated and the packaged state; `nil` if there is neither.
    let parameters: ParameterLayer?
    let defaults: [ExactString: RemoteConfigValue]
    /// The values that take precedence over all others: overrides, and the values of a snapshot created by a test.
    let fixed: [ExactString: RemoteConfigValue]
    /// The log of reads; `nil` for values that do not belong to a remote config.
    let reads: ReadLog?
    /// The packaged state, even if it is not the state in `parameters`.
    let packaged: PackagedLayer?

    init(
        parameters: ParameterLayer?, defaults: [ExactString: RemoteConfigValue],
        fixed: [ExactString: RemoteConfigValue],
        reads: ReadLog?, packaged: PackagedLayer? = nil
    ) {
        self.packaged = packaged
        self.parameters = parameters
        self.defaults = defaults
        self.fixed = fixed
        self.reads = reads
    }

    /// The keys that have a value, including the app's defaults, in any order.
    var allKeys: Set<ExactString> { keys().union(defaults.keys) }

    /// Returns the value of a key, and records the read for observers.
    func value(_ key: String) -> RemoteConfigValue {
        let override = fixed[key]
        let value = override ?? parameters?.value(key) ?? defaults[key] ?? .none
        reads?.record(value, of: key, in: override == nil ? parameters : nil)
        return value
    }

    /// Returns the value of a key in one of the sources that take precedence over the app's defaults; `nil` if that
    /// source does not have it.
    func value(_ key: String, from source: RemoteConfigSource) -> RemoteConfigValue? {
        if let value = fixed[key], value.source == source { return value }
        return layer(of: source)?.value(key)
    }

    /// Returns the parameters of one source; `nil` if it has none. Does I/O on the first request for packaged
    /// parameters while others are active.
    private func layer(of source: RemoteConfigSource) -> ParameterLayer? {
        if parameters?.source == source { return parameters }
        return source == .packaged ? packaged?.layer : nil
    }

    /// Returns the keys that have a value in a source that takes precedence over the app's defaults, in any order.
    ///
    /// - Parameter source: one of these sources; `nil` for all of them.
    func keys(from source: RemoteConfigSource? = nil) -> Set<ExactString> {
        var keys = Set(fixed.filter { source == nil || $0.value.source == source }.keys)
        if let layer = source.map(layer(of:)) ?? parameters { keys.formUnion(layer.keys) }
        return keys
    }
}

/// A decoder that decodes all parameters as one type of the app, whose coding keys are the parameters' keys. A
/// ``ParameterDecoder`` decodes each parameter.
struct ParametersDecoder: Decoder, SingleValueDecodingContainer {
    let layers: ConfigLayers
    let options: JSONDecoder
    /// Whether the decoder's key strategy applies. It applies to structures, but not to dictionaries.
    var convertsKeys = true

    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { options.userInfo }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        try Value(
            from: ParametersDecoder(layers: layers, options: options, convertsKeys: !(type is any KeyedByText.Type)))
    }

    func decodeNil() -> Bool { false }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        KeyedDecodingContainer(ParameterContainer<Key>(layers: layers, options: options, names: try names()))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        throw DecodingError.typeMismatch(
            [Any].self,
            .init(
                codingPath: [], debugDescription: "the type must have a member for each parameter, but it is an array"))
    }

    /// Returns the parameters' keys, by the names that the decoder's key strategy gives them; `nil` if the strategy
    /// does not change the keys.
    ///
    /// The names are computed by the decoder itself, so that a strategy has the same effect as in a document.
    private func names() throws -> [ExactString: ExactString]? {
        struct Names: Decodable {
            var positions: [ExactString: Int] = [:]

            init(from decoder: any Decoder) throws {
                let members = try decoder.container(keyedBy: MemberKey.self)
                for name in members.allKeys { positions[name.stringValue] = try members.decode(Int.self, forKey: name) }
            }
        }
        guard convertsKeys else { return nil }
        if case .useDefaultKeys = options.keyDecodingStrategy { return nil }
        let keys = layers.allKeys.sorted()
        let document = JSONValue.object(
            keys.enumerated().map { .init(key: $0.element.string, value: .number(JSONNumber($0.offset))) })
        return try options.decode(Names.self, from: Data(JSONText.compact(document))).positions.mapValues { keys[$0] }
    }
}

private struct ParameterContainer<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let layers: ConfigLayers
    let options: JSONDecoder
    let names: [ExactString: ExactString]?

    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] {
        (names.map { Array($0.keys) } ?? Array(layers.allKeys)).compactMap { Key(stringValue: $0.string) }.filter(
            contains)
    }

    func contains(_ key: Key) -> Bool { value(key) != nil }

    func decodeNil(forKey key: Key) throws -> Bool { try member(key) { $0.decodeNil() } }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try member(key) { try $0.decode(type) }
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try member(key) { try $0.container(keyedBy: type) }
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try member(key) { try $0.unkeyedContainer() }
    }

    func superDecoder() throws -> any Decoder {
        throw DecodingError.valueNotFound(
            (any Decoder).self,
            .init(
                codingPath: [],
                debugDescription: "superDecoder() is not supported for parameters; call superDecoder(forKey:) to "
                    + "decode the superclass from a key"))
    }

    func superDecoder(forKey key: Key) throws -> any Decoder { try member(key) { $0 } }

    private func value(_ key: Key) -> RemoteConfigValue? {
        guard let parameter = names.map({ $0[key.stringValue] }) ?? key.stringValue.exact else { return nil }
        let value = layers.value(parameter.string)
        return value.source == .static ? nil : value
    }

    /// Decodes a parameter and adds its key to errors.
    private func member<Result>(_ key: Key, _ read: (ParameterDecoder) throws -> Result) throws -> Result {
        guard let value = value(key) else {
            throw DecodingError.keyNotFound(
                key, .init(codingPath: [], debugDescription: "no parameter has the key \(key.stringValue)"))
        }
        do {
            return try read(ParameterDecoder(value: value, options: options))
        } catch let error as DecodingError {
            throw error.inside(key)
        }
    }
}

extension DecodingError {
    /// Returns the same error with a key added to the front of its path.
    fileprivate func inside(_ key: any CodingKey) -> DecodingError {
        func inside(_ context: Context) -> Context {
            Context(
                codingPath: [key] + context.codingPath, debugDescription: context.debugDescription,
                underlyingError: context.underlyingError)
        }
        return switch self {
        case .typeMismatch(let type, let context): .typeMismatch(type, inside(context))
        case .valueNotFound(let type, let context): .valueNotFound(type, inside(context))
        case .keyNotFound(let missing, let context): .keyNotFound(missing, inside(context))
        case .dataCorrupted(let context): .dataCorrupted(inside(context))
        @unknown default: self
        }
    }
}
