import RemoteSettings
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The source of a value.
@nonexhaustive public enum RemoteConfigSource: String, Hashable, Sendable, CaseIterable {
    /// The value was fetched from the server and activated.
    case remote
    /// The value was packaged with the app. It is used unless a newer state has been activated.
    case packaged
    /// The value is the app's own default.
    case `default`
    /// No source has a value for the key. As a string it is empty, as a number 0, and as a boolean `false`.
    case `static`
    /// The value was set during development: by the app's own code with ``RemoteConfig/setOverrides(_:)``, or by a file
    /// that replaces the collection.
    case override
}

/// The value of one parameter, which can be read in several forms. Reading never fails, does no I/O and never blocks.
///
/// A parameter's value is any JSON value; a default may also be `Data`. Each property documents its result for values
/// of other types.
public struct RemoteConfigValue: Sendable {
    enum Content: Hashable, Sendable {
        case none
        case null
        case bool(Bool)
        case number(RemoteConfigNumber)
        case string(ExactString)
        /// An array or object as JSON.
        case json(Bytes)
        case data(Data)
    }

    let content: Content
    /// The source of the value.
    public let source: RemoteConfigSource

    /// The value as a string.
    ///
    /// A string is returned unchanged. A number, boolean, array or object is returned as JSON. Data is decoded as
    /// UTF-8. The result is empty for `null`, for data that is not UTF-8, and if there is no value.
    public var stringValue: String {
        switch content {
        case .none, .null: ""
        case .string(let text): text.string
        case .bool(let value): value ? "true" : "false"
        case .number(let number): number.stringValue
        case .json(let json): Self.text(json)
        case .data(let data): String(validating: data, as: UTF8.self) ?? ""
        }
    }

    /// The value as a boolean.
    ///
    /// A boolean is returned unchanged, and a number is true if it is not 0. For a string, the rule is that of
    /// `NSString`: it is true if it begins with a digit from 1 to 9, or with Y, y, T or t. White space, one sign and
    /// zeros may precede that, in this order. Everything else is `false`.
    public var boolValue: Bool {
        switch content {
        case .bool(let value): value
        case .number(let number): number.boolValue
        case .string(let text): TextReading.bool(text.string)
        case .data: TextReading.bool(stringValue)
        case .none, .null, .json: false
        }
    }

    /// The value as a number.
    ///
    /// A number is returned unchanged. For a string or data, the result is the number at its beginning, after white
    /// space. For `true` and `false`, it is 1 and 0. It is 0 for everything else, and for a number outside the range of
    /// `Double`.
    public var numberValue: RemoteConfigNumber {
        switch content {
        case .number(let number): number
        case .bool(let value): value ? 1 : 0
        case .string, .data: RemoteConfigNumber(leading: stringValue) ?? 0
        case .none, .null, .json: 0
        }
    }

    /// The UTF-8 bytes of ``stringValue``. Data is returned unchanged.
    public var dataValue: Data {
        if case .data(let data) = content { data } else { Data(stringValue.utf8) }
    }

    /// The value as JSON; `nil` if there is no value, or if it is a string that is not a JSON document.
    ///
    /// A string is parsed as a JSON document if it contains an object or array, because in Firebase every value is a
    /// string. Any other value is returned unchanged. Code for Firebase casts this property to `[String: Any]`. Here,
    /// that cast always gives `nil`; use ``jsonObject`` instead.
    public var jsonValue: RemoteSettingsJSON? {
        switch content {
        case .none: nil
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let number): number.json
        case .string, .data, .json: document.flatMap { try? JSONValue(parsing: $0) }
        }
    }

    /// The members of ``jsonValue`` if it is an object, otherwise `nil`. It corresponds to Firebase's `jsonValue as?
    /// [String: Any]`.
    ///
    /// Its values are `String`, `Bool`, `[AnyHashable]`, `[String: AnyHashable]`, and on Apple systems also `NSNumber`
    /// and `NSNull`. On other systems, a whole number is an `Int`, any other number is a `Double`, and `null` is
    /// `JSONValue.null`.
    public var jsonObject: [String: AnyHashable]? {
        guard case .object(let members)? = jsonValue else { return nil }
        return Dictionary(members.map { ($0.key, $0.value.plain) }) { _, last in last }
    }

    /// The elements of ``jsonValue`` if it is an array, otherwise `nil`. It corresponds to Firebase's `jsonValue as?
    /// [Any]`.
    ///
    /// Its values have the same types as those of ``jsonObject``.
    public var jsonArray: [AnyHashable]? {
        if case .array(let elements)? = jsonValue { elements.map(\.plain) } else { nil }
    }

    /// Firebase's name of ``decoded(as:decoder:)``.
    @available(*, unavailable, renamed: "decoded(as:)")
    public func decoded<Value: Decodable>(asType type: Value.Type) throws -> Value { try decoded(as: type) }

    /// Decodes the value as a type of the app.
    ///
    /// The type alone decides how the value is decoded, regardless of which method is called and of whether the value
    /// is a string:
    /// - a `String` is ``stringValue``, `Data` is ``dataValue``, and a `Bool` is ``boolValue``;
    /// - a number is ``numberValue``, if there is one and the type can represent it; `Decimal` keeps all digits of a
    ///   string;
    /// - a `Date` is decoded by the decoder's strategy from that number or string, and a `URL` from the string;
    /// - an array, dictionary or structure is decoded by the decoder from the JSON of the value, or of its string.
    ///
    /// If there is no value, a `String` or `Data` is empty, and decoding any other type throws.
    ///
    /// - Parameters:
    ///   - type: the type to decode the value as.
    ///   - decoder: the decoder. Its strategies apply to dates, and to everything inside a JSON document.
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try ParameterDecoder(value: self, options: decoder).decode(type)
    }

    /// The bytes of the object or array that the value or its string contains; `nil` if there is none.
    ///
    /// For a string, only its first character was checked, so the bytes may not be valid JSON.
    var document: Bytes? {
        switch content {
        case .json(let json): json
        case .string, .data: TextReading.beginsDocument(stringValue) ? Bytes(utf8: stringValue) : nil
        case .none, .null, .bool, .number: nil
        }
    }

    private static func text(_ json: Bytes) -> String {
        guard let value = try? JSONValue(parsing: json) else { return json.text }
        let style = JSONText.Style(indent: nil, strings: .shortest) { RemoteConfigNumber($0).stringValue }
        return String(decoding: JSONText.text(value, style), as: UTF8.self)
    }
}

extension JSONValue {
    /// The value with the types that Foundation's JSON parser returns, if they exist on this system.
    fileprivate var plain: AnyHashable {
        switch self {
        case .bool(let value): value
        case .string(let text): text
        case .array(let elements): elements.map(\.plain)
        case .object(let members): Dictionary(members.map { ($0.key, $0.value.plain) }) { _, last in last }
        #if canImport(Darwin)
        case .null: NSNull()
        case .number(let number): RemoteConfigNumber(number).object
        #else
        case .null: self
        case .number(let number): if let whole = number.int64 { Int(whole) } else { number.double }
        #endif
        }
    }
}

extension RemoteConfigValue: Hashable {}

extension RemoteConfigValue: CustomStringConvertible {
    public var description: String { stringValue }
}

extension RemoteConfigValue {
    /// Creates a value, for an app's tests and previews.
    public init(_ value: any RemoteConfigDefault, source: RemoteConfigSource = .remote) {
        self.source = source
        content = if let data = value as? Data { .data(data) } else { Content(value.remoteConfigDefault) }
    }

    /// The value of a key that is in no source.
    static let none = RemoteConfigValue(content: .none, source: .static)

    /// Creates a value.
    ///
    /// - Parameter json: the value as canonical JSON. JSON that cannot be parsed becomes `null`.
    init(json: Bytes, source: RemoteConfigSource) {
        self.source = source
        switch json.withSpan({ $0.isEmpty ? 0 : $0[0] }) {
        case UInt8(ascii: "{"), UInt8(ascii: "["): content = .json(json)
        default: content = (try? JSONValue(parsing: json)).map(Content.init) ?? .null
        }
    }

    init(_ json: JSONValue, source: RemoteConfigSource) {
        self.source = source
        content = Content(json)
    }
}

extension RemoteConfigValue.Content {
    init(_ json: JSONValue) {
        switch json {
        case .null: self = .null
        case .bool(let value): self = .bool(value)
        case .number(let number): self = .number(RemoteConfigNumber(number))
        case .string(let text): self = .string(text.exact)
        case .array, .object: self = .json(Bytes(JSONText.compact(json)))
        }
    }
}

/// A type whose values can be defaults: strings, numbers, booleans, dates, data, JSON, and arrays and dictionaries of
/// these.
public protocol RemoteConfigDefault {
    /// The value as JSON.
    var remoteConfigDefault: RemoteSettingsJSON { get }
}

extension String: RemoteConfigDefault {
    public var remoteConfigDefault: RemoteSettingsJSON { .string(self) }
}

extension Bool: RemoteConfigDefault {
    public var remoteConfigDefault: RemoteSettingsJSON { .bool(self) }
}

extension Int: RemoteConfigDefault {
    public var remoteConfigDefault: RemoteSettingsJSON { .number(JSONNumber(self)) }
}

extension Int64: RemoteConfigDefault {
    public var remoteConfigDefault: RemoteSettingsJSON { .number(JSONNumber(self)) }
}

extension Double: RemoteConfigDefault {
    /// The number as JSON; 0 if it is not finite.
    public var remoteConfigDefault: RemoteSettingsJSON { RemoteConfigNumber(self).json }
}

extension Float: RemoteConfigDefault {
    /// The number as JSON; 0 if it is not finite.
    public var remoteConfigDefault: RemoteSettingsJSON { RemoteConfigNumber(Double("\(self)") ?? 0).json }
}

extension Date: RemoteConfigDefault {
    /// The date as `yyyy-MM-dd HH:mm:ss` in the device's time zone, as in Firebase.
    public var remoteConfigDefault: RemoteSettingsJSON {
        // C libraries disagree about years outside this range.
        var time = time_t(max(-6e10, min(timeIntervalSince1970.rounded(.down), 2.5e11)))
        var parts = unsafe tm()
        _ = unsafe localtime_r(&time, &parts)
        let numbers = unsafe [
            parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
        ]
        let digits = numbers.map { $0 < 10 ? "0\($0)" : "\($0)" }
        return .string(digits[..<3].joined(separator: "-") + " " + digits[3...].joined(separator: ":"))
    }
}

extension Data: RemoteConfigDefault {
    /// The data as a string, decoded as UTF-8. This applies only to data inside an array or dictionary; data that is
    /// itself a default keeps its bytes.
    public var remoteConfigDefault: RemoteSettingsJSON { .string(String(decoding: self, as: UTF8.self)) }
}

extension JSONValue: RemoteConfigDefault {
    public var remoteConfigDefault: RemoteSettingsJSON { self }
}

extension Array: RemoteConfigDefault where Element: RemoteConfigDefault {
    public var remoteConfigDefault: RemoteSettingsJSON { .array(map(\.remoteConfigDefault)) }
}

extension Dictionary: RemoteConfigDefault where Key == String, Value: RemoteConfigDefault {
    public var remoteConfigDefault: RemoteSettingsJSON {
        .object(sorted { $0.key < $1.key }.map { .init(key: $0.key, value: $0.value.remoteConfigDefault) })
    }
}
