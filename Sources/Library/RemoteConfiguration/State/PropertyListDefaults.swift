import ConfigParameters
import RemoteSettingsModel
import SnapshotBundle

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A parser of defaults in property lists.
package enum PropertyListDefaults {
    /// The maximum size of the file in bytes.
    static var mostBytes: Int { 16 << 20 }

    static func path(of name: String, in directory: String?) throws(Failure) -> String {
        let file = name.hasSuffix(".plist") ? name : name + ".plist"
        if let directory { return "\(directory)/\(file)" }
        if name.utf8.contains(UInt8(ascii: "/")) { return try FileStore.exists(name) ? name : file }
        #if canImport(Darwin)
        return Bundle.main.path(forResource: String(file.dropLast(".plist".count)), ofType: "plist") ?? file
        #else
        return "\(FileStore.parent(of: FileStore.program ?? ""))/\(file)"
        #endif
    }

    /// Returns the members of a property list's dictionary. Does no I/O.
    ///
    /// - Parameter name: the name of the property list in error messages.
    package static func values(_ plist: Data, name: String) throws(RemoteConfigError) -> [ExactString:
        RemoteConfigValue]
    {
        let document = try mapFailure(of: try DefaultsDocument(propertyList: Bytes(Array(plist)))) { error in
            RemoteConfigError.invalidDefaults(
                reason: "\(name)\(error.line.map { ":\($0)" } ?? ""): not a property list with a dictionary of "
                    + "parameters: \(error.problem)")
        }
        return Dictionary(document.members.map { ($0.key.exact, value($0.value)) }) { first, _ in first }
    }

    private static func value(_ value: DefaultsValue) -> RemoteConfigValue {
        if case .data(let data) = value {
            return RemoteConfigValue(content: .data(Data(data.array)), source: .default)
        }
        return RemoteConfigValue(
            value.json { value in
                switch value {
                case .data(let data): Data(data.array).remoteConfigDefault
                case .date(let time): time.date.remoteConfigDefault
                default: .null
                }
            }, source: .default)
    }
}
