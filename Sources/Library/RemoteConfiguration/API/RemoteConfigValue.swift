import RemoteSettings
import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The source of a value.
///
/// Open: a later version may add cases, so a `switch` needs a `default`.
public enum RemoteConfigSource: String, Hashable, Sendable, CaseIterable {
    /// The value was fetched from the server and activated.
    case remote
    /// The value was packaged with the app, and is at least as new as the activated state.
    case packaged
    /// The value is the app's own default.
    case `default`
    /// No source has a value for the key. The value is empty, 0 and `false`.
    case `static`
    /// The value was set during development: by the app's own code with ``RemoteConfig/setOverrides(_:)``, or by a file
    /// that replaces the collection.
    case override
}

/// The value of one parameter, in all forms that an app may ask for. Reading a form never fails, does no I/O and never
/// blocks.
///
/// A parameter's value is any JSON value; a default may also be `Data`. Each property says what it returns for values
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
    /// Where the value comes from.
    public let source: RemoteConfigSource

    /// The value as a string.
    ///
    /// A string stays as it is. A number or boolean is written as in JSON, and an array or object as JSON text. Data is
    /// read as UTF-8. The result is empty for `null`, for data that is not UTF-8, and if there is no value.
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
    /// A boolean stays as it is, and a number is true if it is not 0. For a string, the rule is that of `NSString`: it
    /// is true if it begins with a digit from 1 to 9, or with Y, y, T or t. White space, one sign and zeros may come
    /// before that, in this order. Everything else is `false`.
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
    /// A number stays as it is. A string or data gives the number that it begins with, after white space. `true` and
    /// `false` give 1 and 0. Everything else gives 0, and so does a number that a double cannot hold.
    public var numberValue: RemoteConfigNumber {
        switch content {
        case .number(let number): number
        case .bool(let value): value ? 1 : 0
        case .string, .data: RemoteConfigNumber(leading: stringValue) ?? 0
        case .none, .null, .json: 0
        }
    }

    /// The UTF-8 bytes of ``stringValue``. Data stays as it is.
    public var dataValue: Data {
        if case .data(let data) = content { data } else { Data(stringValue.utf8) }
    }

    /// The value as JSON; `nil` if there is no value, or if it is a string that is not a JSON document.
    ///
    /// A string is read as a JSON document if it is an object or array. In Firebase, every value is such a string. Any
    /// other value is returned as it is. Firebase's value of this name requires a cast to `[String: Any]`. Here, that
    /// cast always gives `nil`; use ``jsonObject``.
    public var jsonValue: RemoteSettingsJSON? {
        switch content {
        case .none: nil
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let number): number.json
        case .string, .data, .json: document.flatMap { try? JSONValue(parsing: $0, limits: Limits()) }
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

    /// The value as a type of the app.
    ///
    /// Only the type decides how the value is read. It does not matter which call reads it, or whether the value is a
    /// string or has another type:
    /// - a `String` is ``stringValue``, `Data` is ``dataValue``, and a `Bool` is ``boolValue``;
    /// - a number is ``numberValue``, if there is one and the type can hold it; `Decimal` keeps all digits of a string;
    /// - a `Date` is read by the decoder's strategy from that number or string, and a `URL` from the string;
    /// - an array, dictionary or structure is read by the decoder from the JSON of the value, or of its string.
    ///
    /// If there is no value, a `String` is empty, `Data` is empty, and nothing else can be read.
    ///
    /// - Parameters:
    ///   - type: the type to read the value as.
    ///   - decoder: the decoder. Its strategies apply to dates, and to everything inside a JSON document.
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try ParameterDecoder(value: self, options: decoder).decode(type)
    }

    /// Decodes the value, exactly as ``decoded(as:decoder:)``.
    public func decoded<Value: Decodable>(
        asType type: Value.Type, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoded(as: type, decoder: decoder)
    }

    /// The bytes of the object or array that the value or its string contains; `nil` if there is none.
    ///
    /// Of a string, only the beginning has been checked.
    var document: Bytes? {
        switch content {
        case .json(let json): json
        case .string, .data: TextReading.beginsDocument(stringValue) ? Bytes(utf8: stringValue) : nil
        case .none, .null, .bool, .number: nil
        }
    }

    private static func text(_ json: Bytes) -> String {
        guard let value = try? JSONValue(parsing: json, limits: Limits()) else { return json.text }
        let style = JSONText.Style(indent: nil, strings: .shortest) { RemoteConfigNumber($0).stringValue }
        return String(decoding: JSONText.text(value, style), as: UTF8.self)
    }
}

extension JSONValue {
    /// The value as Foundation's JSON reader returns it, if this system has the types.
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
    /// Makes a value, for an app's tests and previews.
    public init(_ value: any RemoteConfigDefault, source: RemoteConfigSource = .remote) {
        self.source = source
        content = if let data = value as? Data { .data(data) } else { Content(value.remoteConfigDefault) }
    }

    /// The value of a key that no source has.
    static let none = RemoteConfigValue(content: .none, source: .static)

    /// Makes a value.
    ///
    /// - Parameter json: canonical JSON of the value. JSON that cannot be read becomes `null`.
    init(json: Bytes, source: RemoteConfigSource) {
        self.source = source
        switch json.withSpan({ $0.isEmpty ? 0 : $0[0] }) {
        case UInt8(ascii: "{"), UInt8(ascii: "["): content = .json(json)
        default: content = (try? JSONValue(parsing: json, limits: Limits())).map(Content.init) ?? .null
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
