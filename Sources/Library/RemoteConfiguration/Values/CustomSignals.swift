import RemoteSettingsModel
import TargetFilter

/// The value of a custom signal: information about this user or device, for use in the filters of parameters.
public struct CustomSignalValue: Hashable, Sendable {
    enum Content: Hashable, Sendable {
        case string(ExactString)
        case integer(Int64)
        case double(Double)
    }

    let content: Content

    /// Returns a string value, which may have at most 500 characters.
    public static func string(_ value: String) -> CustomSignalValue { CustomSignalValue(content: .string(value.exact)) }
    /// Returns an integer value.
    public static func integer(_ value: Int) -> CustomSignalValue { CustomSignalValue(content: .integer(Int64(value))) }
    /// Returns a floating-point value, which must be finite.
    public static func double(_ value: Double) -> CustomSignalValue { CustomSignalValue(content: .double(value)) }
}

extension CustomSignalValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int) { self = .integer(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
}

/// The signals that the app has set. Their number and lengths are limited as in Firebase.
struct CustomSignals: Hashable, Sendable {
    private(set) var values: [ExactString: CustomSignalValue] = [:]

    static var signals: Int { 100 }
    static var keyCharacters: Int { 250 }
    static var valueCharacters: Int { 500 }
    /// The maximum total size of the stored signals in bytes.
    static var mostBytes: Int { 1 << 20 }

    /// Sets, replaces or removes signals.
    ///
    /// - Throws: ``RemoteConfigCustomSignalsError`` for the first violation. Nothing is changed in that case.
    mutating func merge(_ changes: [String: CustomSignalValue?]) throws(RemoteConfigCustomSignalsError) {
        var merged = values
        for (key, value) in changes.sorted(by: { $0.key.exact < $1.key.exact }) {
            guard key.count <= Self.keyCharacters else {
                throw .limitExceeded(
                    reason: "a signal's key is \(key.count) characters, over the limit of \(Self.keyCharacters): "
                        + VisibleText.excerpt(key, limit: 40))
            }
            switch value?.content {
            case .string(let text) where text.string.count > Self.valueCharacters:
                throw .limitExceeded(
                    reason:
                        "the value of the signal \(VisibleText.quote(key)) is \(text.string.count) characters, over "
                        + "the limit of \(Self.valueCharacters)"
                )
            case .double(let number) where !number.isFinite: throw .invalidValueType(key: key)
            default: merged[key] = value
            }
        }
        guard merged.count <= Self.signals else {
            throw .limitExceeded(
                reason: "there would be \(merged.count) signals, over the limit of \(Self.signals); set some to nil")
        }
        var candidate = self
        candidate.values = merged
        // The limits above count characters, but the index has a limit in bytes.
        let bytes = JSONText.compact(candidate.json).count
        guard bytes <= Self.mostBytes else {
            throw .limitExceeded(
                reason: "the signals would total \(bytes) bytes, over the limit of \(Self.mostBytes); remove some")
        }
        self = candidate
    }

    /// The signals as members of `env` in filters.
    var filterValues: [ExactString: FilterValue] {
        values.mapValues { value in
            switch value.content {
            case .string(let text): .string(text.string)
            case .integer(let number): .number(Double(number))
            case .double(let number): .number(number)
            }
        }
    }
}

extension CustomSignals {
    var json: JSONValue {
        .object(
            values.sorted { $0.key < $1.key }.map { key, value in
                let json: JSONValue =
                    switch value.content {
                    case .string(let text): .string(text.string)
                    case .integer(let number): .number(JSONNumber(number))
                    case .double(let number): RemoteConfigNumber(number).json
                    }
                return .init(key: key.string, value: json)
            })
    }

    /// Creates signals from JSON written by ``json``. Members that are not signals are ignored.
    init(_ json: JSONValue?) {
        guard case .object(let members)? = json else { return }
        for member in members.prefix(Self.signals) {
            switch member.value {
            case .string(let text): values[member.key] = .string(text)
            case .number(let number):
                values[member.key] =
                    number.int64.map { CustomSignalValue(content: .integer($0)) } ?? .double(number.double)
            default: break
            }
        }
    }
}
