import RemoteSettingsModel

/// The positions of a parameter record's members in its canonical JSON.
///
/// They are found in one pass over the bytes, because thousands of parameters may have to be scanned before an app gets
/// its first value. The pass parses only the structure; a value is parsed when it is needed.
struct ParameterMembers {
    private(set) var key: Range<Int>?
    private(set) var value: Range<Int>?
    private(set) var filter: Range<Int>?
    private(set) var priority: Range<Int>?
    private(set) var inAppDefault: Range<Int>?

    /// Finds the members.
    ///
    /// - Returns: `nil` if the bytes are not an object in canonical JSON.
    init?(scanning json: Span<UInt8>) {
        guard json.count >= 2, json[0] == UInt8(ascii: "{") else { return nil }
        var position = 1
        if json[1] == UInt8(ascii: "}") { return }
        while true {
            let nameStart = position + 1
            guard Self.skipString(json, &position), position < json.count, json[position] == UInt8(ascii: ":") else {
                return nil
            }
            let name = nameStart..<position - 1
            position += 1
            let start = position
            guard Self.skipValue(json, &position), position < json.count else { return nil }
            record(start..<position, named: name, in: json)
            switch json[position] {
            case UInt8(ascii: ","): position += 1
            case UInt8(ascii: "}"): return
            default: return nil
            }
        }
    }

    private mutating func record(_ value: Range<Int>, named name: Range<Int>, in json: Span<UInt8>) {
        switch name.count {
        case 3 where Self.text(json, name, is: "key"): key = value
        case 5 where Self.text(json, name, is: "value"): self.value = value
        case 8 where Self.text(json, name, is: "priority"): priority = value
        case 14 where Self.text(json, name, is: "in_app_default"): inAppDefault = value
        case 17 where Self.text(json, name, is: "filter_expression"): filter = value
        default: break
        }
    }

    private static func text(_ json: Span<UInt8>, _ range: Range<Int>, is text: StaticString) -> Bool {
        for index in 0..<range.count where unsafe json[range.lowerBound + index] != text.utf8Start[index] {
            return false
        }
        return true
    }

    /// Moves past a string.
    @inline(__always)
    private static func skipString(_ json: Span<UInt8>, _ position: inout Int) -> Bool {
        var next = position
        guard next < json.count, json[next] == UInt8(ascii: "\"") else { return false }
        next += 1
        while next < json.count {
            let byte = json[next]
            if byte == UInt8(ascii: "\"") {
                position = next + 1
                return true
            }
            next += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        return false
    }

    /// Moves past a value, to the comma or bracket that follows it.
    private static func skipValue(_ json: Span<UInt8>, _ position: inout Int) -> Bool {
        let start = position
        var depth = 0
        while position < json.count {
            switch json[position] {
            case UInt8(ascii: "\""):
                guard skipString(json, &position) else { return false }
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return position > start }
                depth -= 1
            case UInt8(ascii: ",") where depth == 0: return position > start
            default: break
            }
            position += 1
        }
        return false
    }
}
