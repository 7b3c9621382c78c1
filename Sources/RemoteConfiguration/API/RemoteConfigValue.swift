import RemoteSettings
import RemoteSettingsModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Where a value comes from.
public enum RemoteConfigSource: String, Hashable, Sendable, CaseIterable {
    /// Fetched from the server and activated.
    case remote
    /// Packaged with the app, and no older than what was activated.
    case packaged
    /// The app's own default.
    case `default`
    /// Nobody has a value for the key: it is empty, 0 and `false`.
    case `static`
    /// Set by the app's own code while it is developed: ``RemoteConfig/setOverrides(_:)``, or a file that has the
    /// collection's place.
    case override
}

/// The value of one parameter, in every form that an app may ask for. None of them fails, does I/O or blocks.
///
/// A parameter's value is any JSON; a default may also be `Data`. Each property says what it is for values of another
/// type.
public struct RemoteConfigValue: Sendable {
    enum Content: Hashable, Sendable {
        case none
        case null
        case bool(Bool)
        case number(RemoteConfigNumber)
        case string(String)
        /// An array or object as JSON.
        case json(Bytes)
        case data(Data)
    }

    let content: Content
    /// Where the value comes from.
    public let source: RemoteConfigSource

    /// Text as it is; a number or boolean as JSON writes it; an array or object as JSON text; data as UTF-8. Empty for
    /// `null`, for data that is not UTF-8, and if there is no value.
    public var stringValue: String {
        switch content {
        case .none, .null: ""
        case .string(let text): text
        case .bool(let value): value ? "true" : "false"
        case .number(let number): number.stringValue
        case .json(let json): Self.text(json)
        case .data(let data): String(validating: data, as: UTF8.self) ?? ""
        }
    }

    /// A boolean as it is; a number if it is not 0; a text by the rule of `NSString`: if it begins with a digit from 1
    /// to 9, or with Y, y, T or t, with white space, then one sign, then zeros before that at most. `false` for
    /// everything else.
    public var boolValue: Bool {
        switch content {
        case .bool(let value): value
        case .number(let number): number.boolValue
        case .string(let text): TextReading.bool(text)
        case .data: TextReading.bool(stringValue)
        case .none, .null, .json: false
        }
    }

    /// A number as it is; the number that a text begins with, white space aside; 1 and 0 for `true` and `false`. 0 for
    /// everything else, and for a number that no double can hold.
    public var numberValue: RemoteConfigNumber {
        switch content {
        case .number(let number): number
        case .bool(let value): value ? 1 : 0
        case .string, .data: RemoteConfigNumber(leading: stringValue) ?? 0
        case .none, .null, .json: 0
        }
    }

    /// The UTF-8 of ``stringValue``; data as it is.
    public var dataValue: Data {
        if case .data(let data) = content { data } else { Data(stringValue.utf8) }
    }

    /// The value as JSON. A text is read as a JSON document, as in Firebase, where every value is text and a document
    /// is an object or array; any other value is itself. `nil` if a text is no such document, and if there is no value.
    ///
    /// A cast to `[String: Any]`, as Firebase's value of this name needs, always gives `nil` here: use ``jsonObject``.
    public var jsonValue: JSONValue? {
        switch content {
        case .none: nil
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let number): number.json
        case .string, .data, .json: document.flatMap { try? JSONValue(parsing: $0, limits: Limits()) }
        }
    }

    /// The members of the object that ``jsonValue`` is: what Firebase's `jsonValue as? [String: Any]` gives. `nil` if
    /// it is no object.
    ///
    /// Its values are `String`, `Bool`, `[AnyHashable]`, `[String: AnyHashable]`, and on Apple systems `NSNumber` and
    /// `NSNull`. On other systems a whole number is an `Int`, any other number is a `Double`, and `null` is
    /// `JSONValue.null`.
    public var jsonObject: [String: AnyHashable]? {
        guard case .object(let members)? = jsonValue else { return nil }
        return Dictionary(members.map { ($0.key, $0.value.plain) }) { _, last in last }
    }

    /// The elements of the array that ``jsonValue`` is: what Firebase's `jsonValue as? [Any]` gives. `nil` if it is no
    /// array. Its values are those of ``jsonObject``.
    public var jsonArray: [AnyHashable]? {
        if case .array(let elements)? = jsonValue { elements.map(\.plain) } else { nil }
    }

    /// The value as a type of the app.
    ///
    /// The type decides how the value is read, whichever call reads it, and whether the value is a text or has a type:
    /// - a `String` is ``stringValue``, `Data` is ``dataValue``, and a `Bool` is ``boolValue``;
    /// - a number is ``numberValue``, if there is one and the type can hold it; `Decimal` takes all digits of a text;
    /// - a `Date` is read by the decoder's strategy from that number or text, and a `URL` from the text;
    /// - an array, dictionary or structure is read by the decoder from the JSON of the value, or in its text.
    ///
    /// If nobody has a value, a `String` is empty, `Data` is empty, and nothing else can be read.
    ///
    /// - Parameters:
    ///   - type: the type to read the value as.
    ///   - decoder: its strategies are used for dates, and for all that is inside of a JSON document.
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try ParameterDecoder(value: self, options: decoder).decode(type)
    }

    /// The same as ``decoded(as:decoder:)``.
    public func decoded<Value: Decodable>(
        asType type: Value.Type, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        try decoded(as: type, decoder: decoder)
    }

    /// The bytes of the object or array that the value is, or that is in its text; `nil` if there is none. A text only
    /// begins like one.
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
    /// The value as Foundation's reader of JSON gives it, as far as this system has its types.
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
    /// A value that no server has sent, for the tests and previews of an app.
    public init(_ value: any RemoteConfigDefault, source: RemoteConfigSource = .remote) {
        self.source = source
        content = if let data = value as? Data { .data(data) } else { Content(value.remoteConfigDefault) }
    }

    /// Nobody has a value.
    static let none = RemoteConfigValue(content: .none, source: .static)

    /// - Parameter json: canonical JSON of the value. What cannot be read counts as `null`.
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
        case .string(let text): self = .string(text)
        case .array, .object: self = .json(Bytes(JSONText.compact(json)))
        }
    }
}
