import RemoteSettings
import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

extension RemoteConfig {
    /// Replaces all of the app's defaults; `nil` removes them. They take effect when the call returns. Does no I/O.
    public func setDefaults(_ defaults: [String: any RemoteConfigDefault]?) {
        replaceDefaults(Dictionary((defaults ?? [:]).mapValues { RemoteConfigValue($0, source: .default) }))
    }

    /// Replaces the app's defaults with values of any type. Does no I/O.
    ///
    /// Each value must be a ``RemoteConfigDefault``, or an array or dictionary of such values, nested to any depth.
    ///
    /// - Throws: ``RemoteConfigError/invalidDefaults(reason:)`` if a value has any other type. The reason names its
    ///   key. The current defaults then remain unchanged.
    @_disfavoredOverload
    public func setDefaults(_ defaults: [String: Any]?) throws(RemoteConfigError) {
        var values: [ExactString: RemoteConfigValue] = [:]
        for (key, value) in defaults ?? [:] {
            if let data = value as? Data {
                values[key] = RemoteConfigValue(data, source: .default)
            } else {
                values[key] = RemoteConfigValue(try Self.json(value, at: key), source: .default)
            }
        }
        replaceDefaults(values)
    }

    private static func json(_ value: Any, at path: String) throws(RemoteConfigError) -> JSONValue {
        switch value {
        case let value as any RemoteConfigDefault: return value.remoteConfigDefault
        case let elements as [Any]:
            var list: [JSONValue] = []
            for (index, element) in elements.enumerated() { list.append(try json(element, at: "\(path)[\(index)]")) }
            return .array(list)
        case let members as [String: Any]:
            var list: [JSONValue.Member] = []
            for (key, value) in members.sorted(by: { $0.key < $1.key }) {
                list.append(.init(key: key, value: try json(value, at: "\(path).\(key)")))
            }
            return .object(list)
        default:
            #if canImport(Darwin)
            // Property lists in Objective-C contain these types.
            if value is NSNumber || value is NSString || value is NSDate { return json(value) }
            #endif
            throw .invalidDefaults(
                reason:
                    "\(path): \(type(of: value)) is not supported; use a string, number, boolean, date, data, JSON, or "
                    + "an array or dictionary of these")
        }
    }

    /// Replaces the app's defaults with the members of an encodable value. Does no I/O.
    ///
    /// - Throws: ``RemoteConfigError/invalidDefaults(reason:)`` if the value is not encoded as an object. The current
    ///   defaults then remain unchanged.
    public func setDefaults(
        from value: some Encodable, encoder: JSONEncoder = JSONEncoder()
    ) throws(RemoteConfigError) {
        let json: JSONValue
        do {
            let document = Bytes(Array(try encoder.encode(value)))
            json = try JSONValue(parsing: document)
        } catch {
            throw .invalidDefaults(reason: "the defaults cannot be encoded: \(error)")
        }
        guard case .object(let members) = json else {
            throw .invalidDefaults(
                reason: "\(type(of: value)) must be encoded as an object with a member for each parameter")
        }
        replaceDefaults(members)
    }

    /// Replaces the app's defaults with those in a property list, XML or binary. Does I/O.
    ///
    /// - Parameters:
    ///   - name: the name of a resource of the app, with or without `.plist`, or a path that contains a slash. On
    ///     Linux, an app's resources are in the directory of its executable.
    ///   - directory: the directory of the resource; `nil` for the app's own resources.
    /// - Throws: ``RemoteConfigError/invalidDefaults(reason:)`` if there is no such file, or if it is not a property
    ///   list with a dictionary. The current defaults then remain unchanged.
    public func setDefaults(fromPlist name: String?, in directory: String? = nil) throws(RemoteConfigError) {
        guard let name else { throw .invalidDefaults(reason: "the property list's name is nil; pass a name or path") }
        let path: String
        let content: Bytes?
        do throws(Failure) {
            path = try PropertyListDefaults.path(of: name, in: directory)
            content = try FileStore.read(path, limit: PropertyListDefaults.mostBytes)
        } catch {
            throw .invalidDefaults(reason: "\(error.place): \(error)")
        }
        guard let content else {
            throw .invalidDefaults(
                reason: "\(path): there is no such property list; add it to the app's resources, or pass its path")
        }
        try setDefaults(plist: Data(content.array), name: path)
    }

    /// Replaces the app's defaults with those in a property list, XML or binary. Does no I/O.
    ///
    /// - Parameters:
    ///   - plist: the content of the property list.
    ///   - name: the name of the property list in error messages.
    /// - Throws: ``RemoteConfigError/invalidDefaults(reason:)`` if it is not a property list with a dictionary. The
    ///   current defaults then remain unchanged.
    public func setDefaults(plist: Data, name: String = "property list") throws(RemoteConfigError) {
        replaceDefaults(try PropertyListDefaults.values(plist, name: name))
    }

    private func replaceDefaults(_ members: [JSONValue.Member]) {
        replaceDefaults(
            Dictionary(members.map { ($0.key.exact, RemoteConfigValue($0.value, source: .default)) }) { _, last in last
            })
    }

    private func replaceDefaults(_ defaults: [ExactString: RemoteConfigValue]) {
        replaceLayers { state in
            state.defaults = defaults
            if let layers = state.layers { state.show(layers.parameters, layers.reads, layers.packaged) }
        }
    }
}

#if canImport(Darwin)
extension RemoteConfig {
    /// Replaces the app's defaults with Objective-C objects: `NSString`, `NSNumber`, `NSData`, `NSDate`, and arrays and
    /// dictionaries of these.
    ///
    /// An object of any other type becomes `null`. If both overloads accept the argument, as for `nil` and `[:]`, the
    /// compiler prefers the overload for ``RemoteConfigDefault``.
    @_disfavoredOverload
    public func setDefaults(_ defaults: [String: NSObject]?) {
        replaceDefaults(
            Dictionary(
                (defaults ?? [:]).mapValues { value in
                    if let data = value as? Data { return RemoteConfigValue(content: .data(data), source: .default) }
                    return RemoteConfigValue(Self.json(value), source: .default)
                }))
    }

    private static func json(_ value: Any) -> JSONValue {
        switch value {
        case let number as NSNumber where CFGetTypeID(number) == CFBooleanGetTypeID(): .bool(number.boolValue)
        case let number as NSNumber:
            number.doubleValue == Double(number.int64Value)
                ? .number(JSONNumber(number.int64Value)) : number.doubleValue.remoteConfigDefault
        case let text as String: .string(text)
        case let date as Date: date.remoteConfigDefault
        case let data as Data: data.remoteConfigDefault
        case let elements as [Any]: .array(elements.map(json))
        case let members as [String: Any]:
            .object(members.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: json($0.value)) })
        default: .null
        }
    }
}
#endif
