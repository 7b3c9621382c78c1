import Locks
import RemoteSettingsModel

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// A property list's dictionary, XML or binary, read by Foundation. No I/O.
enum PropertyList {
    private static let binaryMagic = Array("bplist00".utf8)

    /// Whether a file begins as a property list does. Foundation would read the older text format as well.
    static func isPropertyList(_ bytes: Bytes) -> Bool {
        bytes.starts(with: binaryMagic)
            || bytes.array.first { ![0x20, 0x09, 0x0A, 0x0D, 0xEF, 0xBB, 0xBF].contains($0) } == UInt8(ascii: "<")
    }

    /// The members of the dictionary, sorted by key. If a key appears twice, the last one counts.
    ///
    /// - Throws: ``DefaultsFault``.
    static func members(_ bytes: Bytes, limits: Limits) throws(DefaultsFault) -> [DefaultsDocument.Member] {
        guard isPropertyList(bytes) else { throw DefaultsFault(problem: "it is not a property list, XML or binary") }
        // Foundation's scanner calls itself for each level, whatever the decoder allows.
        guard bytes.starts(with: binaryMagic) || hasDepth(bytes.array, atMost: limits.jsonDepth) else {
            throw .tooDeep(limits)
        }
        let decoder = PropertyListDecoder()
        decoder.userInfo[Reading.key] = Reading(limits)
        do {
            guard case .mapping(let members) = try decoder.decode(Node.self, from: Data(bytes.array)).value else {
                throw DefaultsFault(problem: "the property list has no dictionary")
            }
            return members
        } catch let fault as DefaultsFault {
            throw fault
        } catch {
            throw DefaultsFault(problem: "Foundation reads no property list in it: \(error)")
        }
    }

    /// Whether elements nest at most `limit` levels deep. Comments and CDATA sections are skipped.
    private static func hasDepth(_ bytes: [UInt8], atMost limit: Int) -> Bool {
        var (rest, depth) = (bytes[...], 0)
        func skip(to end: String) {
            let end = Array(end.utf8)
            while !rest.isEmpty, !rest.starts(with: end) { rest = rest.dropFirst() }
        }
        while let start = rest.firstIndex(of: UInt8(ascii: "<")) {
            rest = rest[start...]
            if rest.starts(with: "<!--".utf8) {
                skip(to: "-->")
            } else if rest.starts(with: "<![CDATA[".utf8) {
                skip(to: "]]>")
            } else if rest.starts(with: "</array".utf8) || rest.starts(with: "</dict".utf8) {
                depth -= 1
            } else if rest.starts(with: "<array".utf8) || rest.starts(with: "<dict".utf8) {
                skip(to: ">")
                if rest.startIndex > 0, bytes[rest.startIndex - 1] != UInt8(ascii: "/") { depth += 1 }
                guard depth <= limit else { return false }
            }
            rest = rest.dropFirst()
        }
        return true
    }

    /// The limits of one reading, and how many values it has found. A binary list can name one value many times.
    private final class Reading: Sendable {
        static let key = CodingUserInfoKey(rawValue: "limits")!
        let limits: Limits
        private let count = Mutex(0)

        init(_ limits: Limits) { self.limits = limits }

        func begin(at depth: Int) throws(DefaultsFault) {
            guard depth <= limits.jsonDepth else { throw .tooDeep(limits) }
            let found = count.withLock { count in
                count += 1  // bounded: by the limit, at which the reading ends
                return count
            }
            guard found <= limits.jsonValues else { throw .tooMany(limits) }
        }
    }

    private struct Node: Decodable {
        let value: DefaultsValue

        private struct Key: CodingKey {
            let stringValue: String
            var intValue: Int? { nil }
            init(stringValue: String) { self.stringValue = stringValue }
            init?(intValue: Int) { nil }
        }

        init(from decoder: any Decoder) throws {
            guard let reading = decoder.userInfo[Reading.key] as? Reading else { preconditionFailure("no limits") }
            try reading.begin(at: decoder.codingPath.count)
            let single = try decoder.singleValueContainer()
            if let bool = try? single.decode(Bool.self) {
                value = .json(.bool(bool))
            } else if let number = try? single.decode(Int64.self) {
                value = .json(.number(JSONNumber(number)))
            } else if let number = try? single.decode(UInt64.self) {
                value = .json(.number(JSONNumber(number)))
            } else if let number = try? single.decode(Double.self) {
                let text = Bytes(utf8: "\(number)")
                guard case .number(let number)? = try? JSONValue(parsing: text, limits: reading.limits) else {
                    throw DefaultsFault(problem: "\(number) is not a number that JSON has")
                }
                value = .json(.number(number))
            } else if let text = try? single.decode(String.self) {
                value = .json(.string(text))
            } else if let date = try? single.decode(Date.self) {
                guard let milliseconds = UInt64(exactly: (date.timeIntervalSince1970 * 1000).rounded()) else {
                    throw DefaultsFault(problem: "\(date) is not a date since 1970")
                }
                value = .date(Timestamp(milliseconds: milliseconds))
            } else if let data = try? single.decode(Data.self) {
                value = .data(Bytes(Array(data)))
            } else if var list = try? decoder.unkeyedContainer() {
                var elements: [DefaultsValue] = []
                while !list.isAtEnd { elements.append(try list.decode(Node.self).value) }
                value = .list(elements)
            } else {
                let container = try decoder.container(keyedBy: Key.self)
                value = .mapping(
                    try container.allKeys.sorted { $0.stringValue < $1.stringValue }.map { key in
                        .init(
                            key: key.stringValue, line: nil, value: try container.decode(Node.self, forKey: key).value)
                    })
            }
        }
    }
}
