import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A decoder that decodes one parameter as a type of the app, with one rule for each type.
///
/// Every method that decodes a value uses it, so that a parameter is always interpreted in the same way. The rules are
/// documented at ``RemoteConfigValue/decoded(as:decoder:)``.
struct ParameterDecoder: Decoder, SingleValueDecodingContainer {
    let value: RemoteConfigValue
    /// The decoder for JSON documents, whose settings include the format of dates; `nil` for a default decoder, which
    /// is created only if it is needed.
    let options: JSONDecoder?

    /// The coding path is relative to the value. Code that decodes several parameters adds their keys to the errors.
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { if let options { options.userInfo } else { [:] } }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        switch type {
        case is String.Type: if let text = value.stringValue as? Value { return text }
        case is Data.Type: if let data = value.dataValue as? Value { return data }
        case is Bool.Type:
            try checkPresence(type)
            if let bool = value.boolValue as? Value { return bool }
        case let integers as any FixedWidthInteger.Type:
            if let number = try integer(integers) as? Value { return number }
        case let reals as any BinaryFloatingPoint.Type: if let number = try real(reals) as? Value { return number }
        case is Decimal.Type: if let number = try decimal() as? Value { return number }
        case is Date.Type: if let date = try date() as? Value { return date }
        case is URL.Type: if let url = try url() as? Value { return url }
        case is any KeyedByText.Type:
            // The decoder's key strategy applies to the members of structures, but not to those of dictionaries.
            if let document = value.document { return try json.decode(type, from: Data(document.array)) }
        default: break
        }
        return try Value(from: self)
    }

    /// Returns whether the value is `null`. A missing value is not `null` but an empty string, as in Firebase.
    func decodeNil() -> Bool { value.content == .null }

    func singleValueContainer() -> any SingleValueDecodingContainer { self }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        try inside("an object").container(keyedBy: type)
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer { try inside("an array").unkeyedContainer() }

    // MARK: Rules

    private func integer<Integer: FixedWidthInteger>(_ type: Integer.Type) throws -> Integer {
        let number = try number(type)
        guard let integer = number.exactly(type) else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "\(number) is out of range for \(type)"))
        }
        return integer
    }

    private func real<Real: BinaryFloatingPoint>(_ type: Real.Type) throws -> Real {
        let number = try number(type)
        guard case let real = Real(number.doubleValue), real.isFinite else {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "\(number) is out of range for \(type)"))
        }
        return real
    }

    private func decimal() throws -> Decimal {
        switch value.content {
        case .string, .data:
            if let literal = TextReading.number(value.stringValue), let decimal = Decimal(string: String(literal)) {
                return decimal
            }
        default: break
        }
        return try number(Decimal.self).decimalValue
    }

    private func number(_ type: any Any.Type) throws -> RemoteConfigNumber {
        try checkPresence(type)
        switch value.content {
        case .number(let number): return number
        case .string, .data: if let number = RemoteConfigNumber(leading: value.stringValue) { return number }
        case .none, .null, .bool, .json: break
        }
        throw mismatch(type, "a number")
    }

    private func date() throws -> Date {
        try checkPresence(Date.self)
        let document: [UInt8]
        switch (options ?? json).dateDecodingStrategy {
        case .deferredToDate: return try Date(from: self)
        case .custom(let read): return try read(self)
        case .secondsSince1970, .millisecondsSince1970:
            document = JSONText.compact(try number(Date.self).json)
        default: document = JSONText.compact(.string(value.stringValue))
        }
        return try json.decode(Date.self, from: Data(document))
    }

    private func url() throws -> URL {
        try checkPresence(URL.self)
        guard let url = URL(string: value.stringValue) else { throw mismatch(URL.self, "a URL") }
        return url
    }

    // MARK: Documents

    private var json: JSONDecoder { options ?? JSONDecoder() }

    /// Returns a decoder for the document that the value or its string contains.
    private func inside(_ expected: String) throws -> any Decoder {
        struct Inside: Decodable {
            let decoder: any Decoder
            init(from decoder: any Decoder) { self.decoder = decoder }
        }
        guard let document = value.document else {
            try checkPresence(Any.self)
            throw mismatch(Any.self, expected)
        }
        return try json.decode(Inside.self, from: Data(document.array)).decoder
    }

    // MARK: Errors

    private func checkPresence(_ type: any Any.Type) throws {
        guard value.content == .none || value.content == .null else { return }
        throw DecodingError.valueNotFound(type, .init(codingPath: [], debugDescription: "the parameter has no value"))
    }

    private func mismatch(_ type: any Any.Type, _ expected: String) -> DecodingError {
        let found = VisibleText.excerpt(value.stringValue, limit: 60)
        return .typeMismatch(
            type, .init(codingPath: [], debugDescription: "expected \(expected), found the value \"\(found)\""))
    }
}

/// A protocol to recognize dictionaries whose keys are strings.
protocol KeyedByText {}
extension Dictionary: KeyedByText where Key == String {}
