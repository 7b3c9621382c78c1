import RemoteSettings
import RemoteSettingsModel
import TargetFilter

extension ConfigState {
    /// Returns the environment of filters: the service's context, the installation's id, the current time, and the
    /// app's signals.
    ///
    /// - Parameter installation: the id given by the app; `nil` for the stored one.
    func filterContext(_ collection: LocalCollection, installation given: String?) -> FilterContext {
        var added = signals.filterValues
        added["id"] = .string(given ?? installation)
        added["now"] = .number(Double(collection.session.now.milliseconds))
        return collection.session.filterContext.adding(added)
    }

    /// Returns a hash of the server and the filters' environment, without the time and the id.
    func contextHash(_ collection: LocalCollection) -> String {
        let context = collection.session.filterContext.adding(signals.filterValues)
        let text = "\(collection.session.serverIdentity) \(FilterValue.object(context.root).stableText)"
        return SHA256Digest(hashing: Bytes(utf8: text)).hex
    }
}

extension FilterContext {
    /// Returns this context with additional members of `env`. Existing members are not replaced.
    fileprivate func adding(_ members: [ExactString: FilterValue]) -> FilterContext {
        var root = root
        var env = FilterObject()
        if case .object(let present) = root["env"] { env = present }
        for (key, value) in members.sorted(by: { $0.key < $1.key }) where env[key.string] == .undefined {
            env[key.string] = value
        }
        root["env"] = .object(env)
        return FilterContext(root: root, preferences: preferences)
    }
}

extension FilterValue {
    /// A string that is equal for equal values and different for different ones, in every process. Unlike a hash value,
    /// it can be stored.
    fileprivate var stableText: String {
        switch self {
        case .undefined: "u"
        case .null: "n"
        case .bool(let value): value ? "t" : "f"
        case .number(let number): "#\(number)"
        case .string(let text): "'\(text.utf8.count):\(text)"
        case .array(let elements): "[" + elements.map(\.stableText).joined(separator: ",") + "]"
        case .object(let object):
            "{"
                + object.members.sorted { $0.key.exact < $1.key.exact }
                .map { "\($0.key.utf8.count):\($0.key)=\($0.value.stableText)" }.joined(separator: ",") + "}"
        }
    }
}
