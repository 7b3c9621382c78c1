import FileStorage
import RemoteSettingsModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Defaults in a property list.
package enum PropertyListDefaults {
    /// The most bytes that such a file may have.
    static var mostBytes: Int { 16 << 20 }

    static func path(of name: String, in directory: String?) throws(FileError) -> String {
        let file = name.hasSuffix(".plist") ? name : name + ".plist"
        if let directory { return "\(directory)/\(file)" }
        if name.utf8.contains(UInt8(ascii: "/")) { return try FileStore.exists(name) ? name : file }
        #if canImport(Darwin)
            return Bundle.main.path(forResource: String(file.dropLast(".plist".count)), ofType: "plist") ?? file
        #else
            let program = (try? FileStore.resolved("/proc/self/exe")) ?? CommandLine.arguments.first ?? ""
            return "\(FileStore.parent(of: program))/\(file)"
        #endif
    }

    /// The members of a property list's dictionary. No I/O.
    ///
    /// - Parameter name: what an error calls the list.
    package static func values(_ plist: Data, name: String) throws(RemoteConfigError) -> [String: RemoteConfigValue] {
        if let problem = PropertyListShape.problem(Array(plist), limits: Limits()) {
            throw .invalidDefaults(
                reason: "\(name): expected a property list with a dictionary of parameters, found \(problem)")
        }
        do {
            return try PropertyListDecoder().decode([String: Entry].self, from: plist).mapValues(\.value)
        } catch {
            throw .invalidDefaults(
                reason: "\(name): expected a property list with a dictionary of parameters, found something else: "
                    + "\(error)")
        }
    }

    /// Any value of a property list.
    private enum Entry: Decodable {
        case data(Data)
        case json(JSONValue)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let value = try? container.decode(Bool.self) {
                self = .json(.bool(value))
            } else if let value = try? container.decode(Int64.self) {
                self = .json(.number(JSONNumber(value)))
            } else if let value = try? container.decode(Double.self) {
                self = .json(RemoteConfigNumber(value).json)
            } else if let value = try? container.decode(Date.self) {
                self = .json(value.remoteConfigDefault)
            } else if let value = try? container.decode(Data.self) {
                self = .data(value)
            } else if let value = try? container.decode(String.self) {
                self = .json(.string(value))
            } else if let value = try? container.decode([Entry].self) {
                self = .json(.array(value.map(\.json)))
            } else {
                let members = try container.decode([String: Entry].self).sorted { $0.key < $1.key }
                self = .json(.object(members.map { .init(key: $0.key, value: $0.value.json) }))
            }
        }

        var json: JSONValue {
            switch self {
            case .data(let data): data.remoteConfigDefault
            case .json(let value): value
            }
        }

        var value: RemoteConfigValue {
            switch self {
            case .data(let data): RemoteConfigValue(content: .data(data), source: .default)
            case .json(let value): RemoteConfigValue(value, source: .default)
            }
        }
    }
}
