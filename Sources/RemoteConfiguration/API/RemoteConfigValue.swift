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
    /// Set by the app's own code while it is developed: ``RemoteConfig/setOverrides(_:)``, or a file that has the collection's
    /// place.
    case override
}

/// The value of one parameter, in every form that an app may ask for. None of them fails, does I/O or blocks.
///
/// A parameter's value is any JSON; a default may also be `Data`. Each property says what it is for values of another type.
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
    /// `null`, for data that is not UTF-8, and where there is no value.
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

    /// A boolean as it is; a number where it is not 0; a text where it begins with Y, y, T, t or a digit from 1 to 9.
    /// `false` for everything else.
    public var boolValue: Bool {
        switch content {
        case .bool(let value): value
        case .number(let number): number.doubleValue != 0
        case .string, .data:
            switch stringValue.utf8.first ?? 0 {
            case UInt8(ascii: "Y"), UInt8(ascii: "y"), UInt8(ascii: "T"), UInt8(ascii: "t"),
                UInt8(ascii: "1")...UInt8(ascii: "9"):
                true
            default: false
            }
        case .none, .null, .json: false
        }
    }

    /// A number as it is; the number that a text begins with, white space aside; 1 and 0 for `true` and `false`. 0 for
    /// everything else.
    public var numberValue: RemoteConfigNumber {
        switch content {
        case .number(let number): number
        case .bool(let value): value ? 1 : 0
        case .string, .data: RemoteConfigNumber(leading: stringValue)
        case .none, .null, .json: 0
        }
    }

    /// The UTF-8 of ``stringValue``; data as it is.
    public var dataValue: Data {
        if case .data(let data) = content { data } else { Data(stringValue.utf8) }
    }

    /// The value as JSON: a text is read as a JSON document, as in Firebase, where every value is text; any other value is
    /// itself. `nil` where a text is no JSON document, and where there is no value.
    public var jsonValue: JSONValue? {
        switch content {
        case .none: nil
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let number): number.json
        case .string, .data: try? JSONValue(parsing: Bytes(utf8: stringValue), limits: Limits())
        case .json(let json): try? JSONValue(parsing: json, limits: Limits())
        }
    }

    /// The value as a type of the app.
    ///
    /// A `String` is ``stringValue``, `Data` is ``dataValue``. Any other type is decoded from the value's JSON, and where
    /// the value is a text that does not decode, from the JSON document that is in the text.
    ///
    /// - Throws: `DecodingError`.
    public func decoded<Value: Decodable>(
        as type: Value.Type = Value.self, decoder: JSONDecoder = JSONDecoder()
    ) throws -> Value {
        if let text = stringValue as? Value { return text }
        if let data = dataValue as? Value { return data }
        guard let json = documentText else {
            throw DecodingError.valueNotFound(
                type, .init(codingPath: [], debugDescription: "the parameter has no value"))
        }
        do {
            return try decoder.decode(type, from: Data(json.utf8))
        } catch {
            guard case .string(let text) = content, let value = try? decoder.decode(type, from: Data(text.utf8))
            else { throw error }
            return value
        }
    }

    /// The same as ``decoded(as:decoder:)``.
    public func decoded<Value: Decodable>(asType type: Value.Type = Value.self) throws -> Value {
        try decoded(as: type)
    }

    /// The value as a JSON document; `nil` where there is none. Data is text.
    var documentText: String? {
        switch content {
        case .none: return nil
        case .null: return "null"
        case .bool, .number, .json: return stringValue
        case .string, .data:
            var output: [UInt8] = []
            JSONString.append(stringValue, .shortest, to: &output)
            return String(decoding: output, as: UTF8.self)
        }
    }

    private static func text(_ json: Bytes) -> String {
        guard let value = try? JSONValue(parsing: json, limits: Limits()) else { return json.text }
        let style = JSONText.Style(indent: nil, strings: .shortest) { RemoteConfigNumber($0).stringValue }
        return String(decoding: JSONText.text(value, style), as: UTF8.self)
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

/// A number, with the names that a parameter's number has elsewhere. No conversion fails: what does not fit is the nearest
/// number that does.
public struct RemoteConfigNumber: Hashable, Sendable {
    /// The nearest double.
    public let doubleValue: Double
    /// Where the number is an integer of 64 bits that no double is equal to.
    private let exact: Int64?

    /// An integer.
    public init(_ value: Int64) {
        doubleValue = Double(value)
        exact = Int64(exactly: doubleValue) == value ? nil : value
    }

    /// A double; one that is not finite counts as 0.
    public init(_ value: Double) {
        doubleValue = value.isFinite ? value : 0
        exact = nil
    }

    init(_ number: JSONNumber) {
        if let integer = number.int64 { self.init(integer) } else { self.init(number.double) }
    }

    /// The number at the start of a text, white space aside; 0 where there is none.
    init(leading text: String) {
        let trimmed = Array(text.utf8.drop { $0 == 0x20 || (0x09...0x0D).contains($0) }.prefix(400))
        func isDigit(_ index: Int) -> Bool { index < trimmed.count && (48...57).contains(trimmed[index]) }
        func at(_ index: Int, _ texts: [UInt8]) -> Bool { index < trimmed.count && texts.contains(trimmed[index]) }
        var end = at(0, [0x2B, 0x2D]) ? 1 : 0
        let start = trimmed.first == 0x2B ? 1 : 0
        while isDigit(end) { end += 1 }
        var isInteger = true
        if at(end, [0x2E]), isDigit(end + 1) || end > 0 && isDigit(end - 1) {
            isInteger = false
            end += 1
            while isDigit(end) { end += 1 }
        }
        let exponent = end + (at(end + 1, [0x2B, 0x2D]) ? 2 : 1)
        if at(end, [0x45, 0x65]), isDigit(exponent), end > 0 {
            isInteger = false
            end = exponent
            while isDigit(end) { end += 1 }
        }
        var number = String(decoding: trimmed[start..<end], as: UTF8.self)
        if isInteger, let integer = Int64(number) {
            self.init(integer)
        } else {
            if number.hasSuffix(".") { number.removeLast() }
            self.init(Double(number) ?? 0)
        }
    }

    /// The integer part.
    public var int64Value: Int64 { exact ?? Int64(clamping: doubleValue) }
    /// The integer part.
    public var intValue: Int { Int(clamping: int64Value) }
    /// The integer part; 0 for a negative number.
    public var uintValue: UInt { doubleValue < 0 ? 0 : UInt(clamping: UInt64(clamping: doubleValue)) }
    /// The nearest float.
    public var floatValue: Float { Float(doubleValue) }
    /// Whether the number is not 0.
    public var boolValue: Bool { doubleValue != 0 }
    /// The number as JSON writes it, an integer without a point.
    public var stringValue: String {
        if let exact { return String(exact) }
        if let integer = Int64(exactly: doubleValue) { return String(integer) }
        let text = String(doubleValue)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    var json: JSONValue {
        if exact != nil || Int64(exactly: doubleValue) != nil { return .number(JSONNumber(int64Value)) }
        return (try? JSONValue(parsing: Bytes(utf8: stringValue), limits: Limits())) ?? .null
    }
}

extension RemoteConfigNumber: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, Comparable {
    public init(integerLiteral value: Int64) { self.init(value) }
    public init(floatLiteral value: Double) { self.init(value) }

    public static func < (left: RemoteConfigNumber, right: RemoteConfigNumber) -> Bool {
        left.exact != nil && right.exact != nil
            ? left.int64Value < right.int64Value : left.doubleValue < right.doubleValue
    }
}

extension RemoteConfigNumber: CustomStringConvertible {
    public var description: String { stringValue }
}

extension FixedWidthInteger {
    /// The integer part; the first or last number of the type where it lies beyond.
    fileprivate init(clamping value: Double) {
        if let integer = Self(exactly: value.rounded(.towardZero)) {
            self = integer
        } else {
            self = value < 0 ? .min : value > 0 ? .max : 0
        }
    }
}
