import RemoteSettingsModel

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A number with the commonly used properties of `NSNumber`.
///
/// No conversion fails: a number outside the range of a type becomes the nearest number in it. `NSNumber` would
/// truncate the bits instead.
public struct RemoteConfigNumber: Hashable, Sendable {
    /// The number as a `Double`, rounded if necessary.
    public let doubleValue: Double
    /// The bits of a 64-bit integer that a `Double` cannot represent exactly; `nil` for any other number. They are
    /// those of an `Int64` if ``doubleValue`` is negative, otherwise of a `UInt64`.
    private let bits: UInt64?

    /// Creates a number from an integer.
    public init(_ value: Int64) {
        doubleValue = Double(value)
        bits = Int64(exactly: doubleValue) == value ? nil : UInt64(bitPattern: value)
    }

    private init(_ value: UInt64) {
        doubleValue = Double(value)
        bits = UInt64(exactly: doubleValue) == value ? nil : value
    }

    /// Creates a number from a double. A double that is not finite becomes 0.
    public init(_ value: Double) {
        doubleValue = value.isFinite ? value : 0
        bits = nil
    }

    init(_ number: JSONNumber) { self = Self(literal: number.text[...]) ?? 0 }

    /// Parses the number at the start of a string, after white space; returns `nil` if there is none, or if it is
    /// outside the range of `Double`.
    init?(leading text: String) {
        guard let literal = TextReading.number(text) else { return nil }
        self.init(literal: literal)
    }

    private init?(literal: Substring) {
        if let integer = Int64(literal) {
            self.init(integer)
        } else if let integer = UInt64(literal) {
            self.init(integer)
        } else {
            guard let double = Double(literal), double.isFinite else { return nil }
            self.init(double)
        }
    }

    /// An integer that a `Double` cannot represent exactly.
    private enum Exact {
        case negative(Int64)
        case positive(UInt64)
    }

    private var exact: Exact? {
        bits.map { doubleValue < 0 ? .negative(Int64(bitPattern: $0)) : .positive($0) }
    }

    /// Returns the integer part, clamped to the range of the type.
    private func clamped<Integer: FixedWidthInteger>() -> Integer {
        switch exact {
        case .negative(let integer): return Integer(clamping: integer)
        case .positive(let integer): return Integer(clamping: integer)
        case nil: break
        }
        let whole = doubleValue.rounded(.towardZero)
        if let whole = Int64(exactly: whole) { return Integer(clamping: whole) }
        return Integer(exactly: whole) ?? (whole < 0 ? .min : .max)
    }

    /// Returns the number as an integer type; `nil` if that type cannot represent it exactly.
    func exactly<Integer: FixedWidthInteger>(_ type: Integer.Type) -> Integer? {
        switch exact {
        case .negative(let integer): Integer(exactly: integer)
        case .positive(let integer): Integer(exactly: integer)
        case nil: Integer(exactly: doubleValue)
        }
    }

    /// The integer part, clamped to the range of the type.
    public var intValue: Int { clamped() }
    /// The integer part, clamped to the range of the type.
    public var int8Value: Int8 { clamped() }
    /// The integer part, clamped to the range of the type.
    public var int16Value: Int16 { clamped() }
    /// The integer part, clamped to the range of the type.
    public var int32Value: Int32 { clamped() }
    /// The integer part, clamped to the range of the type.
    public var int64Value: Int64 { clamped() }
    /// The integer part, clamped to the range of the type; 0 for a negative number.
    public var uintValue: UInt { clamped() }
    /// The integer part, clamped to the range of the type; 0 for a negative number.
    public var uint8Value: UInt8 { clamped() }
    /// The integer part, clamped to the range of the type; 0 for a negative number.
    public var uint16Value: UInt16 { clamped() }
    /// The integer part, clamped to the range of the type; 0 for a negative number.
    public var uint32Value: UInt32 { clamped() }
    /// The integer part, clamped to the range of the type; 0 for a negative number.
    public var uint64Value: UInt64 { clamped() }
    /// The nearest `Float`; infinite if the number is outside the range of `Float`.
    public var floatValue: Float { Float(doubleValue) }
    /// The number as a `Decimal`, with the digits of ``stringValue``.
    public var decimalValue: Decimal {
        Decimal(string: stringValue)
            ?? (doubleValue.magnitude < 1
                ? 0 : doubleValue < 0 ? -Decimal.greatestFiniteMagnitude : .greatestFiniteMagnitude)
    }
    /// Whether the number is not 0.
    public var boolValue: Bool { doubleValue != 0 }
    /// The number as a string, in the format of JSON. An integer has no decimal point.
    public var stringValue: String {
        switch exact {
        case .negative(let integer): return String(integer)
        case .positive(let integer): return String(integer)
        case nil: break
        }
        if let integer = Int64(exactly: doubleValue) { return String(integer) }
        let text = String(doubleValue)
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    var json: JSONValue {
        switch exact {
        case .negative(let integer): return .number(JSONNumber(integer))
        case .positive(let integer): return .number(JSONNumber(integer))
        case nil: break
        }
        if let integer = Int64(exactly: doubleValue) { return .number(JSONNumber(integer)) }
        return (try? JSONValue(parsing: Bytes(utf8: stringValue))) ?? .null
    }
}

extension RemoteConfigNumber: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, Comparable {
    public init(integerLiteral value: Int64) { self.init(value) }
    public init(floatLiteral value: Double) { self.init(value) }

    public static func < (left: RemoteConfigNumber, right: RemoteConfigNumber) -> Bool {
        switch (left.exact, right.exact) {
        case (.negative(let left), .negative(let right)): left < right
        case (.positive(let left), .positive(let right)): left < right
        default: left.doubleValue < right.doubleValue
        }
    }
}

extension RemoteConfigNumber: CustomStringConvertible {
    public var description: String { stringValue }
}

#if canImport(Darwin)
extension RemoteConfigNumber {
    /// The same number as an Objective-C object.
    var object: NSNumber {
        switch exact {
        case .negative(let integer): return NSNumber(value: integer)
        case .positive(let integer): return NSNumber(value: integer)
        case nil: break
        }
        if let integer = Int64(exactly: doubleValue) { return NSNumber(value: integer) }
        return NSNumber(value: doubleValue)
    }
}
#endif
