import RemoteSettingsModel

/// A parser of binary property lists. Such a list contains objects that refer to each other by number, a table of their
/// offsets, and a trailer of 32 bytes with the position of the table.
///
/// References in a damaged list may form a cycle or grow exponentially, so the depth and the number of values are
/// limited.
struct BinaryPropertyList {
    static let magic = Array("bplist00".utf8)

    private let bytes: [UInt8]
    private let tableStart: Int
    private let offsetSize: Int
    private let referenceSize: Int
    private let objects: Int
    private let top: Int

    init(_ bytes: [UInt8]) throws(Failure) {
        self.bytes = bytes
        let trailer = bytes.count - 32
        func number(_ offset: Int) -> Int? { Self.number(bytes, at: trailer + offset, 8).flatMap { Int(exactly: $0) } }
        // The shortest list consists of `bplist00`, one object, its offset, and the trailer.
        guard bytes.count >= 42, (1...8).contains(bytes[trailer + 6]), (1...8).contains(bytes[trailer + 7]),
            let objects = number(8), let top = number(16), let start = number(24), start >= 8, start <= trailer,
            objects <= (trailer - start) / Int(bytes[trailer + 6])
        else { throw Failure(notDefaults: "the binary property list is damaged") }
        (offsetSize, referenceSize) = (Int(bytes[trailer + 6]), Int(bytes[trailer + 7]))
        (self.objects, self.top, tableStart) = (objects, top, start)
    }

    func members() throws(Failure) -> [DefaultsDocument.Member] {
        var left = Limits.jsonValues
        guard case .mapping(let members) = try value(top, depth: 0, &left) else {
            throw Failure(notDefaults: "the property list does not contain a dictionary")
        }
        return members
    }

    private func value(_ object: Int, depth: Int, _ left: inout Int) throws(Failure) -> DefaultsValue {
        guard depth <= Limits.jsonDepth else { throw .tooDeep() }
        guard left > 0 else { throw .tooMany() }
        left -= 1
        guard object < objects,
            let start = Self.number(bytes, at: tableStart + object * offsetSize, offsetSize)
                .flatMap({ Int(exactly: $0) }), start < tableStart
        else { throw Failure(notDefaults: "an object reference is invalid") }
        let (kind, low) = (bytes[start] >> 4, Int(bytes[start] & 0xF))
        switch kind {
        case 0x0:
            switch low {
            case 0x8: return .json(.bool(false))
            case 0x9: return .json(.bool(true))
            default: throw noForm(bytes[start])
            }
        case 0x1: return try integer(start, low)
        case 0x2: return try real(start, low)
        case 0x3:
            guard low == 3, let bits = Self.number(bytes, at: start + 1, 8) else { throw noForm(bytes[start]) }
            // The date is in seconds since 2001-01-01.
            let milliseconds = ((Double(bitPattern: bits) + 978_307_200) * 1000).rounded()
            guard let time = UInt64(exactly: milliseconds) else {
                throw Failure(notDefaults: "a date is invalid or before 1970")
            }
            return .date(Timestamp(milliseconds: time))
        case 0x4: return .data(Bytes(Array(bytes[try range(start, low, of: 1)])))
        case 0x5, 0x6: return .json(.string(try text(start, low, isWide: kind == 0x6)))
        case 0xA:
            let range = try range(start, low, of: referenceSize)
            var elements: [DefaultsValue] = []
            for place in stride(from: range.lowerBound, to: range.upperBound, by: referenceSize) {
                elements.append(try value(reference(place), depth: depth + 1, &left))
            }
            return .list(elements)
        case 0xD:
            let range = try range(start, low, of: referenceSize, 2)
            let half = range.count / 2
            var members: [DefaultsDocument.Member] = []
            var keys: Set<ExactString> = []
            for place in stride(from: range.lowerBound, to: range.lowerBound + half, by: referenceSize) {
                guard case .json(.string(let key)) = try value(reference(place), depth: depth + 1, &left) else {
                    throw Failure(notDefaults: "a key is not a string")
                }
                guard keys.insert(key.exact).inserted else {
                    throw Failure(notDefaults: "the key \(VisibleText.quote(key)) appears twice")
                }
                let value = try value(reference(place + half), depth: depth + 1, &left)
                members.append(.init(key: key, line: nil, value: value))
            }
            // The keys come from a hash table, so their order has no meaning.
            return .mapping(members.sorted { $0.key.exact < $1.key.exact })
        default: throw noForm(bytes[start])
        }
    }

    private func noForm(_ marker: UInt8) -> Failure {
        Failure(notDefaults: "an object is of the type 0x\(String(marker, radix: 16)), which JSON cannot express")
    }

    private func integer(_ start: Int, _ low: Int) throws(Failure) -> DefaultsValue {
        guard low <= 4, let number = Self.number(bytes, at: start + 1, min(1 << low, 8)) else {
            throw noForm(bytes[start])
        }
        // Eight-byte numbers are signed, and shorter ones are unsigned. Numbers that do not fit into eight bytes are
        // stored in sixteen.
        if low < 3 { return .json(.number(JSONNumber(number))) }
        if low == 3 { return .json(.number(JSONNumber(Int64(bitPattern: number)))) }
        guard number == 0, let lower = Self.number(bytes, at: start + 9, 8) else {
            throw Failure(notDefaults: "a number is larger than 64 bits")
        }
        return .json(.number(JSONNumber(lower)))
    }

    private func real(_ start: Int, _ low: Int) throws(Failure) -> DefaultsValue {
        guard low == 2 || low == 3, let bits = Self.number(bytes, at: start + 1, 1 << low) else {
            throw noForm(bytes[start])
        }
        let real = low == 3 ? Double(bitPattern: bits) : Double(Float(bitPattern: UInt32(truncatingIfNeeded: bits)))
        guard let number = DefaultsValue.number("\(real)") else {
            throw Failure(notDefaults: "JSON cannot express the number \(real)")
        }
        return number
    }

    private func text(_ start: Int, _ low: Int, isWide: Bool) throws(Failure) -> String {
        let content = bytes[try range(start, low, of: isWide ? 2 : 1)]
        let text: String?
        if isWide {
            let units = stride(from: content.startIndex, to: content.endIndex, by: 2).map {
                UInt16(content[$0]) << 8 | UInt16(content[$0 + 1])
            }
            text = String(validating: units, as: UTF16.self)
        } else {
            text = String(validating: content, as: Unicode.ASCII.self)
        }
        guard let text else { throw Failure(notDefaults: "a string is not valid in its encoding") }
        return text
    }

    /// Returns the range of the content of an object with a length, such as a string or an array.
    ///
    /// - Parameters:
    ///   - size: the number of bytes of a unit.
    ///   - units: the number of units in each element that the length counts.
    private func range(_ start: Int, _ low: Int, of size: Int, _ units: Int = 1) throws(Failure) -> Range<Int> {
        var (first, count) = (start + 1, low)
        if low == 0xF {
            let marker = bytes[start + 1]
            guard marker >> 4 == 1, marker & 0xF <= 3,
                let long = Self.number(bytes, at: start + 2, 1 << Int(marker & 0xF)).flatMap({ Int(exactly: $0) })
            else { throw Failure(notDefaults: "the length of an object is missing") }
            (first, count) = (start + 2 + 1 << Int(marker & 0xF), long)
        }
        guard first <= tableStart, count <= (tableStart - first) / (size * units) else {
            throw Failure(notDefaults: "an object is larger than the file")
        }
        return first..<first + count * size * units
    }

    private func reference(_ place: Int) throws(Failure) -> Int {
        guard let number = Self.number(bytes, at: place, referenceSize).flatMap({ Int(exactly: $0) }) else {
            throw Failure(notDefaults: "an object reference is invalid")
        }
        return number
    }

    /// Reads a big-endian number of 1 to 8 bytes; returns `nil` if part of it is outside the list.
    private static func number(_ bytes: [UInt8], at offset: Int, _ size: Int) -> UInt64? {
        guard offset >= 0, offset <= bytes.count - size else { return nil }
        return bytes[offset..<offset + size].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
